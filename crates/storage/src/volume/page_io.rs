//! A [`PageIo`] over a file of a [`Volume`](crate::Volume): every read is made when it is submitted. For what runs on the
//! simulated volume, and for work that need not be fast.

use crate::page_io::{PageIo, RawCompletion, RawRead};
use crate::volume::VolumeFile;
use std::io;
use std::time::Duration;

/// Reads of one file of a volume.
pub struct VolumeIo {
    file: Box<dyn VolumeFile>,
    done: Vec<RawCompletion>,
    capacity: usize,
}

impl VolumeIo {
    /// Reads `file`, at most `capacity` reads at a time.
    pub fn new(file: Box<dyn VolumeFile>, capacity: usize) -> Self {
        Self { file, done: Vec::new(), capacity }
    }
}

impl PageIo for VolumeIo {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        for read in reads {
            // SAFETY: the submitter promised a buffer of `length` bytes that nobody else touches.
            let buffer = unsafe { std::slice::from_raw_parts_mut(read.buffer, read.length as usize) };
            let result = match self.file.read_at(buffer, read.offset) {
                Ok(()) => read.length as i32,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            self.done.push(RawCompletion { token: read.token, result });
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
        let count = self.done.len();
        into.append(&mut self.done);
        count
    }

    fn wait(&mut self, _: usize, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.done.len()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}
