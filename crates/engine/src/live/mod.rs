//! A live index: updates from any thread, run by workers of their own beside the cores that search.

mod block_cache;
mod check;
mod create;
mod disks;
mod lock;
mod open;
mod options;
mod snapshot;
mod stats;
mod updates;
mod worker;

pub(crate) use check::check_live_index;
pub use create::make_live;
pub(crate) use open::open_live;
pub use options::UpdateOptions;
pub(crate) use snapshot::snapshot;
pub use stats::LiveStats;
pub(crate) use updates::{AnyUpdates, Updates, inserts, upserts};
