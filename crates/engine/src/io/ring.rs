//! Page reads through an io_uring of the core's own. glommio hosts the core, but its `DmaFile` submits a read
//! only when every task queue has drained and allocates a buffer a read; a search needs its reads with the
//! device at once and its completions visible without a system call.

use gleann_storage::{PageIo, RawCompletion, RawRead};
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// An io_uring that reads one file.
pub(crate) struct RingIo {
    ring: IoUring,
    /// Keeps the registered descriptor's file open.
    _file: File,
    queued: usize,
    in_flight: usize,
    capacity: usize,
}

/// Whether this process may use io_uring at all: the error of creating the smallest ring.
pub(crate) fn probe_ring() -> io::Result<()> {
    let ring = IoUring::new(2)?;
    if !ring.params().is_feature_ext_arg() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel is older than 5.11"));
    }
    Ok(())
}

impl RingIo {
    /// A ring for at most `capacity` reads of `file` at a time. Must be made on the thread that uses it.
    pub(crate) fn new(file: File, capacity: usize) -> io::Result<Self> {
        let entries = capacity.next_power_of_two() as u32;
        let ring = IoUring::builder().build(entries)?;
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        Ok(Self { ring, _file: file, queued: 0, in_flight: 0, capacity })
    }
}

impl PageIo for RingIo {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        assert!(self.in_flight + reads.len() <= self.capacity, "more reads than the ring has room for");
        let mut queue = self.ring.submission();
        for read in reads {
            let entry = opcode::Read::new(Fixed(0), read.buffer, read.length)
                .offset(read.offset)
                .build()
                .user_data(u64::from(read.token));
            // SAFETY: the caller keeps the buffer valid and untouched until the completion is reaped; the
            // file outlives the ring. The queue has room: its length is at least the capacity.
            unsafe { queue.push(&entry) }.map_err(|_| io::Error::other("the submission queue is full"))?;
        }
        drop(queue);
        self.queued += reads.len();
        self.in_flight += reads.len();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.queued > 0 {
            match self.ring.submit() {
                Ok(taken) => self.queued -= taken.min(self.queued),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn arrived(&self) -> usize {
        // SAFETY: only this thread touches the ring, and no other view of the completion queue is alive.
        unsafe { self.ring.completion_shared() }.len()
    }

    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize {
        let before = into.len();
        into.extend(
            self.ring
                .completion()
                .map(|entry| RawCompletion { token: entry.user_data() as u32, result: entry.result() }),
        );
        let reaped = into.len() - before;
        self.in_flight -= reaped;
        reaped
    }

    fn wait(&mut self, wanted: usize, timeout: Duration) -> io::Result<()> {
        let wanted = wanted.min(self.in_flight);
        if self.arrived() >= wanted {
            return self.flush();
        }
        let limit = Timespec::new().sec(timeout.as_secs()).nsec(timeout.subsec_nanos());
        match self.ring.submitter().submit_with_args(wanted, &SubmitArgs::new().timespec(&limit)) {
            Ok(taken) => self.queued -= taken.min(self.queued),
            // The time is up, but the queued reads may have been taken: ask the queue itself.
            Err(error) if is_passing(&error) => self.queued = self.ring.submission().len(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Errors after which the same call may be made again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
