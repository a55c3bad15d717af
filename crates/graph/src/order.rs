//! The order in which vectors enter the graph.

use crate::BuildDistance;
use gleann_vector::{Element, Matrix};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use rayon::prelude::*;

/// A random order of all ids, the entry first.
pub(crate) fn insertion_order(nodes: usize, entry: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    order.swap(0, entry as usize);
    order[1..].shuffle(&mut Pcg64::seed_from_u64(seed));
    order
}

/// Rows that stand for the regions of space. Searches of one region walk through the same nodes: run one after
/// the other, they find them in the cache.
#[derive(Debug)]
pub(crate) struct Regions {
    pivots: Vec<u32>,
}

const REGIONS: usize = 256;

impl Regions {
    /// Takes the first of a random order as pivots.
    pub(crate) fn new(order: &[u32]) -> Self {
        Self { pivots: order[..order.len().min(REGIONS)].to_vec() }
    }

    /// Sorts a batch by region; what the batch does to the graph does not depend on its order.
    pub(crate) fn sort<T: Element>(
        &self,
        vectors: &Matrix<T>,
        distance: &BuildDistance<T>,
        batch: &mut [u32],
    ) {
        let mut keyed: Vec<(u32, u32)> = batch
            .par_iter()
            .with_min_len(64)
            .map_init(
                || [0.0f32; REGIONS],
                |distances, &id| (self.region(vectors, distance, id, distances), id),
            )
            .collect();
        keyed.par_sort_unstable();
        for (slot, (_, id)) in batch.iter_mut().zip(keyed) {
            *slot = id;
        }
    }

    fn region<T: Element>(
        &self,
        vectors: &Matrix<T>,
        distance: &BuildDistance<T>,
        id: u32,
        distances: &mut [f32; REGIONS],
    ) -> u32 {
        let distances = &mut distances[..self.pivots.len()];
        distance.to_rows(vectors, id, &self.pivots, distances);
        let nearest = distances.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        nearest.map_or(0, |(region, _)| region as u32)
    }
}
