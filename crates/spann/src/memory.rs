//! What clustering needs of memory, before it starts.

use crate::params::ClusterParams;
use crate::partition::scratch_bytes;
use gleann_graph::Rows;

/// Divisions that a thread may have under way: one a level, and those it took from others in between.
const DIVISIONS: u64 = 4;

/// Peak bytes of [`crate::cluster`] with the vectors it reads, on `threads` threads.
pub fn memory_estimate(rows: &Rows, params: &ClusterParams, threads: usize) -> u64 {
    let n = rows.rows;
    let row = rows.dim as u64 * rows.element.size() as u64;
    let extra = if rows.metric == gleann_vector::Metric::InnerProduct { 4 } else { 0 };
    // Leaves are half full at least, all but one of a division.
    let centroids = Rows { rows: (2 * n).div_ceil(params.cluster as u64), ..*rows };
    let graph = gleann_graph::memory_estimate(&centroids, &params.graph, threads);
    let replicas = params.replicas as u64;
    // A claim is 8 bytes; members stand in vectors that may have doubled; an asker is 16.
    let placing = n * (8 * replicas + 2 * 4 * replicas + 16 + 1) + 24 * centroids.rows;
    let dividing = n * 24 + DIVISIONS * threads.max(1) as u64 * scratch_bytes(rows.dim);
    (n * (row + extra)).saturating_add(graph).saturating_add(placing.max(dividing))
}
