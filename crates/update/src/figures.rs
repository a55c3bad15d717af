//! What updates have cost so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters, which any thread adds to.
#[derive(Debug, Default)]
pub struct Figures {
    pub(crate) updates: AtomicU64,
    pub(crate) comparisons: AtomicU64,
    pub(crate) prune_ns: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
    pub(crate) blocks_written: AtomicU64,
    pub(crate) lists_repaired: AtomicU64,
    pub(crate) decided_again: AtomicU64,
}

impl Figures {
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn of(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

/// A live index at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LiveFigures {
    /// Vectors that searches find.
    pub live: u64,
    /// Deleted vectors whose nodes are still in the graph.
    pub dead: u64,
    /// Places for nodes that hold nothing.
    pub free: u64,
    /// Vectors that are in memory only (and in the log): in temporary indexes, or in the graph but not on disk.
    pub pending: u64,
    /// Memory of what has changed since the last checkpoint, in bytes.
    pub overlay_bytes: u64,
    /// Memory of everything a live index holds, in bytes: codes, keys, states, changes.
    pub memory_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of the block file.
    pub index_bytes: u64,
    /// Bytes written to the block file since the index was opened.
    pub bytes_written: u64,
    /// Inserts, upserts and deletes since the index was opened.
    pub updates: u64,
    /// Comparisons of prunes.
    pub comparisons: u64,
    /// Time in which inserts were linked (RobustPrune, and DeltaPrune of the lists they join), in nanoseconds.
    pub prune_ns: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Lists that lost a deleted neighbour.
    pub lists_repaired: u64,
    /// Joins that had to be decided again, because another had changed the list meanwhile.
    pub decided_again: u64,
}
