//! Page reads out of a memory map: the in-memory reference, and the right choice where the whole index fits
//! into RAM. The file must not be truncated while it is mapped.

use gleann_storage::{PageIo, RawCompletion, RawRead};
use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A mapped file as the disk of one core: every read completes at once.
pub(crate) struct MapIo {
    map: Arc<Mmap>,
    done: Vec<RawCompletion>,
    capacity: usize,
}

/// Maps a file for reading.
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: index files are never changed in place; the documentation forbids truncating a mapped one.
    unsafe { Mmap::map(file) }
}

impl MapIo {
    pub(crate) fn new(map: Arc<Mmap>, capacity: usize) -> Self {
        Self { map, done: Vec::with_capacity(capacity), capacity }
    }
}

impl PageIo for MapIo {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        for read in reads {
            let start = read.offset.min(self.map.len() as u64) as usize;
            let source = &self.map[start..(start + read.length as usize).min(self.map.len())];
            // SAFETY: the caller gives a buffer of `length` bytes, and the source is not longer.
            unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), read.buffer, source.len()) };
            self.done.push(RawCompletion { token: read.token, result: source.len() as i32 });
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn ready(&self) -> bool {
        !self.done.is_empty()
    }

    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize {
        let reaped = self.done.len();
        into.append(&mut self.done);
        reaped
    }

    fn wait(&mut self, _wanted: usize, _timeout: Duration) -> io::Result<()> {
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.done.len()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}
