//! `run-bench updates`: searches and updates at once, as the papers on updates measure them.

mod command;
mod run;

pub use command::{UpdatesArgs, measure_arm, run};
