//! Where k-means starts: k-means++ (Arthur and Vassilvitskii, 2007). Every next seed is a row drawn with a probability
//! proportional to its squared distance from the seeds so far, so equal rows are never drawn twice.

use crate::kernels::shrink_distances;
use crate::rows::RowBlocks;
use crate::simd::{LANES, Lane};
use gleann_vector::cpu_path;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

/// Blocks whose distances are summed together; fixed, so that sums do not depend on the number of threads.
const SPLIT: usize = 256;

/// Components below which a task is not worth handing to another thread.
const TASK: usize = 1 << 20;

/// At most `clusters` seeds, row-major; fewer where `rows` has fewer distinct ones.
pub(crate) fn plus_plus(rows: &RowBlocks, clusters: usize, seed: u64) -> Vec<f32> {
    let mut seeds = Vec::with_capacity(clusters.min(rows.rows()) * rows.dim());
    if rows.rows() == 0 {
        return seeds;
    }
    let mut random = Pcg64::seed_from_u64(seed);
    let mut drawing = Drawing::new(rows);
    let mut next = Some((unit(&mut random) * rows.rows() as f64) as usize);
    for _ in 0..clusters {
        let Some(row) = next else { break };
        let start = seeds.len();
        seeds.extend(rows.row(row));
        drawing.add(&seeds[start..]);
        next = drawing.draw(unit(&mut random));
    }
    seeds
}

/// Uniform in [0, 1).
fn unit(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// The rows with their squared distances to the nearest seed.
struct Drawing<'a> {
    rows: &'a RowBlocks,
    distances: Vec<Lane>,
    sums: Vec<f64>,
}

impl<'a> Drawing<'a> {
    fn new(rows: &'a RowBlocks) -> Self {
        let mut distances = vec![Lane([f32::INFINITY; LANES]); rows.blocks()];
        let filled = rows.rows() % LANES;
        if let Some(last) = distances.last_mut().filter(|_| filled > 0) {
            // What fills up the last block is no row and must not be drawn.
            last.0[filled..].fill(0.0);
        }
        Self { rows, distances, sums: vec![0.0; rows.blocks().div_ceil(SPLIT)] }
    }

    /// Takes a new seed into account.
    fn add(&mut self, seed: &[f32]) {
        let (dim, path) = (self.rows.dim(), cpu_path());
        let lanes = self.rows.lanes().par_chunks(SPLIT * dim);
        lanes
            .zip(self.distances.par_chunks_mut(SPLIT))
            .zip(&mut self.sums)
            .with_min_len((TASK / (SPLIT * LANES * dim)).max(1))
            .for_each(|((blocks, distances), sum)| *sum = shrink_distances(path, blocks, seed, distances));
    }

    /// The row at `fraction` of all squared distances; `None` where every row equals a seed.
    fn draw(&self, fraction: f64) -> Option<usize> {
        let mut rest = fraction * self.sums.iter().sum::<f64>();
        let mut split = 0;
        while split + 1 < self.sums.len() && rest >= self.sums[split] {
            rest -= self.sums[split];
            split += 1;
        }
        let weights = || self.distances.iter().flat_map(|lane| lane.0).enumerate();
        for (row, weight) in weights().skip(split * SPLIT * LANES).filter(|&(_, weight)| weight > 0.0) {
            rest -= f64::from(weight);
            if rest < 0.0 {
                return Some(row);
            }
        }
        // Rounding carried us past the end, or nothing is left to draw.
        weights().filter(|&(_, weight)| weight > 0.0).last().map(|(row, _)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_distinct_rows_until_none_is_left() {
        for (rows, distinct, clusters) in [(1, 1, 4), (40, 7, 7), (40, 7, 256), (5000, 300, 256), (33, 33, 1)]
        {
            let blocks = RowBlocks::from_fn(rows, 2, |row, d| ((row % distinct) * (d + 1)) as f32);
            let seeds = plus_plus(&blocks, clusters, 9);
            let mut found: Vec<_> = seeds.chunks(2).map(|s| (s[0] as usize, s[1] as usize)).collect();
            assert!(found.iter().all(|&(a, b)| a < distinct && b == 2 * a));
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), distinct.min(clusters), "{rows} rows, {distinct} distinct");
            assert_eq!(seeds.len(), 2 * found.len());
        }
        assert!(plus_plus(&RowBlocks::from_fn(0, 3, |_, _| 0.0), 5, 0).is_empty());
    }
}
