//! How an open index takes updates.

use gleann_lios::LiosOptions;
use gleann_update::{Durability, RepairPolicy};
use std::time::Duration;

/// How an open live index takes updates. Of no meaning to a static one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UpdateOptions {
    /// When an acknowledged operation survives a crash.
    pub durability: Durability,
    /// Threads that run inserts; checkpoints and merges use as many. 0, with [`UpdateOptions::lios`] only: all is computed by
    /// the searching cores.
    pub threads: usize,
    /// Inserts that a thread interleaves, so that one computes while others wait for the disk.
    pub in_flight: usize,
    /// Pool of the search for a new vector's neighbours.
    pub list: usize,
    /// The nearest that were met on the way and may become neighbours.
    pub candidates: usize,
    /// Memory for changes since the last checkpoint, in bytes: past it a checkpoint is made in the background.
    pub memory: usize,
    /// Memory for blocks that inserts and merges have read, in bytes; 0: none. One insert reads much of what the next one
    /// does.
    pub cache: usize,
    /// Vectors that the temporary index of the *fresh* backend takes before it is merged in the background.
    pub buffer_vectors: usize,
    /// Vectors of an index that began empty from which on a graph is built of them, in the background: until then they are
    /// in the temporary index, by whatever backend.
    pub bootstrap: u64,
    /// What of a deleted node's neighbours takes its place in the lists that name it.
    pub repair: RepairPolicy,
    /// Once deleted nodes are this share of all, their places are freed in the background; 1 or more: never unasked.
    pub consolidate_share: f64,
    /// Whether and how searching cores work on updates while their searches wait for reads (LIOS); none: they sleep.
    pub lios: Option<LiosOptions>,
    /// Whether a core prefetches what its searches need next after it has worked on updates (LIOS §4.4).
    pub prefetch: bool,
}

impl Default for UpdateOptions {
    /// Group commits of 5 ms, one thread of 8 inserts, a pool of 96, 64 MiB of changes and 256 of blocks, 30 000
    /// buffered vectors, a graph from 10 000 on, consolidation at 10 %; searching cores search only.
    fn default() -> Self {
        Self {
            durability: Durability::Group(Duration::from_millis(5)),
            threads: 1,
            in_flight: 8,
            list: 96,
            candidates: 192,
            memory: 64 << 20,
            cache: 256 << 20,
            buffer_vectors: 30_000,
            bootstrap: 10_000,
            repair: RepairPolicy::NEAREST,
            consolidate_share: 0.1,
            lios: None,
            prefetch: true,
        }
    }
}
