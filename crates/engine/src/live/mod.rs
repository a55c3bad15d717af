//! A live index: updates from any thread, run by workers of their own beside the cores that search.

mod block_cache;
mod board;
mod bootstrap;
mod check;
mod compact;
mod create;
mod disks;
mod lock;
mod open;
mod options;
mod snapshot;
mod spare;
mod stats;
mod updates;
mod worker;

pub(crate) use bootstrap::Bootstrap;
pub(crate) use check::check_live_index;
pub(crate) use create::create;
pub use create::{CreateError, make_live};
pub(crate) use lock::DirectoryLock;
pub(crate) use open::open_live;
pub use options::UpdateOptions;
pub(crate) use snapshot::{remove_directory, snapshot};
pub use stats::{LiosStats, LiveStats};
pub(crate) use updates::{AnyUpdates, Updates, inserts, upserts};
