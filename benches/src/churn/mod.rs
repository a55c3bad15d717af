//! `run-bench churn`: rounds of deletes and inserts, and what they leave of recall, degree, reachability and space.

mod run;

pub use run::{Churn, Shape};
