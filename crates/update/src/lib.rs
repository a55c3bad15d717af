//! Inserts and deletes on a disk index while it is searched.
//!
//! Invariant: this crate starts no thread and reads no clock; every file goes through a
//! [`Volume`](gleann_storage::Volume), so that all of it runs, and crashes, on the simulated disk.

mod pages;
mod repair;

pub use pages::{Commit, Pages, PagesError, PagesPlace, TABLE_NAME};
pub use repair::{RepairJob, RepairParams, RepairPolicy, RepairSource};
