//! Seeded data, as the tests of the graph have it, and the brute force that answers are held against.

#![allow(dead_code, reason = "each test file uses its part")]

#[path = "../../../graph/tests/support/mod.rs"]
mod graph;

use gleann_vector::{Distance, Element};

pub use graph::clustered;

/// Ordering distance of the `k`-th nearest of the rows that `counts` says count; infinity where there are fewer.
pub fn kth_distance<T: Element>(
    distance: &Distance<T>,
    rows: &[T],
    query: &[T],
    k: usize,
    counts: impl Fn(u32) -> bool,
) -> f32 {
    let rows = (0u32..).zip(rows.chunks(query.len())).filter(|&(id, _)| counts(id));
    let mut all: Vec<f32> = rows.map(|(_, row)| distance.between(query, row)).collect();
    all.sort_by(f32::total_cmp);
    all.get(k - 1).copied().unwrap_or(f32::INFINITY)
}
