//! Lloyd's k-means: the same centroids whatever the number of threads. Work is split by the shape of the input alone,
//! and partial sums are added in the order of the splits.

use crate::kernels::{CentroidSet, nearest_in_blocks};
use crate::rows::{RowBlocks, tame};
use crate::seeding::plus_plus;
use crate::simd::LANES;
use gleann_vector::{Matrix, cpu_path};
use rayon::prelude::*;

/// Blocks whose rows are summed together, at least.
const SPLIT: usize = 256;

/// Bytes that the partial sums of all splits may take together.
const PARTIAL_BYTES: usize = 64 << 20;

/// How to cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KMeansParams {
    /// Clusters wanted, at least 1.
    pub clusters: usize,
    /// Lloyd rounds at most; fewer are made where nothing changes any more.
    pub rounds: usize,
    /// Seed of the start.
    pub seed: u64,
}

/// Clusters the row-major `rows` of `dim` components by squared L2 distance and returns the centroids: as many as
/// asked for, or one for each distinct row where there are fewer of them (none for no rows).
///
/// Deterministic in its arguments; runs on the caller's rayon pool. Components are expected to be finite; they are
/// clamped to ±1e16 so that no distance overflows. Takes about as much memory again as `rows`.
///
/// # Panics
/// If `rows` is not a whole number of rows or `params.clusters` is 0.
pub fn kmeans(rows: &[f32], dim: usize, params: KMeansParams) -> Matrix<f32> {
    assert!(dim > 0 && rows.len().is_multiple_of(dim), "not a whole number of rows");
    assert!(params.clusters > 0, "no clusters asked for");
    let mean = mean(rows, dim);
    // Centred, because ½‖c‖² − x·c loses the digits that a large common offset takes.
    let blocks = RowBlocks::from_fn(rows.len() / dim, dim, |row, d| tame(rows[row * dim + d]) - mean[d]);
    let centred = cluster(&blocks, params);
    let mut centroids = Matrix::from_rows(centred.rows(), dim);
    for centroid in centroids.as_mut_slice().chunks_exact_mut(dim) {
        centroid.iter_mut().zip(&mean).for_each(|(value, mean)| *value += mean);
    }
    centroids
}

/// Component-wise mean of row-major `rows` after clamping; zeros for no rows.
fn mean(rows: &[f32], dim: usize) -> Vec<f32> {
    let mut sums = vec![0.0f64; dim];
    for row in rows.chunks_exact(dim) {
        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(tame(value)));
    }
    let count = (rows.len() / dim).max(1) as f64;
    sums.iter().map(|sum| (sum / count) as f32).collect()
}

/// [`kmeans`] over blocks.
pub(crate) fn cluster(rows: &RowBlocks, params: KMeansParams) -> CentroidSet {
    let mut set = CentroidSet::new(plus_plus(rows, params.clusters, params.seed), rows.dim());
    let mut ids = vec![[u32::MAX; LANES]; rows.blocks()];
    for _ in 0..params.rounds {
        let sums = assign(rows, &set, &mut ids);
        if sums.moved == 0 {
            break;
        }
        set = sums.centroids(rows, &set, &ids);
    }
    set
}

/// Sums over the rows of each cluster.
struct Sums {
    components: Vec<f64>,
    counts: Vec<u64>,
    moved: u64,
}

/// Moves every row to its nearest centroid and sums the clusters up.
fn assign(rows: &RowBlocks, set: &CentroidSet, ids: &mut [[u32; LANES]]) -> Sums {
    let (dim, values) = (rows.dim(), set.count() * rows.dim());
    let splits = (rows.blocks() / SPLIT).clamp(1, (PARTIAL_BYTES / (8 * values).max(1)).max(1));
    let split = rows.blocks().div_ceil(splits).max(1);
    let partials: Vec<Sums> = ids
        .par_chunks_mut(split)
        .enumerate()
        .map(|(index, ids)| assign_split(rows, set, index * split, ids))
        .collect();
    let empty = Sums { components: vec![0.0; set.count() * dim], counts: vec![0; set.count()], moved: 0 };
    partials.into_iter().fold(empty, |mut all, part| {
        all.components.iter_mut().zip(&part.components).for_each(|(sum, value)| *sum += value);
        all.counts.iter_mut().zip(&part.counts).for_each(|(sum, count)| *sum += count);
        all.moved += part.moved;
        all
    })
}

/// [`assign`] for the blocks from `first` on.
fn assign_split(rows: &RowBlocks, set: &CentroidSet, first: usize, ids: &mut [[u32; LANES]]) -> Sums {
    let dim = rows.dim();
    let lanes = &rows.lanes()[first * dim..(first + ids.len()) * dim];
    let mut found = vec![[0u32; LANES]; ids.len()];
    nearest_in_blocks(cpu_path(), lanes, set, &mut found);
    let mut sums = Sums { components: vec![0.0; set.count() * dim], counts: vec![0; set.count()], moved: 0 };
    for (index, (block, found)) in lanes.chunks_exact(dim).zip(&found).enumerate() {
        let filled = LANES.min(rows.rows() - (first + index) * LANES);
        for (lane, &id) in found.iter().enumerate().take(filled) {
            let id = id as usize;
            sums.counts[id] += 1;
            let into = &mut sums.components[id * dim..][..dim];
            into.iter_mut().zip(block).for_each(|(sum, x)| *sum += f64::from(x.0[lane]));
        }
        sums.moved +=
            ids[index].iter().zip(found).take(filled).filter(|(old, new)| old != new).count() as u64;
        ids[index] = *found;
    }
    sums
}

impl Sums {
    /// The means of the clusters; an empty cluster takes the row that is farthest from its centroid.
    fn centroids(&self, rows: &RowBlocks, set: &CentroidSet, ids: &[[u32; LANES]]) -> CentroidSet {
        let dim = rows.dim();
        let mut means = set.rows().to_vec();
        for ((mean, sums), &count) in
            means.chunks_exact_mut(dim).zip(self.components.chunks_exact(dim)).zip(&self.counts)
        {
            if count > 0 {
                mean.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = (sum / count as f64) as f32);
            }
        }
        let empty: Vec<usize> = (0..self.counts.len()).filter(|&id| self.counts[id] == 0).collect();
        if !empty.is_empty() {
            for (id, row) in empty.into_iter().zip(farthest(rows, &means, ids)) {
                means[id * dim..][..dim]
                    .iter_mut()
                    .zip(rows.row(row))
                    .for_each(|(mean, value)| *mean = value);
            }
        }
        CentroidSet::new(means, dim)
    }
}

/// Rows by falling squared distance to the mean of their cluster, the lower of equally far ones first, without those
/// that lie on it.
fn farthest(rows: &RowBlocks, means: &[f32], ids: &[[u32; LANES]]) -> impl Iterator<Item = usize> + use<> {
    let dim = rows.dim();
    let distance = |row: usize| -> f32 {
        let mean = &means[ids[row / LANES][row % LANES] as usize * dim..][..dim];
        rows.row(row).zip(mean).map(|(x, c)| (x - c) * (x - c)).sum()
    };
    let mut order: Vec<(f32, usize)> =
        (0..rows.rows()).map(|row| (distance(row), row)).filter(|&(far, _)| far > 0.0).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, row)| row)
}
