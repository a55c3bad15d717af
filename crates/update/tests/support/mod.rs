//! Seeded data of low intrinsic dimension, and the brute force that answers are held against.

#![allow(dead_code, reason = "each test file uses its part")]

use gleann_vector::{Distance, Element, ElementType};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// `rows` vectors of `dim` elements around 20 centres on a 6-dimensional subspace, the same for the same seed.
pub fn clustered<T: Element>(rows: usize, dim: usize, seed: u64) -> Vec<T> {
    let mut rng = Pcg64::seed_from_u64(7);
    let mut uniform = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.random_range(-1.0f32..1.0)).collect() };
    let (basis, centres) = (uniform(6 * dim), uniform(20 * 6));
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut all = Vec::with_capacity(rows * dim);
    for _ in 0..rows {
        let centre = rng.random_range(0..20usize) * 6;
        let point: Vec<f32> = (0..6).map(|i| centres[centre + i] + rng.random_range(-0.5f32..0.5)).collect();
        for d in 0..dim {
            let value: f32 = (0..6).map(|i| point[i] * basis[i * dim + d]).sum();
            let (scale, shift) = match T::TYPE {
                ElementType::F32 | ElementType::F16 => (1.0, 0.0),
                ElementType::U8 => (16.0, 128.0),
                ElementType::I8 => (16.0, 0.0),
            };
            all.push(T::from_f32(value * scale + shift).expect("the scale keeps values in range"));
        }
    }
    all
}

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
