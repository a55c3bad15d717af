//! What a search found and what it cost.

use gleann_vector::Key;

/// One neighbour found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The user's key.
    pub key: Key,
    /// Exact distance on the user scale of the metric (see [`gleann_vector::Metric`]).
    pub distance: f32,
}

/// (Internal id, exact ordering distance), nearest first, unique. Where the index changes, the user key in place of the
/// id, which may come to mean another node.
pub type Nearest = Vec<(u64, f32)>;

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<N = Nearest> {
    /// The neighbours, or whatever the search was for.
    pub nearest: N,
    /// What it cost.
    pub stats: QueryStats,
}

/// What one search cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryStats {
    /// Reads issued (one read is one block).
    pub reads: u32,
    /// Pages read.
    pub pages: u32,
    /// Bytes read.
    pub bytes: u64,
    /// Rounds of reads (Beam), or vertices expanded (Pipe).
    pub hops: u32,
    /// Vertices expanded.
    pub expanded: u32,
    /// Records that were held in memory and not read.
    pub cache_hits: u32,
    /// Distance estimates from codes.
    pub comparisons: u32,
    /// Exact distances.
    pub exact: u32,
    /// From start to end, in nanoseconds.
    pub latency_ns: u64,
    /// Time in which the search could do nothing but wait for a read, in nanoseconds.
    pub stall_ns: u64,
    /// Processor time spent on this search outside the kernel's part of its reads, in nanoseconds.
    pub cpu_ns: u64,
}
