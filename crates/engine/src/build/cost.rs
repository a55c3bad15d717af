//! A rough estimate of how long a build takes, from builds that were measured.

use super::memory::Sizes;
use gleann_graph::{ShardPlan, ShufflePlan};

/// Cost of one distance in the graph build: fixed, and for each byte of a row. Measured on one core of a
/// 2020s server with 128 × u8 and 100 × f32; cold caches and other machines are off by a factor of two.
const DISTANCE_NS: f64 = 14.0;
const DISTANCE_BYTE_NS: f64 = 0.055;
/// More, where the rows do not fit the caches.
const MISS_NS: f64 = 22.0;
const CACHE_BYTES: f64 = 16e6;
/// Distances a vector takes for each place of the pool, at the degrees in use, in a graph of e¹⁰ vectors; they
/// grow with the logarithm.
const DISTANCES_A_PLACE: f64 = 26.0;
/// Encoding: for each dimension, 256 centroids.
const ENCODE_DIMENSION_NS: f64 = 22.0;
/// Training: for each dimension of each row of the sample, all rounds.
const TRAIN_DIMENSION_NS: f64 = 330.0;
/// Shuffling: for each place of a list.
const SHUFFLE_EDGE_NS: f64 = 75.0;
/// Reading, hashing and writing, for each byte of a record, all phases.
const STREAM_BYTE_NS: f64 = 2.5;

/// CPU seconds of a build, roughly.
pub(crate) fn cpu_seconds(sizes: &Sizes, graph: &ShardPlan, training_rows: u64) -> f64 {
    let rows = sizes.rows.rows as f64;
    let row = (sizes.rows.dim * sizes.rows.element.size()) as f64;
    let (params, copies) = match graph {
        ShardPlan::OneShot { .. } => (&sizes.params, 1.0),
        ShardPlan::Sharded { params, .. } => (params, 2.0),
    };
    let shape = (params.degree as f64 / 64.0).sqrt() * rows.max(2.0).ln() / 10.0;
    let distances = DISTANCES_A_PLACE * params.list as f64 * shape;
    let miss = if rows * row > CACHE_BYTES { MISS_NS } else { 0.0 };
    let insert =
        distances * (DISTANCE_NS + DISTANCE_BYTE_NS * row + miss) * f64::from(params.passes) * copies;
    let stream = STREAM_BYTE_NS * (row + 4.0 * params.degree as f64) * (copies - 1.0);
    rows * (insert + stream) * 1e-9 + copy_cpu_seconds(sizes, training_rows)
}

/// CPU seconds of all but the graph, roughly.
pub(crate) fn copy_cpu_seconds(sizes: &Sizes, training_rows: u64) -> f64 {
    let (rows, dim) = (sizes.rows.rows as f64, sizes.rows.dim as f64);
    let record = dim * sizes.rows.element.size() as f64 + 4.0 * sizes.params.degree as f64;
    let encode = if sizes.pq_bytes > 0 { dim * ENCODE_DIMENSION_NS } else { 0.0 };
    let vector = encode + 2.0 * STREAM_BYTE_NS * record;
    (rows * vector + training_rows as f64 * dim * TRAIN_DIMENSION_NS) * 1e-9
}

/// Seconds of a shuffle, roughly: it runs on one thread.
pub(crate) fn shuffle_seconds(plan: &ShufflePlan, degree: usize) -> f64 {
    let finding = if plan.parts > 1 { plan.cut } else { 0 };
    plan.nodes as f64 * (degree + finding) as f64 * SHUFFLE_EDGE_NS * 1e-9
}
