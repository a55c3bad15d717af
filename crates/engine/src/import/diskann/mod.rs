//! The files of DiskANN and its relatives (FreshDiskANN, Starling, PipeANN, DiskANN in Rust): what is read of them.

mod array;
mod description;
mod disk_file;
mod element;
mod files;
mod header;
mod mem_index;
mod open;
mod partition;
mod pivots;
mod words;

pub(crate) use description::Description;
pub(crate) use disk_file::{DiskFile, DiskNode};
pub use files::DiskAnnFiles;
pub(crate) use files::with_suffix;
pub(crate) use header::SECTOR;
