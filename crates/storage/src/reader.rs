//! Checked block reads over the raw [`PageIo`] seam: buffers, lengths, errors, retries, checksums.

use crate::block::{BlockError, verify_block};
use crate::block_layout::BlockLayout;
use crate::buffers::{BUFFER_ALIGN, ReadBuffers};
use crate::layout::BlockId;
use crate::page_io::{PageIo, RawCompletion, RawRead};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often one block may be asked for again (interrupted, short or would-block reads) before it is an error.
const MAX_ATTEMPTS: u8 = 16;
/// How long a dropped reader waits for the reads it still has in flight.
const DRAIN_ROUNDS: u32 = 100;

/// A block could not be read. Names file and offset.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}, block {} at byte {offset}: {cause}", file.display(), block.0)]
pub struct ReadError {
    /// The file.
    pub file: Arc<Path>,
    /// The block.
    pub block: BlockId,
    /// Its byte offset.
    pub offset: u64,
    /// What went wrong.
    pub cause: ReadCause,
}

/// Why a block could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadCause {
    /// The operating system failed the read.
    #[error("read failed: {}", io::Error::from_raw_os_error(*.0))]
    Os(i32),
    /// The file ends inside the block.
    #[error("the file ends after {found} of {expected} bytes (truncated file?)")]
    Truncated {
        /// Bytes there were.
        found: u32,
        /// Bytes of a block.
        expected: u32,
    },
    /// The read kept being interrupted or cut short.
    #[error("no complete read in {0} attempts")]
    Attempts(u8),
    /// The block lies outside the file.
    #[error("the index has {0} blocks")]
    Range(u64),
    /// The bytes are not those that were written.
    #[error(transparent)]
    Block(#[from] BlockError),
}

/// Takes a block that was read: its verified bytes, valid during the call only, or an error.
pub type Deliver<'a> = dyn FnMut(BlockRead, Result<&[u8], ReadError>) + 'a;

/// One block to read; `tag` comes back with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRead {
    /// The caller's name for this read.
    pub tag: u64,
    /// The block: what its trailer must say.
    pub block: BlockId,
    /// Which block of the file it is; the same where blocks lie in their order.
    pub place: BlockId,
}

/// What a reader reads.
#[derive(Debug, Clone)]
pub struct ReadTarget {
    /// The file, for messages.
    pub file: Arc<Path>,
    /// Where its blocks lie.
    pub layout: BlockLayout,
    /// Number of blocks in the file; `u64::MAX` where it grows.
    pub blocks: u64,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    read: BlockRead,
    filled: u32,
    attempts: u8,
}

/// Reads blocks for one core. Owns every buffer until the read into it has completed, so a search that is
/// dropped, cancelled or panics with reads in flight leaves nothing dangling.
pub struct BlockReader<Io: PageIo> {
    io: Io,
    target: ReadTarget,
    slots: Vec<Slot>,
    free: Vec<u32>,
    buffers: ReadBuffers,
    submissions: Vec<RawRead>,
    completions: Vec<RawCompletion>,
    failed: Vec<(BlockRead, ReadCause)>,
}

impl<Io: PageIo> BlockReader<Io> {
    /// A reader of `target` through `io`.
    pub fn new(io: Io, target: ReadTarget) -> Self {
        let capacity = io.capacity();
        let empty =
            Slot { read: BlockRead { tag: 0, block: BlockId(0), place: BlockId(0) }, filled: 0, attempts: 0 };
        Self {
            buffers: ReadBuffers::new(capacity, target.layout.block_bytes()),
            slots: vec![empty; capacity],
            free: (0..capacity as u32).rev().collect(),
            submissions: Vec::with_capacity(capacity),
            completions: Vec::with_capacity(capacity),
            failed: Vec::new(),
            io,
            target,
        }
    }

