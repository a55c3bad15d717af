//! What a build of postings can be told.

use super::super::BuildError;
use super::super::options::check_rows;
use gleann_graph::BuildParams;
use gleann_spann::ClusterParams;
use gleann_storage::{Layout, MAX_POSTING_PAGES, PostingLayout};
use gleann_vector::{ElementType, Key, Metric};

/// How an index of postings is built.
#[derive(Debug, Clone, PartialEq)]
pub struct SpannOptions {
    /// How near two vectors are.
    pub metric: Metric,
    /// Bytes of a page: 4096, 8192 or 16384.
    pub page_size: usize,
    /// Pages of a posting, the unit of a read, 1 to 64; `None`: as few as hold 60 vectors.
    pub posting_pages: Option<usize>,
    /// The most vectors of a cluster before replication; `None`: a quarter of what a posting holds. Smaller clusters take
    /// more memory for centroids and more disk, and need fewer vectors read for the same recall.
    pub cluster: Option<usize>,
    /// The most postings a vector is in.
    pub replicas: usize,
    /// ε₁: a vector goes to centroids at most (1 + ε₁) times as far as its nearest, in ordering distances.
    pub closure: f32,
    /// R of the graph over the centroids.
    pub centroid_degree: usize,
    /// L of the build of that graph.
    pub centroid_list: usize,
    /// Most bytes of memory the build may take, beside 64 MiB for the program itself. A build that does not fit is
    /// refused: it holds all vectors.
    pub memory_budget: u64,
    /// Threads; 0: as many as this process may run on. They do not change the index.
    pub threads: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// The key of every row, all different; `None`: row numbers.
    pub keys: Option<Vec<Key>>,
    /// Throw away what an interrupted build has left in the directory.
    pub restart: bool,
}

/// Vectors that a posting should hold: room for a cluster and its replicas, at 8 KiB for 128 bytes a vector.
const POSTING_VECTORS: usize = 60;
/// Clusters are so many times smaller than postings: what is left is for replicas. Measured in docs/design/spann.md.
const ROOM: usize = 4;

impl Default for SpannOptions {
    /// L2, pages of 4096 bytes, postings of 60 vectors or a little more, clusters of a quarter of that, 8 replicas, ε₁ = 10
    /// (both SPANN's), centroid graph of R = 32 and L = 64, 8 GiB, all threads, seed 0, row numbers.
    fn default() -> Self {
        Self {
            metric: Metric::L2,
            page_size: 4096,
            posting_pages: None,
            cluster: None,
            replicas: 8,
            closure: 10.0,
            centroid_degree: 32,
            centroid_list: 64,
            memory_budget: 8 << 30,
            threads: 0,
            seed: 0,
            keys: None,
            restart: false,
        }
    }
}

impl SpannOptions {
    /// Holds the options against the data they are to be used on.
    pub(crate) fn check(
        &self,
        rows: u64,
        dim: usize,
        element: ElementType,
    ) -> Result<(Layout, PostingLayout, ClusterParams), BuildError> {
        let layout = Layout::new(element, dim, self.centroid_degree, self.page_size)?;
        let pages = self.posting_pages.unwrap_or_else(|| {
            let wanted = POSTING_VECTORS * (dim * element.size() + 4) + 16;
            wanted.div_ceil(self.page_size).min(MAX_POSTING_PAGES)
        });
        let posting = PostingLayout::new(layout, pages)
            .map_err(|error| BuildError::option("posting_pages", pages, error))?;
        let params = ClusterParams {
            capacity: posting.capacity(),
            cluster: self.cluster.unwrap_or((posting.capacity() / ROOM).max(1)),
            replicas: self.replicas,
            closure: self.closure,
            graph: self.graph(),
        };
        params.check().map_err(|error| BuildError::option(error.field, error.found, error.expected))?;
        params.graph.check()?;
        check_rows(rows, self.keys.as_deref())?;
        Ok((layout, posting, params))
    }

    fn graph(&self) -> BuildParams {
        let defaults = BuildParams::default();
        BuildParams {
            degree: self.centroid_degree,
            list: self.centroid_list,
            max_candidates: defaults.max_candidates.max(self.centroid_degree),
            seed: self.seed,
            ..defaults
        }
    }
}
