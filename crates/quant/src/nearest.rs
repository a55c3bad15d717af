//! Which centroids a row is nearest to.

use crate::kernels::{CentroidSet, nearest_two_in_blocks};
use crate::rows::transpose;
use crate::simd::{LANES, Lane};
use gleann_vector::{Element, Matrix, cpu_path};
use rayon::prelude::*;

/// Rows a task takes.
const ROWS: usize = 512;

/// The centroid nearest to `row` by squared L2 distance, the lowest of equally near ones. For many rows
/// [`nearest_two_rows`] is an order of magnitude cheaper a row.
///
/// # Panics
/// If there is no centroid, or `row` has another dimension.
pub fn nearest<T: Element>(centroids: &Matrix<f32>, row: &[T]) -> u32 {
    nearest_two(centroids, row)[0]
}

/// The nearest and the second nearest centroid of `row`; of equally near ones the lower comes first. Both are the same
/// where there is only one.
///
/// # Panics
/// If there is no centroid, or `row` has another dimension.
pub fn nearest_two<T: Element>(centroids: &Matrix<f32>, row: &[T]) -> [u32; 2] {
    let mut found = [[0; 2]];
    nearest_two_rows(centroids, row, &mut found);
    found[0]
}

/// [`nearest_two`] for every one of the row-major `rows`, on the caller's rayon pool, with the same results.
///
/// # Panics
/// If there is no centroid, or `rows` is not `out.len()` rows of their dimension.
pub fn nearest_two_rows<T: Element>(centroids: &Matrix<f32>, rows: &[T], out: &mut [[u32; 2]]) {
    let dim = centroids.dim();
    assert!(centroids.rows() > 0, "no centroids");
    assert_eq!(rows.len(), out.len() * dim, "rows and results do not match");
    let mean = mean(centroids);
    let mut centred = centroids.as_slice().to_vec();
    for centroid in centred.chunks_exact_mut(dim) {
        centroid.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
    }
    let set = CentroidSet::new(centred, dim);
    rows.par_chunks(ROWS * dim).zip(out.par_chunks_mut(ROWS)).for_each_init(
        || vec![Lane::ZERO; dim],
        |block, (rows, out)| {
            for (rows, out) in rows.chunks(LANES * dim).zip(out.chunks_mut(LANES)) {
                two_of_block(&set, &mean, (rows, block), out);
            }
        },
    );
}

/// The two nearest of at most sixteen rows, by way of `block`.
fn two_of_block<T: Element>(
    set: &CentroidSet,
    mean: &[f32],
    (rows, block): (&[T], &mut [Lane]),
    out: &mut [[u32; 2]],
) {
    transpose(rows, set.dim(), block);
    for (lane, mean) in block.iter_mut().zip(mean) {
        lane.0.iter_mut().for_each(|value| *value -= mean);
    }
    let mut found = [[[0; LANES]; 2]];
    nearest_two_in_blocks(cpu_path(), block, set, &mut found);
    for (lane, out) in out.iter_mut().enumerate() {
        *out = [found[0][0][lane], found[0][1][lane]];
    }
}

/// The mean of the centroids: what rows and centroids are measured from, so that a common offset costs no digits.
fn mean(centroids: &Matrix<f32>) -> Vec<f32> {
    let mut sums = vec![0.0f64; centroids.dim()];
    for row in centroids.as_slice().chunks_exact(centroids.dim()) {
        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    sums.iter().map(|sum| (sum / centroids.rows() as f64) as f32).collect()
}
