//! A [`PageIo`] whose reads are made when they are submitted: out of memory, or where nobody minds the wait.

use crate::page_io::{PageIo, RawCompletion, RawRead};
use std::io;
use std::time::Duration;

/// What can be read at once.
pub trait InstantSource {
    /// Reads from `offset` on into `bytes`; how many there were, or a negated errno.
    fn read(&self, bytes: &mut [u8], offset: u64) -> i32;
}

/// Reads of one source by one core.
pub struct InstantIo<S> {
    source: S,
    done: Vec<RawCompletion>,
    capacity: usize,
}

impl<S: InstantSource> InstantIo<S> {
    /// Reads `source`, at most `capacity` reads at a time.
    pub fn new(source: S, capacity: usize) -> Self {
        Self { source, done: Vec::with_capacity(capacity), capacity }
    }
}

impl<S: InstantSource> PageIo for InstantIo<S> {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        for read in reads {
            // SAFETY: the submitter promised an initialised buffer of `length` bytes that nobody else touches.
            let buffer = unsafe { std::slice::from_raw_parts_mut(read.buffer, read.length as usize) };
            let result = self.source.read(buffer, read.offset);
            self.done.push(RawCompletion { token: read.token, result });
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn arrived(&self) -> usize {
        self.done.len()
    }

    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize {
        let reaped = self.done.len();
        into.append(&mut self.done);
        reaped
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
