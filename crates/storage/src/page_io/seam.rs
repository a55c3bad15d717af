//! The seam to the disk. Everything above is the same code whatever stands behind it: io_uring on a glommio
//! executor, a pool of threads that call `pread`, a memory map, or the simulated disk.

use std::io;
use std::time::Duration;

/// One read to be made: `length` bytes from `offset` into `buffer`.
#[derive(Debug, Clone, Copy)]
pub struct RawRead {
    /// The caller's name for this read; given back with its completion.
    pub token: u32,
    /// Byte offset in the file; a multiple of the page size.
    pub offset: u64,
    /// Where the bytes go; aligned to 4096.
    pub buffer: *mut u8,
    /// Bytes to read.
    pub length: u32,
}

/// A read has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawCompletion {
    /// The read's token.
    pub token: u32,
    /// Bytes read (possibly fewer than asked for), or a negated errno.
    pub result: i32,
}

/// Raw reads of one file by one core, without judgement: lengths and errors are checked by
/// `BlockReader`, the only caller.
///
/// Contract:
/// - `submit` may queue; whatever is queued is with the device after the next `flush` or `wait`.
/// - `ready` and `reap` never block and never enter the kernel to wait.
/// - `wait` returns once `wanted` completions can be reaped (or all that are in flight, if they are fewer), or
///   `timeout` has passed. Waking once for the last of four reads costs a quarter of waking for each.
/// - Every submitted read completes exactly once, in any order; a failed submission fails as completions.
/// - Not `Sync`: one core owns it.
pub trait PageIo {
    /// Takes reads over. At most [`PageIo::capacity`] may be in flight.
    ///
    /// # Safety
    /// Each buffer must be initialised, valid for writes of `length` bytes, and not be touched by anyone until its
    /// completion has been reaped, even if `self` reports errors meanwhile.
    ///
    /// # Errors
    /// The device cannot take reads at all; none of `reads` was taken.
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()>;

    /// Makes queued reads known to the device, without waiting.
    ///
    /// # Errors
    /// The system call failed; the reads stay queued.
    fn flush(&mut self) -> io::Result<()>;

    /// Completions that can be reaped. Cheap enough to ask every 2 µs.
    fn arrived(&self) -> usize;

    /// Appends the completions there are to `into`; returns how many.
    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize;

    /// Flushes, then blocks until `wanted` (≥ 1) completions can be reaped or `timeout` has passed.
    ///
    /// # Errors
    /// The system call failed; reads stay in flight.
    fn wait(&mut self, wanted: usize, timeout: Duration) -> io::Result<()>;

    /// Reads submitted and not yet reaped.
    fn in_flight(&self) -> usize;

    /// The most reads that may be in flight.
    fn capacity(&self) -> usize;
}
