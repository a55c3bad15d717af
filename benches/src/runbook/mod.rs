//! Streaming runbooks of big-ann-benchmarks: what they say, whether it can be right, and how it is carried out.

mod check;
mod document;
mod execution;
mod step;

pub use check::{Extent, check};
pub use document::{parse_runbook, read_runbook};
pub use execution::{Execution, score};
pub use step::{Runbook, Step, Update};
