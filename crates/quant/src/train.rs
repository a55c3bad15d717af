//! Training a codebook.

use crate::codebook::{CodebookParts, MAX_CENTROIDS};
use crate::kmeans::cluster;
use crate::rows::{LIMIT, RowBlocks, row_scale};
use crate::{Codebook, KMeansParams, QuantError};
use gleann_vector::{
    Cancelled, Element, MAX_DIM, Matrix, Metric, Progress, RowSource, SourceError, check_finite,
};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

/// Rows that training is given by default: 256 for each of 256 centroids. On SIFT in 32 bytes, four times as many lower
/// the quantisation error by 1.5 %, which recall does not show, and cost four to five times the time and memory.
pub const TRAINING_ROWS: usize = 65_536;

/// How to train a codebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PqParams {
    /// Chunks of a vector: bytes of a code. 1 to the dimension.
    pub chunks: usize,
    /// Lloyd rounds of each chunk at most.
    pub rounds: usize,
    /// Seed of the k-means starts.
    pub seed: u64,
    /// The metric of the index.
    pub metric: Metric,
}

impl PqParams {
    /// Defaults: 12 rounds, seed 0.
    pub fn new(metric: Metric, chunks: usize) -> Self {
        Self { chunks, rounds: 12, seed: 0, metric }
    }

    /// Whether vectors of `dim` components can be split so; to be asked before any data is read.
    ///
    /// # Errors
    /// [`QuantError::Dim`] unless 1 ≤ `dim` ≤ 8192, [`QuantError::Chunks`] unless 1 ≤ `chunks` ≤ `dim`.
    pub fn check(&self, dim: usize) -> Result<(), QuantError> {
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(QuantError::Dim { dim });
        }
        if !(1..=dim).contains(&self.chunks) {
            return Err(QuantError::Chunks { chunks: self.chunks, dim });
        }
        Ok(())
    }
}

/// At most `rows` rows of `source` as f32 in rising order: the source is cut into as many equal stretches as rows are
/// wanted, and one row is drawn from each.
///
/// # Errors
/// Reading the source failed.
pub fn training_sample<T: Element>(
    source: &dyn RowSource<T>,
    rows: usize,
    seed: u64,
) -> Result<Matrix<f32>, SourceError> {
    let (total, dim) = (source.rows(), source.dim());
    let rows = total.min(rows as u64);
    let mut sample = Matrix::zeroed(rows as usize, dim);
    let mut random = Pcg64::seed_from_u64(seed);
    let mut buffer = vec![T::zeroed(); dim];
    for index in 0..rows {
        let [start, end] =
            [index, index + 1].map(|i| (u128::from(i) * u128::from(total) / u128::from(rows)) as u64);
        source.read_rows(start + random.next_u64() % (end - start), &mut buffer)?;
        let into = sample.row_mut(index as usize);
        into.iter_mut().zip(&buffer).for_each(|(into, value)| *into = value.to_f32());
    }
    Ok(sample)
}

impl Codebook {
    /// Trains on the rows of `sample` (as they are in the data: normalising for cosine and subtracting the mean happen
    /// here). A chunk gets 256 centroids, or as many as it has distinct values in the sample; one where there is no row.
    /// `progress` counts chunks. Takes about `threads / chunks` of the sample's memory besides it.
    ///
    /// # Errors
    /// Parameters that [`PqParams::check`] refuses, a sample with components that are not finite or above 1e16, and
    /// [`QuantError::Cancelled`].
    pub fn train(
        sample: &Matrix<f32>,
        params: PqParams,
        progress: &dyn Progress,
    ) -> Result<Self, QuantError> {
        params.check(sample.dim())?;
        check_sample(sample)?;
        let prepared = Prepared::new(sample, params.metric);
        let bounds = even_bounds(sample.dim(), params.chunks);
        progress.phase("train codebook", params.chunks as u64);
        let chunks: Vec<Vec<f32>> = bounds
            .par_windows(2)
            .enumerate()
            .map(|(chunk, bounds)| {
                if progress.cancelled() {
                    return Err(Cancelled);
                }
                let seed = params.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(chunk as u64);
                let centroids = prepared.train_chunk(
                    bounds[0],
                    bounds[1],
                    KMeansParams { clusters: MAX_CENTROIDS, rounds: params.rounds, seed },
                );
                progress.advance(1);
                Ok(centroids)
            })
            .collect::<Result<_, _>>()?;
        let counts = chunks.iter().zip(bounds.windows(2)).map(|(c, b)| c.len() / (b[1] - b[0])).collect();
        let centroids = chunks.concat();
        Codebook::from_parts(CodebookParts {
            metric: params.metric,
            bounds,
            counts,
            mean: prepared.mean,
            centroids,
        })
    }
}

/// Bounds of `chunks` chunks of `dim` dimensions; the first `dim mod chunks` are one dimension wider.
fn even_bounds(dim: usize, chunks: usize) -> Vec<usize> {
    (0..=chunks).map(|chunk| chunk * (dim / chunks) + chunk.min(dim % chunks)).collect()
}

fn check_sample(sample: &Matrix<f32>) -> Result<(), QuantError> {
    check_finite(sample.as_slice(), sample.dim(), 0)?;
    match sample.as_slice().iter().position(|value| value.abs() > LIMIT) {
        None => Ok(()),
        Some(at) => Err(QuantError::TooLarge {
            row: at / sample.dim(),
            component: at % sample.dim(),
            value: sample.as_slice()[at],
        }),
    }
}

/// The sample with what turns its rows into what is clustered.
struct Prepared<'a> {
    sample: &'a Matrix<f32>,
    scales: Vec<f32>,
    mean: Vec<f32>,
}

impl<'a> Prepared<'a> {
    fn new(sample: &'a Matrix<f32>, metric: Metric) -> Self {
        let rows = || sample.as_slice().chunks_exact(sample.dim());
        let scales: Vec<f32> = rows().map(|row| row_scale(metric, row)).collect();
        let mut sums = vec![0.0f64; sample.dim()];
        for (row, scale) in rows().zip(&scales) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(value * scale));
        }
        let mean = sums.iter().map(|sum| (sum / scales.len().max(1) as f64) as f32).collect();
        Self { sample, scales, mean }
    }

    /// Centroids of the dimensions `start..end`, row-major.
    fn train_chunk(&self, start: usize, end: usize, params: KMeansParams) -> Vec<f32> {
        let (values, dim) = (self.sample.as_slice(), self.sample.dim());
        let blocks = RowBlocks::from_fn(self.scales.len(), end - start, |row, d| {
            values[row * dim + start + d] * self.scales[row] - self.mean[start + d]
        });
        let set = cluster(&blocks, params);
        if set.count() == 0 { vec![0.0; end - start] } else { set.rows().to_vec() }
    }
}
