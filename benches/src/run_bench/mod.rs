//! The verb `run-bench`: an index, an experiment file, this disk, or the peers, measured.

mod command;
mod experiment;
mod section;

pub use command::{RunBenchArgs, run};
