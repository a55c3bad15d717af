//! `run-bench churn`: rounds of deletes and inserts, and what they leave of recall, degree, reachability and space.

mod command;
mod fresh;
mod run;

pub use command::{ChurnArgs, run};
