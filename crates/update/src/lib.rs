//! Inserts and deletes on a disk index while it is searched.
//!
//! Invariant: this crate starts no thread and reads no clock; every file goes through a
//! [`Volume`](gleann_storage::Volume), so that all of it runs, and crashes, on the simulated disk.

mod adopt;
mod areas;
mod backend;
mod buffer;
mod buffered;
mod check;
mod checkpoint;
mod copy;
mod crew;
mod detour;
mod direct;
mod due;
mod error;
mod figures;
mod held;
mod key_map;
mod linking;
mod lists;
mod live;
mod merge;
mod operation;
mod pages;
mod params;
mod placement;
mod reach;
mod repair;
mod rewrite;
mod root;
mod runner;
mod snapshot;
mod survey;
mod sync;
mod temp;
mod wal;
mod writer;

pub use adopt::{Adopted, adopt};
pub use backend::Backend;
pub use check::{CheckParts, LiveCheck, check_live};
pub use checkpoint::Rewrite;
pub use copy::Copying;
pub use crew::{Crew, Hire, Threads, Worker};
pub use direct::{Committed, Linked, Outcome};
pub use error::UpdateError;
pub use figures::LiveFigures;
pub use linking::{Join, Joining, Linker, Verdict};
pub use live::{Delete, Insert, Live, LiveOptions, LiveParts, Upsert};
pub use pages::{Commit, Pages, PagesError, PagesPlace, TABLE_NAME};
pub use params::LinkParams;
pub use reach::REPAIR_BYTES;
pub use repair::{RepairJob, RepairParams, RepairPolicy, RepairSource};
pub use runner::{InsertJob, Inserted, Inserts, Runner};
pub use survey::Survey;
pub use temp::{Full, TempIndex, TempParams, TempScratch};
pub use wal::{Durability, Lsn, MAX_PAYLOAD, SEGMENT_BYTES, UnknownDurability, Wal, WalError, WalOptions};