    /// Reads that can be submitted now.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Reads that can be in flight at a time.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Reads submitted and not yet delivered.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len() + self.failed.len()
    }

    /// Takes reads over. A read that cannot be made is delivered as an error by the next [`BlockReader::poll`].
    ///
    /// # Panics
    /// If there are more reads than [`BlockReader::room`].
    pub fn submit(&mut self, reads: &[BlockRead]) {
        assert!(reads.len() <= self.room(), "{} reads, room for {}", reads.len(), self.room());
        for &read in reads {
            if u64::from(read.place.0) >= self.target.blocks {
                self.failed.push((read, ReadCause::Range(self.target.blocks)));
                continue;
            }
            let slot = self.free.pop().expect("room was checked");
            self.slots[slot as usize] = Slot { read, filled: 0, attempts: 0 };
            self.queue(slot);
        }
        self.hand_over();
    }

    /// Makes submitted reads known to the device without waiting.
    ///
    /// # Errors
    /// The system call failed; the reads stay queued.
    pub fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }

    /// Whether [`BlockReader::poll`] would deliver something. Cheap.
    pub fn ready(&self) -> bool {
        self.arrived() > 0
    }

    /// Reads that [`BlockReader::poll`] would deliver. Cheap.
    pub fn arrived(&self) -> usize {
        self.failed.len() + self.io.arrived()
    }

    /// Blocks until `wanted` (≥ 1) reads can be delivered or `timeout` has passed.
    ///
    /// # Errors
    /// The system call failed; reads stay in flight.
    pub fn wait(&mut self, wanted: usize, timeout: Duration) -> io::Result<()> {
        if self.failed.is_empty() { self.io.wait(wanted, timeout) } else { self.io.flush() }
    }

    /// Delivers every read that has ended: the verified bytes of the block (valid during the call only) or
    /// an error. Returns the number delivered. Never blocks.
    pub fn poll(&mut self, deliver: &mut Deliver<'_>) -> usize {
        let mut delivered = self.failed.len();
        for (read, cause) in std::mem::take(&mut self.failed) {
            deliver(read, Err(error(&self.target, read, cause)));
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.io.reap(&mut completions);
        for completion in completions.drain(..) {
            let slot = completion.token;
            let read = self.slots[slot as usize].read;
            let outcome = match self.judge(completion) {
                Verdict::Again => {
                    self.queue(slot);
                    continue;
                }
                Verdict::Failed(cause) => Err(error(&self.target, read, cause)),
                // SAFETY: the read into this slot has completed and the slot is not free yet.
                Verdict::Complete => Ok(unsafe { self.buffers.bytes(slot) }),
            };
            deliver(read, outcome);
            self.free.push(slot);
            delivered += 1;
        }
        self.completions = completions;
        self.hand_over();
        delivered
    }

    fn judge(&mut self, completion: RawCompletion) -> Verdict {
        let slot = &mut self.slots[completion.token as usize];
        let expected = self.target.layout.block_bytes() as u32;
        slot.attempts += 1;
        let retry = slot.attempts < MAX_ATTEMPTS;
        match completion.result {
            code if code == -libc::EINTR || code == -libc::EAGAIN => {
                if retry {
                    Verdict::Again
                } else {
                    Verdict::Failed(ReadCause::Os(-code))
                }
            }
            code if code < 0 => Verdict::Failed(ReadCause::Os(-code)),
            0 => Verdict::Failed(ReadCause::Truncated { found: slot.filled, expected }),
            bytes if slot.filled + bytes as u32 >= expected => {
                // SAFETY: the read into this slot has completed.
                let block = unsafe { self.buffers.bytes(completion.token) };
                match verify_block(block, slot.read.block) {
                    Ok(()) => Verdict::Complete,
                    Err(wrong) => Verdict::Failed(wrong.into()),
                }
            }
            bytes => {
                // Direct I/O goes on at an aligned offset only: keep the whole units that have arrived.
                slot.filled = (slot.filled + bytes as u32) / BUFFER_ALIGN as u32 * BUFFER_ALIGN as u32;
                if retry { Verdict::Again } else { Verdict::Failed(ReadCause::Attempts(slot.attempts)) }
            }
        }
    }

    fn queue(&mut self, slot: u32) {
        let Slot { read, filled, .. } = self.slots[slot as usize];
        self.submissions.push(RawRead {
            token: slot,
            offset: self.target.layout.offset(read.place) + u64::from(filled),
            buffer: self.buffers.start(slot).wrapping_add(filled as usize),
            length: self.target.layout.block_bytes() as u32 - filled,
        });
    }

    fn hand_over(&mut self) {
        if self.submissions.is_empty() {
            return;
        }
        // SAFETY: each buffer belongs to a slot that is not free, and is freed only after the drain in `drop`.
        if let Err(refused) = unsafe { self.io.submit(&self.submissions) } {
            let code = refused.raw_os_error().unwrap_or(libc::EIO);
            for submission in self.submissions.drain(..) {
                self.failed.push((self.slots[submission.token as usize].read, ReadCause::Os(code)));
                self.free.push(submission.token);
            }
        }
        self.submissions.clear();
    }
}

enum Verdict {
    Complete,
    Again,
    Failed(ReadCause),
}

fn error(target: &ReadTarget, read: BlockRead, cause: ReadCause) -> ReadError {
    let BlockRead { block, place, .. } = read;
    ReadError { file: target.file.clone(), block, offset: target.layout.offset(place), cause }
}

impl<Io: PageIo> Drop for BlockReader<Io> {
    fn drop(&mut self) {
        for _ in 0..DRAIN_ROUNDS {
            if self.io.in_flight() == 0 {
                return;
            }
            // A failing wait is tried again: the buffers may not go before the reads have ended.
            let _ = self.io.wait(1, Duration::from_millis(100));
            self.io.reap(&mut self.completions);
        }
        // A device that never answers may still write: leaking the buffers is the safe end.
        self.buffers.leak();
    }
}
