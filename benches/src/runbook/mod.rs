//! Streaming runbooks of big-ann-benchmarks: what they say, and whether it can be right.

mod check;
mod document;
mod step;

pub use check::{Extent, apply, check};
pub use document::{parse_runbook, read_runbook};
pub use step::{Runbook, Step, Update};
