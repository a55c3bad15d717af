//! The scheduling of updates around searches, after *Leveraging I/O Stalls for Efficient Scheduling in ANNS* (LIOS).
//!
//! Updates are work that can stop at any step and go on later: whatever runs them (a worker that has nothing else to do,
//! or the stalls of searches) gives them time in pieces of its choosing, and the result does not depend on the pieces.
//!
//! Invariant: this crate knows no graph, page, vector, clock or runtime.

mod budget;
mod idle;
mod queue;
mod resumable;

pub use budget::{Bucketing, BudgetKind, IdleTimes, StallPlace, UnknownBudget};
pub use idle::{HistoryShape, IdleHistory};
pub use queue::{Queue, Refused, Taken};
pub use resumable::{Resumable, Step, run_to_end};
