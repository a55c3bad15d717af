//! What an open index says of itself.

use crate::build::CodePlacement;
use crate::options::EngineChoice;
use gleann_storage::{BuildParameters, IndexKind, Layout, Packing};
use gleann_vector::Metric;
use std::path::PathBuf;

/// The navigation graph of an open index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemGraphInfo {
    /// Vectors in it.
    pub nodes: u64,
    /// Bytes of memory it takes.
    pub bytes: u64,
}

/// What an open index is and how it is read; for reports.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexInfo {
    /// Its directory.
    pub path: PathBuf,
    /// Number of vectors.
    pub nodes: u64,
    /// What the vectors lie in: a graph or postings.
    pub kind: IndexKind,
    /// Record geometry: element type, dimension, degree bound, page size.
    pub layout: Layout,
    /// The metric.
    pub metric: Metric,
    /// Which vectors share a page.
    pub packing: Packing,
    /// Where the codes are.
    pub codes: CodePlacement,
    /// Bytes a code; 0 where there are none.
    pub code_bytes: usize,
    /// How the graph was built.
    pub parameters: BuildParameters,
    /// The build, in hexadecimal.
    pub build_id: String,
    /// What reads the pages (never [`EngineChoice::Auto`]).
    pub engine: EngineChoice,
    /// Whether reads go past the page cache.
    pub direct: bool,
    /// Name of the file system the graph is on.
    pub file_system: String,
    /// Executors.
    pub threads: usize,
    /// Searches a core interleaves.
    pub in_flight: usize,
    /// Records that the cache holds.
    pub cached_records: u64,
    /// The navigation graph, where the index has one and it is loaded.
    pub mem_graph: Option<MemGraphInfo>,
    /// Bytes of memory the shared parts take: codes, codebook, navigation graph and cache, or centroids and their
    /// graph; keys.
    pub memory_bytes: u64,
    /// Why the index is not read as was preferred.
    pub warnings: Vec<String>,
}
