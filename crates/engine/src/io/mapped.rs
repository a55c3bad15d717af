//! Page reads out of a memory map: the in-memory reference, and the right choice where the whole index fits
//! into RAM. The file must not be truncated while it is mapped.

use gleann_storage::{InstantIo, InstantSource};
use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A mapped file as the disk of one core: every read completes at once.
pub(crate) type MapIo = InstantIo<Mapped>;

/// A mapped file.
pub(crate) struct Mapped(pub(crate) Arc<Mmap>);

/// Maps a file for reading.
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: index files are never changed in place; the documentation forbids truncating a mapped one.
    unsafe { Mmap::map(file) }
}

impl InstantSource for Mapped {
    fn read(&self, bytes: &mut [u8], offset: u64) -> i32 {
        let start = offset.min(self.0.len() as u64) as usize;
        let source = &self.0[start..(start + bytes.len()).min(self.0.len())];
        bytes[..source.len()].copy_from_slice(source);
        source.len() as i32
    }
}
