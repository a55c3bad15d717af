//! Indexes that change while they are measured: the set they should hold, its exact neighbours, changes and searches at
//! once, and the lines that come of it.

mod args;
mod arm;
mod arrivals;
mod changes;
mod choice;
#[cfg(test)]
mod fake;
mod figure;
mod histogram;
mod index;
mod phase;
mod quiet;
mod report;
mod row;
mod searchers;
mod session;
mod set;
mod stalls;
mod table;
mod target;
mod truth;

pub use args::{Amount, LiveArgs, Threads};
pub use arm::{Use, share};
pub use arrivals::{Arrivals, Schedule};
pub use changes::Change;
pub use choice::Choice;
#[cfg(test)]
pub use fake::FakeIndex;
pub use figure::{POWERS, SHARE, distribution};
pub use histogram::Histogram;
pub use phase::{Bench, Measured, Work};
pub use quiet::{Quiet, Right, quiet_pass};
pub use report::Report;
pub use row::{LiveRow, Setup};
pub use searchers::Asked;
pub use session::{Folder, Session, SessionArgs, vectors};
pub use set::LiveSet;
pub use stalls::{lines_of, middle};

pub use target::{LiveTarget, Settling};
pub use truth::{ChangingTruth, FoundTruth, TRUTH_DEPTH, TruthQuestion};
