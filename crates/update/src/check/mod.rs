//! Reads everything a live index keeps on disk and says what is wrong with it.
//!
//! - `live` is the way through the files, and walks the lists from the entry;
//! - `records` holds every record against what the checkpoint says of its place.

mod live;
mod records;

pub use live::{CheckParts, LiveCheck, check_live};
