//! Real data sets: a catalogue of what there is, and how each set is made, fetched, sliced and checked.
//!
//! The catalogue and the Python recipes of `datasets/` are compiled in, so that this works from any folder.

mod catalogue;
mod checksum;
mod command;
mod crop;
mod files;
mod get;
mod list;
mod python;
mod scripts;
mod verify;

pub use catalogue::Catalogue;
pub use command::{DatasetArgs, run};
pub use files::{SetFiles, files_of, found_slices, sample};
