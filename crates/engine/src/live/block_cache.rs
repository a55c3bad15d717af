//! The page cache of updates: blocks that one insert has read and another will. Searches do not use it; their cache is one
//! that the user chooses.
//!
//! Blocks are known by their place in the file, whose bytes stay as they are while a table names them. The cache is
//! emptied at every switch to a new table, before anybody reads by it: what a place held before can then not be taken for
//! what has been written there since.

use gleann_storage::{PageIo, RawCompletion, RawRead};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Independent parts, so that threads seldom meet.
const SHARDS: usize = 16;

/// Blocks held in a bounded amount of memory.
pub(crate) struct BlockCache {
    shards: Vec<Mutex<Shard>>,
    block_bytes: usize,
    /// Counts the times it was emptied.
    epoch: AtomicU64,
}

#[derive(Default)]
struct Shard {
    frames: HashMap<u64, usize>,
    /// Whose frame each is, and whether it was asked for since the hand last came by.
    owners: Vec<(u64, bool)>,
    bytes: Vec<u8>,
    capacity: usize,
    hand: usize,
}

impl BlockCache {
    /// A cache of at most `bytes` bytes.
    pub(crate) fn new(bytes: usize, block_bytes: usize) -> Self {
        let capacity = bytes / block_bytes / SHARDS;
        let shard = || Mutex::new(Shard { capacity, ..Shard::default() });
        Self { shards: (0..SHARDS).map(|_| shard()).collect(), block_bytes, epoch: AtomicU64::new(0) }
    }

    /// Forgets every block.
    pub(crate) fn clear(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.frames.clear();
            shard.owners.clear();
            shard.hand = 0;
        }
    }

    fn shard(&self, offset: u64) -> &Mutex<Shard> {
        &self.shards[(offset / self.block_bytes as u64) as usize % SHARDS]
    }

    /// Copies the block at an offset, if it is here.
    fn get(&self, offset: u64, into: &mut [u8]) -> bool {
        let mut shard = lock(self.shard(offset));
        let Some(&frame) = shard.frames.get(&offset) else { return false };
        shard.owners[frame].1 = true;
        into.copy_from_slice(&shard.bytes[frame * self.block_bytes..][..self.block_bytes]);
        true
    }

    /// Keeps a block that was read when the cache had been emptied `epoch` times.
    fn put(&self, offset: u64, block: &[u8], epoch: u64) {
        let mut shard = lock(self.shard(offset));
        if self.epoch.load(Ordering::Acquire) != epoch || shard.capacity == 0 {
            return;
        }
        if let Some(frame) = shard.frame_for(offset, self.block_bytes) {
            shard.bytes[frame * self.block_bytes..][..self.block_bytes].copy_from_slice(block);
        }
    }
}

impl Shard {
    /// The frame that takes a block; none if it is here already. The hand passes over what was asked for lately (CLOCK).
    fn frame_for(&mut self, offset: u64, block_bytes: usize) -> Option<usize> {
        if self.frames.contains_key(&offset) {
            return None;
        }
        let frame = if self.owners.len() < self.capacity {
            self.owners.push((offset, false));
            let frame = self.owners.len() - 1;
            if self.bytes.len() < (frame + 1) * block_bytes {
                self.bytes.resize((frame + 1) * block_bytes, 0);
            }
            frame
        } else {
            let frame = self.next_victim();
            let (old, _) = std::mem::replace(&mut self.owners[frame], (offset, false));
            self.frames.remove(&old);
            frame
        };
        self.frames.insert(offset, frame);
        Some(frame)
    }

    fn next_victim(&mut self) -> usize {
        loop {
            let frame = self.hand;
            self.hand = (self.hand + 1) % self.capacity;
            if !std::mem::take(&mut self.owners[frame].1) {
                return frame;
            }
        }
    }
}

fn lock(shard: &Mutex<Shard>) -> std::sync::MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A disk behind the cache.
pub(crate) struct CachedIo<Io> {
    disk: Io,
    cache: Arc<BlockCache>,
    /// By token: reads of whole blocks that are under way, and when they began.
    waiting: Vec<Option<(RawRead, u64)>>,
    hits: Vec<RawCompletion>,
    missed: Vec<RawRead>,
}

impl<Io: PageIo> CachedIo<Io> {
    /// `disk` behind `cache`.
    pub(crate) fn new(disk: Io, cache: Arc<BlockCache>) -> Self {
        let waiting = vec![None; disk.capacity()];
        Self { disk, cache, waiting, hits: Vec::new(), missed: Vec::new() }
    }
}

