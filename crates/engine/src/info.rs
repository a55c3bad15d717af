//! What an open index says of itself.

use crate::build::CodePlacement;
use crate::options::EngineChoice;
use gleann_storage::{BuildParameters, Layout, Packing};
use gleann_vector::Metric;

/// What an open index is and how it is read; for reports.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexInfo {
    /// Number of vectors.
    pub nodes: u64,
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
    /// Bytes of memory the shared parts take: codes, codebook, keys.
    pub memory_bytes: u64,
    /// Why the index is not read as was preferred.
    pub warnings: Vec<String>,
}
