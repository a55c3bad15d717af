//! The scheduling of updates around searches, after *Leveraging I/O Stalls for Efficient Scheduling in ANNS* (LIOS).
//!
//! Updates are work that can stop at any step and go on later: whatever runs them (a worker that has nothing else to do,
//! or the stalls of searches) gives them time in pieces of its choosing, and the result does not depend on the pieces.
//!
//! Invariant: this crate knows no graph, page, vector, clock or runtime.

mod budget;
mod core_lios;
mod counters;
mod floor;
mod idle;
mod latency;
mod lios;
mod options;
mod queue;
mod resumable;
mod slice;
mod tuner;
mod work;

pub use budget::{Bucketing, BudgetKind, IdleTimes, StallPlace, UnknownBudget};
pub use core_lios::{CoreLios, StallReport};
pub use counters::{CoreCounters, CoreTotals};
pub use floor::Floor;
pub use idle::{HistoryShape, IdleHistory};
pub use latency::{Latency, LatencyHistogram, Statistic, UnknownStatistic};
pub use lios::Lios;
pub use options::{BadOption, FloorOptions, LiosOptions, THETA_FRESH, THETA_ODIN, TunerOptions, Utilisation};
pub use queue::{Queue, Refused, Taken};
pub use resumable::{Resumable, Step, run_to_end};
pub use tuner::{SharedTuner, TracePoint, Tuner, TunerCounts, TunerReport, TunerState};
pub use work::{Progress, Queued, Work};
