//! The feedback loop that says how much of the budgets is used, by what it does to the latency of searches (LIOS §4.4).

mod interval;
mod machine;
mod pace;
mod search;
mod shared;
mod trace;

pub use machine::Tuner;
pub use shared::{SharedTuner, TunerReport};
pub use trace::{TracePoint, TunerCounts, TunerState};