impl<Io: PageIo> PageIo for CachedIo<Io> {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        self.missed.clear();
        let epoch = self.cache.epoch.load(Ordering::Acquire);
        for &read in reads {
            let whole = read.length as usize == self.cache.block_bytes;
            // SAFETY: the submitter promised a buffer of `length` bytes that nobody else touches.
            let buffer = unsafe { std::slice::from_raw_parts_mut(read.buffer, read.length as usize) };
            if whole && self.cache.get(read.offset, buffer) {
                self.hits.push(RawCompletion { token: read.token, result: read.length as i32 });
                continue;
            }
            self.waiting[read.token as usize] = whole.then_some((read, epoch));
            self.missed.push(read);
        }
        // SAFETY: the caller's promise, passed on.
        let submitted = unsafe { self.disk.submit(&self.missed) };
        if submitted.is_err() {
            // None was taken: the hits of this call are forgotten with the rest of it.
            self.hits.retain(|hit| !reads.iter().any(|read| read.token == hit.token));
        }
        submitted
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.flush()
    }

    fn arrived(&self) -> usize {
        self.hits.len() + self.disk.arrived()
    }

    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize {
        let before = into.len();
        into.append(&mut self.hits);
        let first = into.len();
        self.disk.reap(into);
        for completion in &into[first..] {
            let Some((read, epoch)) = self.waiting[completion.token as usize].take() else { continue };
            if completion.result == read.length as i32 {
                // SAFETY: the read has completed, and its buffer is the submitter's until this call has returned.
                let block = unsafe { std::slice::from_raw_parts(read.buffer, read.length as usize) };
                self.cache.put(read.offset, block, epoch);
            }
        }
        into.len() - before
    }

    fn wait(&mut self, wanted: usize, timeout: Duration) -> io::Result<()> {
        match wanted.checked_sub(self.hits.len()) {
            None | Some(0) => self.disk.flush(),
            Some(wanted) if self.disk.in_flight() > 0 => self.disk.wait(wanted, timeout),
            Some(_) => Ok(()),
        }
    }

    fn in_flight(&self) -> usize {
        self.hits.len() + self.disk.in_flight()
    }

    fn capacity(&self) -> usize {
        self.disk.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_storage::{SimDisk, SimOptions, VirtualClock};

    const BLOCK: usize = 4096;

    #[test]
    fn blocks_come_from_memory_until_it_is_emptied() {
        let image: Vec<u8> = (0..40 * BLOCK).map(|at| (at / BLOCK) as u8).collect();
        let disk = SimDisk::new(image.into(), VirtualClock::default(), SimOptions::default());
        let cache = Arc::new(BlockCache::new(8 * SHARDS * BLOCK, BLOCK));
        let mut io = CachedIo::new(disk, cache.clone());
        let mut buffers = vec![0u8; 40 * BLOCK];
        let mut read = |io: &mut CachedIo<SimDisk>, blocks: &[u32]| {
            buffers.fill(0xff);
            let start = buffers.as_mut_ptr();
            let reads: Vec<RawRead> = (0..)
                .zip(blocks)
                .map(|(token, &block)| RawRead {
                    token,
                    offset: u64::from(block) * BLOCK as u64,
                    buffer: start.wrapping_add(token as usize * BLOCK),
                    length: BLOCK as u32,
                })
                .collect();
            // SAFETY: each read has a buffer of its own, which is looked at after all have been reaped.
            unsafe { io.submit(&reads) }.unwrap();
            let mut reaped = Vec::new();
            while io.in_flight() > 0 {
                io.wait(1, Duration::from_millis(1)).unwrap();
                io.reap(&mut reaped);
            }
            assert_eq!(reaped.len(), blocks.len());
            for (at, &block) in blocks.iter().enumerate() {
                assert!(buffers[at * BLOCK..][..BLOCK].iter().all(|&byte| byte == block as u8));
            }
        };
        read(&mut io, &[1, 2, 3]);
        assert_eq!(io.disk.reads(), 3);
        read(&mut io, &[3, 2, 17, 1]);
        assert_eq!(io.disk.reads(), 4, "only 17 was read");
        cache.clear();
        read(&mut io, &[1]);
        assert_eq!(io.disk.reads(), 5);
        // More than there is room for: nothing is wrong, and not all is here.
        let all: Vec<u32> = (0..40).collect();
        for _ in 0..5 {
            read(&mut io, &all);
        }
        assert!(cache.shards.iter().all(|shard| lock(shard).owners.len() <= 8));
    }
}
