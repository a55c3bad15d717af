//! Streaming runbooks of big-ann-benchmarks: what they say, whether it can be right, and how it is carried out.

mod check;
mod command;
mod document;
mod execution;
mod step;

pub use command::{RunbookArgs, run};
#[cfg(test)]
pub use document::parse_runbook;
