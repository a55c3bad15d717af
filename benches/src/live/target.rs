//! What these measurements need of an index that changes.

use anyhow::Result;
use gleann::{Element, Key, LiosStats, SearchOptions, SearchResult, TracePoint};

/// An index that is changed and searched, from any thread.
pub trait LiveTarget<T: Element>: Sync {
    /// Adds a vector; whether its key was new. If it was not, nothing has changed.
    ///
    /// # Errors
    /// The index could not take it.
    fn insert(&self, key: Key, vector: &[T]) -> Result<bool>;

    /// Adds a vector or takes the place of one; whether its key was new.
    ///
    /// # Errors
    /// As [`LiveTarget::insert`].
    fn upsert(&self, key: Key, vector: &[T]) -> Result<bool>;

    /// Takes a vector out; whether it was there.
    ///
    /// # Errors
    /// As [`LiveTarget::insert`].
    fn delete(&self, key: Key) -> Result<bool>;

    /// Does now what the index would do at its own time.
    ///
    /// # Errors
    /// It could not be finished.
    fn settle(&self, settling: Settling) -> Result<()>;

    /// The nearest `k` of one query, blocking.
    ///
    /// # Errors
    /// The search failed.
    fn search(&self, query: &[T], k: usize, options: &SearchOptions) -> Result<SearchResult>;

    /// The nearest `k` of each row-major query, as fast as the index can.
    ///
    /// # Errors
    /// A search failed.
    fn search_all(&self, queries: &[T], k: usize, options: &SearchOptions) -> Result<Vec<SearchResult>>;

    /// What it has done and holds so far.
    fn gauges(&self) -> Gauges;

    /// The latest intervals of the tuner, the oldest first; none where there is no tuner.
    fn tuner_trace(&self) -> Vec<TracePoint> {
        Vec::new()
    }
}

/// Work that an index may put off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settling {
    /// Bring what is in memory into the graph on disk: a StreamingMerge, or a checkpoint.
    Merge,
    /// Repair the lists that name deleted vectors, and free the places of those.
    Consolidate,
}

/// Counters and sizes of an index. Counters only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauges {
    /// Live vectors.
    pub live: u64,
    /// Deleted vectors whose places are not free yet.
    pub dead: u64,
    /// Free places.
    pub free: u64,
    /// Updates that are acknowledged and not yet in the graph on disk.
    pub backlog: u64,
    /// Bytes of the files, the log among them.
    pub index_bytes: u64,
    /// Bytes of memory that the index takes.
    pub memory_bytes: u64,
    /// OR(G) of the I/O model, where it is known.
    pub overlap_ratio: Option<f64>,
    /// Counter: bytes written.
    pub bytes_written: u64,
    /// Counter: processor time of updates, in nanoseconds.
    pub update_cpu_ns: u64,
    /// Counter: the part of it spent in prunes, where it is known.
    pub prune_cpu_ns: Option<u64>,
    /// Counter: merges.
    pub merges: u64,
    /// Counter: time in which searching cores waited for reads with nothing else to do, summed over the cores.
    pub idle_ns: u64,
    /// What searching cores have done for updates; none where they do nothing.
    pub lios: Option<LiosStats>,
    /// Inserts that wait to be begun.
    pub queued: u64,
}
