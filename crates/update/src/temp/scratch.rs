//! Working memory of one thread.

use gleann_graph::{Candidate, Prune, Seen};
use gleann_vector::{Element, Matrix, Pool};

/// What one thread needs to insert and search; its memory is kept from one call to the next.
#[derive(Debug)]
pub struct TempScratch<T: Element> {
    pub(super) walk: Walk,
    /// The nearest live nodes a search has met.
    pub(super) found: Pool<()>,
    pub(super) prune: Prune,
    pub(super) candidates: Vec<Candidate>,
    /// Ids of a list under change.
    pub(super) ids: Vec<u32>,
    pub(super) gathered: Gathered<T>,
}

/// State of a walk over the graph.
#[derive(Debug)]
pub(super) struct Walk {
    /// State: whether the node has been expanded.
    pub(super) pool: Pool<bool>,
    pub(super) seen: Seen,
    pub(super) unseen: Vec<u32>,
    pub(super) expanded: Vec<Candidate>,
}

/// Vectors of the pool of a prune, side by side.
#[derive(Debug)]
pub(super) struct Gathered<T: Element> {
    pub(super) rows: Matrix<T>,
    pub(super) extra: Vec<f32>,
}

impl<T: Element> TempScratch<T> {
    /// Nothing allocated yet but what is always needed.
    pub fn new() -> Self {
        Self {
            walk: Walk { pool: Pool::new(1), seen: Seen::new(), unseen: Vec::new(), expanded: Vec::new() },
            found: Pool::new(1),
            prune: Prune::new(),
            candidates: Vec::new(),
            ids: Vec::new(),
            gathered: Gathered { rows: Matrix::zeroed(0, 0), extra: Vec::new() },
        }
    }
}

impl<T: Element> Default for TempScratch<T> {
    fn default() -> Self {
        Self::new()
    }
}
