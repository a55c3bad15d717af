//! Indexes that change while they are measured: the set they should hold, its exact neighbours, changes and searches at
//! once, and the lines that come of it.

mod changes;
mod choice;
#[cfg(test)]
mod fake;
mod figure;
mod histogram;
mod phase;
mod quiet;
mod row;
mod searchers;
mod set;
mod target;
mod truth;

pub use changes::Change;
pub use choice::Choice;
#[cfg(test)]
pub use fake::FakeIndex;
pub use figure::write_figures;
pub use histogram::Histogram;
pub use phase::{Bench, Measured, Work};
pub use quiet::{Quiet, Right, quiet_pass};
pub use row::{LiveRow, Setup};
pub use searchers::Asked;
pub use set::LiveSet;
pub use target::{Gauges, LiveTarget, Settling};
pub use truth::{ChangingTruth, TruthQuestion};
