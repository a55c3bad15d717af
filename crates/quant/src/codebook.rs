//! The codebook of a product quantiser: how the dimensions are split into chunks, and the centroids of each chunk.

use crate::QuantError;
use crate::kernels::{TABLE_WIDTH, TableRow};
use crate::simd::{LANES, Lane};
use gleann_vector::{MAX_DIM, Metric, check_finite};
use std::ops::Range;
use std::sync::OnceLock;

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
    /// Chunk after chunk, its centroids with the mean, row-major: what [`Codebook::decode`] copies from. Made when it is
    /// first asked, for a search decodes nothing. Planes would give a row from as many pages as it has components.
    centroids: OnceLock<Vec<f32>>,
    /// Dimensions of every chunk, or 0 where chunks differ.
    even_width: usize,
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
        let width = bounds[1];
        let even_width = if bounds.windows(2).all(|b| b[1] - b[0] == width) { width } else { 0 };
        Ok(Self { metric, bounds, counts, mean, planes, centroids: OnceLock::new(), even_width })
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
            + self.centroids.get().map_or(0, |rows| size_of_val(&rows[..]))
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
        let centroids = self.centroids.get_or_init(|| self.decoded_centroids());
        // Most codebooks are split evenly into chunks of few dimensions: copies of known size are moves of registers.
        match self.even_width {
            1 => copy_chunks::<1>(centroids, code, row),
            2 => copy_chunks::<2>(centroids, code, row),
            3 => copy_chunks::<3>(centroids, code, row),
            4 => copy_chunks::<4>(centroids, code, row),
            6 => copy_chunks::<6>(centroids, code, row),
            8 => copy_chunks::<8>(centroids, code, row),
            _ => {
                for (chunk, &id) in code.iter().enumerate() {
                    let Range { start, end } = self.chunk(chunk);
                    let from = MAX_CENTROIDS * start + (end - start) * id as usize;
                    row[start..end].iter_mut().zip(&centroids[from..]).for_each(|(into, &x)| *into = x);
                }
            }
        }
    }

    /// 256 places for centroids a chunk, used or not, so that where a chunk begins follows from its first dimension.
    fn decoded_centroids(&self) -> Vec<f32> {
        let mut rows = Vec::with_capacity(MAX_CENTROIDS * self.dim());
        for chunk in 0..self.chunks() {
            for id in 0..MAX_CENTROIDS {
                rows.extend(self.chunk(chunk).map(|d| self.component(d, id) + self.mean[d]));
            }
        }
        rows
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

/// Puts the centroids that `code` names side by side, from chunks of `W` dimensions each.
fn copy_chunks<const W: usize>(centroids: &[f32], code: &[u8], row: &mut [f32]) {
    let (rows, _) = row.as_chunks_mut::<W>();
    let (places, _) = centroids.as_chunks::<W>();
    for ((row, &id), chunk) in rows.iter_mut().zip(code).zip(places.chunks_exact(MAX_CENTROIDS)) {
        *row = chunk[id as usize];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_every_split() {
        let splits: [&[usize]; 9] = [
            &[0, 1],
            &[0, 2, 4],
            &[0, 3, 6],
            &[0, 4, 8],
            &[0, 6, 12],
            &[0, 8, 16],
            &[0, 5, 10],
            &[0, 1, 8, 10, 16],
            &[0, 2, 3, 4, 9],
        ];
        for bounds in splits {
            let dim = bounds[bounds.len() - 1];
            let counts: Vec<usize> = (1..bounds.len()).map(|chunk| chunk * 60).collect();
            let values: usize = counts.iter().zip(bounds.windows(2)).map(|(n, b)| n * (b[1] - b[0])).sum();
            let codebook = Codebook::from_parts(CodebookParts {
                metric: Metric::L2,
                bounds: bounds.to_vec(),
                counts: counts.clone(),
                mean: (0..dim).map(|d| d as f32 * 1e4).collect(),
                centroids: (0..values).map(|value| value as f32).collect(),
            })
            .unwrap();
            let before = codebook.memory_bytes();
            let code: Vec<u8> = counts.iter().map(|&count| count as u8 - 7).collect();
            let (mut row, mut first) = (vec![f32::NAN; dim], 0);
            codebook.decode(&code, &mut row);
            for (chunk, &id) in code.iter().enumerate() {
                let width = codebook.chunk(chunk).len();
                for (at, d) in codebook.chunk(chunk).enumerate() {
                    let centroid = (first + id as usize * width + at) as f32;
                    assert_eq!(row[d], centroid + d as f32 * 1e4, "{bounds:?}, dimension {d}");
                }
                first += counts[chunk] * width;
            }
            assert_eq!(codebook.memory_bytes(), before + 1024 * dim);
        }
    }
}
