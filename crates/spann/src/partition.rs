//! Hierarchical balanced k-means (SPANN §3.2.1): a set of rows is divided, its parts are divided in turn, until no
//! part is longer than asked for. No part of a division takes much more than its share, so the depth stays
//! logarithmic and the leaves are alike.

use gleann_graph::partition_row;
use gleann_quant::{KMeansParams, kmeans, nearest_two_rows};
use gleann_vector::{Cancelled, Element, Matrix, Metric, Progress};
use rayon::prelude::*;

/// Most parts of one division.
const FAN_OUT: usize = 32;
/// Rows that k-means sees, for each part.
const SAMPLE: usize = 128;
/// Rounds of Lloyd.
const ROUNDS: usize = 8;
/// How many times its share a part may take.
const UNEVEN: usize = 2;
/// Rows that are measured at a time.
const PIECE: usize = 2048;

/// Bytes that one division holds beside the ids, at most.
pub(crate) fn scratch_bytes(dim: usize) -> u64 {
    // The sample, its copy in blocks, and a piece.
    ((2 * FAN_OUT * SAMPLE + PIECE) * dim * 4) as u64
}

/// The rows that are divided, as k-means sees them.
pub(crate) struct Divider<'a, T: Element> {
    pub vectors: &'a Matrix<T>,
    pub metric: Metric,
    /// The longest leaf.
    pub leaf: usize,
    pub progress: &'a dyn Progress,
}

impl<T: Element> Divider<'_, T> {
    /// Divides the rows `ids` into leaves of at most [`Divider::leaf`] rows, near leaves near each other in the
    /// order. Progress counts rows.
    ///
    /// # Errors
    /// `progress` asked to stop.
    pub(crate) fn leaves(&self, ids: Vec<u32>, seed: u64) -> Result<Vec<Vec<u32>>, Cancelled> {
        if self.progress.cancelled() {
            return Err(Cancelled);
        }
        if ids.len() <= self.leaf {
            self.progress.advance(ids.len() as u64);
            return Ok(if ids.is_empty() { vec![] } else { vec![ids] });
        }
        let parts = self.divide(ids, seed);
        let leaves: Vec<_> = parts
            .into_par_iter()
            .enumerate()
            .map(|(number, part)| {
                self.leaves(part, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number as u64 + 1))
            })
            .collect::<Result<_, _>>()?;
        Ok(leaves.concat())
    }

    /// The member of `ids` nearest to their mean, the lowest of equally near ones.
    ///
    /// # Panics
    /// If there are none.
    pub(crate) fn medoid(&self, ids: &[u32]) -> u32 {
        let (dim, rows) = (self.vectors.dim(), self.rows(ids));
        let mut sums = vec![0.0f64; dim];
        for row in rows.chunks_exact(dim) {
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let mean: Vec<f32> = sums.iter().map(|sum| (sum / ids.len() as f64) as f32).collect();
        let nearest = rows
            .chunks_exact(dim)
            .zip(ids)
            .map(|(row, &id)| (square(row, &mean), id))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        nearest.expect("a cluster has members").1
    }

    /// The rows `ids` as k-means sees them, row-major.
    fn rows(&self, ids: &[u32]) -> Vec<f32> {
        let dim = self.vectors.dim();
        let mut rows = vec![0.0; ids.len() * dim];
        for (into, &id) in rows.chunks_exact_mut(dim).zip(ids) {
            partition_row(self.metric, self.vectors.row(id as usize), into);
        }
        rows
    }

    /// Two or more parts, each shorter than `ids`.
    fn divide(&self, ids: Vec<u32>, seed: u64) -> Vec<Vec<u32>> {
        let parts = ids.len().div_ceil(self.leaf).clamp(2, FAN_OUT);
        let sampled = ids.len().min(parts * SAMPLE);
        let sample: Vec<u32> = (0..sampled).map(|at| ids[at * ids.len() / sampled]).collect();
        let params = KMeansParams { clusters: parts, rounds: ROUNDS, seed };
        let centroids = kmeans(&self.rows(&sample), self.vectors.dim(), params);
        if centroids.rows() < 2 {
            // All alike: any division is as good as another.
            return ids.chunks(ids.len().div_ceil(parts)).map(<[u32]>::to_vec).collect();
        }
        let homes = self.nearest(&ids, &centroids);
        let share = ids.len().div_ceil(centroids.rows());
        let most = (UNEVEN * share).min(ids.len() - 1);
        let mut parts = vec![Vec::new(); centroids.rows()];
        for (&id, home) in ids.iter().zip(&homes) {
            parts[home[0] as usize].push((id, home[1]));
        }
        self.even_out(parts, &centroids, most)
    }

    /// The two nearest centroids of each of the rows `ids`.
    fn nearest(&self, ids: &[u32], centroids: &Matrix<f32>) -> Vec<[u32; 2]> {
        let mut homes = vec![[0; 2]; ids.len()];
        homes
            .par_chunks_mut(PIECE)
            .zip(ids.par_chunks(PIECE))
            .for_each(|(homes, ids)| nearest_two_rows(centroids, &self.rows(ids), homes));
        homes
    }

    /// Parts of (row, second nearest centroid) become parts of at most `most` rows, `parts.len() · most` being enough:
    /// the rows farthest from the centroid of a part that is too long go to their second nearest, or where there is
    /// most room.
    fn even_out(
        &self,
        mut parts: Vec<Vec<(u32, u32)>>,
        centroids: &Matrix<f32>,
        most: usize,
    ) -> Vec<Vec<u32>> {
        let mut displaced = Vec::new();
        for (part, home) in parts.iter_mut().enumerate().filter(|(_, rows)| rows.len() > most) {
            let ids: Vec<u32> = home.iter().map(|&(id, _)| id).collect();
            let rows = self.rows(&ids);
            let centroid = centroids.row(part);
            let mut order: Vec<(f32, (u32, u32))> = rows
                .chunks_exact(centroid.len())
                .zip(home.iter())
                .map(|(row, &member)| (square(row, centroid), member))
                .collect();
            order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            home.clear();
            home.extend(order[..most].iter().map(|&(_, member)| member));
            displaced.extend(order[most..].iter().map(|&(_, member)| member));
        }
        for (id, second) in displaced {
            let room = if parts[second as usize].len() < most {
                second as usize
            } else {
                (0..parts.len()).min_by_key(|&part| parts[part].len()).unwrap_or(0)
            };
            parts[room].push((id, second));
        }
        let parts = parts.into_iter().filter(|rows| !rows.is_empty());
        parts.map(|rows| rows.into_iter().map(|(id, _)| id).collect()).collect()
    }
}

