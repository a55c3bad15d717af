//! What a build needs of memory, before it starts.

use crate::BuildParams;
use crate::vamana::largest_batch;
use gleann_vector::{ElementType, Metric};

/// The shape of the rows of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Number of rows.
    pub rows: u64,
    /// Elements a row.
    pub dim: usize,
    /// Type of the elements.
    pub element: ElementType,
    /// The metric: the inner product keeps one more f32 a row.
    pub metric: Metric,
}

/// Allocator, code, stacks and whatever else does not grow with the rows.
const FIXED: u64 = 16 << 20;

/// Peak bytes of [`crate::build`] with the matrix it reads, on `threads` threads.
pub fn memory_estimate(rows: &Rows, params: &BuildParams, threads: usize) -> u64 {
    let n = rows.rows;
    let row = rows.dim as u64 * rows.element.size() as u64;
    let extra = if rows.metric == Metric::InnerProduct { 4 } else { 0 };
    let order = 4;
    let list = 4 * (params.capacity() as u64 + 1);
    let per_node = row.saturating_add(extra + order + list);
    let batch = largest_batch(usize::try_from(n).unwrap_or(usize::MAX)) as u64;
    // Its lists, its edges in a vector that may have doubled, the keys of its sort.
    let batch_bytes = batch.min(n) * (4 * (params.degree as u64 + 1) + 2 * 8 * params.degree as u64 + 16);
    // Prune pool with gathered rows, search pool, seen ids. Hubs may be given a batch of edges at once, of which
    // the pool of a prune keeps `max_candidates`.
    let pool = (params.max_candidates.max(2 * params.list)) as u64;
    let scratch = pool.saturating_mul(row + 64) + 32 * batch + (1 << 20);
    n.saturating_mul(per_node)
        .saturating_add(batch_bytes)
        .saturating_add(scratch.saturating_mul(threads.max(1) as u64))
        .saturating_add(FIXED)
}
