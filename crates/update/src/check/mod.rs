//! Reads everything a live index keeps on disk and says what is wrong with it.
//!
//! - `live` is the way through the files;
//! - `records` holds every record against what the checkpoint says of its place;
//! - `lists` lets the lists be walked from the entry.

mod lists;
mod live;
mod records;

pub use live::{CheckParts, LiveCheck, check_live};