fn square(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::Silent;

    fn leaves(vectors: &Matrix<f32>, leaf: usize) -> Vec<Vec<u32>> {
        let divider = Divider { vectors, metric: Metric::L2, leaf, progress: &Silent };
        let leaves = divider.leaves((0..vectors.rows() as u32).collect(), 7).unwrap();
        let mut all = leaves.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..vectors.rows() as u32), "every row is in one leaf");
        assert!(leaves.iter().all(|rows| (1..=leaf).contains(&rows.len())));
        leaves
    }

    #[test]
    fn leaves_hold_everything_once_and_none_is_too_long() {
        let spread: Vec<f32> = (0..3000).map(|i| ((i * 7919) % 4001) as f32).collect();
        for leaf in [1, 5, 64, 999, 1000] {
            leaves(&Matrix::from_rows(&spread, 3), leaf);
        }
        assert!(leaves(&Matrix::zeroed(0, 3), 4).is_empty());
    }

    #[test]
    fn rows_that_are_all_alike_or_nearly_so_are_divided_too() {
        leaves(&Matrix::zeroed(1000, 2), 7);
        let mut outlier = Matrix::zeroed(500, 1);
        outlier.row_mut(123)[0] = 1e9;
        leaves(&outlier, 3);
    }

    #[test]
    fn clusters_that_are_there_are_found() {
        let rows: Vec<f32> = (0..40).map(|i| (i % 4) as f32 * 1000.0 + i as f32 / 10.0).collect();
        let vectors = Matrix::from_rows(&rows, 1);
        for leaf in leaves(&vectors, 10) {
            assert!(leaf.iter().all(|id| id % 4 == leaf[0] % 4), "{leaf:?}");
        }
        let divider = Divider { vectors: &vectors, metric: Metric::L2, leaf: 10, progress: &Silent };
        assert_eq!(divider.medoid(&[0, 4, 8, 20, 36]), 8);
    }
}
