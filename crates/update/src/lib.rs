//! Inserts and deletes on a disk index while it is searched.
//!
//! Invariant: this crate starts no thread and reads no clock; every file goes through a
//! [`Volume`](gleann_storage::Volume), so that all of it runs, and crashes, on the simulated disk.

mod wal;

pub use wal::{Durability, Lsn, MAX_PAYLOAD, SEGMENT_BYTES, UnknownDurability, Wal, WalError, WalOptions};
