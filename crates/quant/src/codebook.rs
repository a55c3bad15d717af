//! The codebook of a product quantiser: how the dimensions are split into chunks, and the centroids of each chunk.

use crate::QuantError;
use crate::kernels::{TABLE_WIDTH, TableRow};
use crate::simd::{LANES, Lane};
use gleann_vector::{MAX_DIM, Metric, check_finite};
use std::ops::Range;

/// Centroids of a chunk at most: a code has one byte a chunk.
pub(crate) const MAX_CENTROIDS: usize = TABLE_WIDTH;

/// A trained product quantiser (Jégou et al., 2011): every chunk of a vector is replaced by the nearest of at most 256
/// centroids, whose number is one byte of the code.
///
/// Centroids are kept less the mean of the training rows, for every metric: a translation changes neither codes nor
/// decoded rows, and rounding is finest around zero. Under cosine, rows are normalised first.
pub struct Codebook {
    metric: Metric,
    bounds: Vec<usize>,
    counts: Vec<usize>,
    mean: Vec<f32>,
    /// Row `d`: component `d` of the (at most 256) centroids of the chunk that holds dimension `d`.
    planes: Vec<TableRow>,
}

/// What a codebook consists of, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct CodebookParts {
    /// The metric that rows are encoded and queries are estimated for.
    pub metric: Metric,
    /// First dimension of each chunk, then the dimension: strictly rising from 0.
    pub bounds: Vec<usize>,
    /// Centroids of each chunk, 1 to 256.
    pub counts: Vec<usize>,
    /// Mean of the training rows, one value a dimension.
    pub mean: Vec<f32>,
    /// Chunk after chunk, its centroids less the mean, row-major.
    pub centroids: Vec<f32>,
}

impl Codebook {
    /// Builds a codebook from its parts.
    ///
    /// # Errors
    /// [`QuantError::Parts`] or [`QuantError::Dim`] where the parts do not fit together or are not finite.
    pub fn from_parts(parts: CodebookParts) -> Result<Self, QuantError> {
        let CodebookParts { metric, bounds, counts, mean, centroids } = parts;
        check_parts(&bounds, &counts, &mean, &centroids)?;
        let mut planes = vec![[Lane::ZERO; TABLE_WIDTH / LANES]; mean.len()];
        let mut rest = &centroids[..];
        for (chunk, &count) in counts.iter().enumerate() {
            let (start, width) = (bounds[chunk], bounds[chunk + 1] - bounds[chunk]);
            let (rows, after) = rest.split_at(count * width);
            for (id, row) in rows.chunks_exact(width).enumerate() {
                for (d, &value) in row.iter().enumerate() {
                    planes[start + d][id / LANES].0[id % LANES] = value;
                }
            }
            rest = after;
        }
        Ok(Self { metric, bounds, counts, mean, planes })
    }

    /// The parts, as [`Codebook::from_parts`] takes them.
    pub fn to_parts(&self) -> CodebookParts {
        CodebookParts {
            metric: self.metric,
            bounds: self.bounds.clone(),
            counts: self.counts.clone(),
            mean: self.mean.clone(),
            centroids: (0..self.chunks()).flat_map(|chunk| self.centroid_rows(chunk)).collect(),
        }
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Dimensions of a vector.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// Chunks of a vector: bytes of a code.
    pub fn chunks(&self) -> usize {
        self.counts.len()
    }

    /// The dimensions of `chunk`.
    pub fn chunk(&self, chunk: usize) -> Range<usize> {
        self.bounds[chunk]..self.bounds[chunk + 1]
    }

    /// Centroids of `chunk`; codes below this are valid.
    pub fn centroids(&self, chunk: usize) -> usize {
        self.counts[chunk]
    }

    /// The mean that centroids are kept less of.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// Bytes this codebook takes in memory.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.planes[..])
            + size_of_val(&self.mean[..])
            + size_of_val(&self.bounds[..])
            + size_of_val(&self.counts[..])
    }

    /// The vector that `code` stands for (normalised and quantised, under cosine).
    ///
    /// # Panics
    /// If `code` has not [`Codebook::chunks`] bytes or `row` not [`Codebook::dim`] components.
    pub fn decode(&self, code: &[u8], row: &mut [f32]) {
        assert!(code.len() == self.chunks() && row.len() == self.dim(), "code or row of another size");
        for (chunk, &id) in code.iter().enumerate() {
            for d in self.chunk(chunk) {
                row[d] = self.component(d, id as usize) + self.mean[d];
            }
        }
    }

    /// The centroids of `chunk`, row-major, less the mean.
    pub(crate) fn centroid_rows(&self, chunk: usize) -> Vec<f32> {
        let ids = 0..self.counts[chunk];
        ids.flat_map(|id| self.chunk(chunk).map(move |d| self.component(d, id))).collect()
    }

    /// The planes of `chunk`: for each of its dimensions, that component of 256 centroids.
    #[inline]
    pub(crate) fn planes(&self, chunk: usize) -> &[TableRow] {
        &self.planes[self.chunk(chunk)]
    }

    fn component(&self, dimension: usize, id: usize) -> f32 {
        self.planes[dimension][id / LANES].0[id % LANES]
    }
}

impl std::fmt::Debug for Codebook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Codebook({}, {} dimensions in {} chunks)", self.metric, self.dim(), self.chunks())
    }
}

fn check_parts(
    bounds: &[usize],
    counts: &[usize],
    mean: &[f32],
    centroids: &[f32],
) -> Result<(), QuantError> {
    let dim = mean.len();
    if !(1..=MAX_DIM).contains(&dim) {
        return Err(QuantError::Dim { dim });
    }
    if counts.is_empty() || counts.len() > dim || bounds.len() != counts.len() + 1 {
        let expected = format!("1 to {dim} chunks with one more bound than chunks");
        return Err(QuantError::parts(
            "chunks",
            format!("{} with {} bounds", counts.len(), bounds.len()),
            expected,
        ));
    }
    if bounds[0] != 0 || bounds[counts.len()] != dim || !bounds.is_sorted_by(|a, b| a < b) {
        return Err(QuantError::parts(
            "chunk bounds",
            format!("{bounds:?}"),
            format!("strictly rising from 0 to {dim}"),
        ));
    }
    if let Some(count) = counts.iter().find(|count| !(1..=MAX_CENTROIDS).contains(*count)) {
        return Err(QuantError::parts("centroids of a chunk", count, format!("1 to {MAX_CENTROIDS}")));
    }
    let values: usize = counts.iter().zip(bounds.windows(2)).map(|(count, b)| count * (b[1] - b[0])).sum();
    if centroids.len() != values {
        return Err(QuantError::parts("centroid components", centroids.len(), values));
    }
    for (field, values) in [("mean", mean), ("centroids", centroids)] {
        if let Err(error) = check_finite(values, 1, 0) {
            return Err(QuantError::parts(
                field,
                format!("{} at {}", error.value, error.row),
                "finite values",
            ));
        }
    }
    Ok(())
}
