//! `_pq_pivots.bin`: the codebook, and `_pq_compressed.bin`: the codes.
//!
//! The first array holds the offsets of the others: 256 × D centroids less the mean, the mean, in older files a
//! permutation of the dimensions, the first dimension of each chunk, and the end.

use super::super::ImportError;
use super::array::{ArrayFile, Shape};
use gleann_quant::{Codebook, CodebookParts};
use gleann_vector::Metric;
use std::path::Path;

/// What a codebook file holds, checked, as it lies there.
#[derive(Debug)]
pub(crate) struct Pivots {
    pub dim: usize,
    pub centroids: usize,
    /// Centroid after centroid, all dimensions, less the mean.
    pub rows: Vec<f32>,
    pub mean: Vec<f32>,
    /// First dimension of each chunk, then the dimension.
    pub bounds: Vec<usize>,
    /// Whether chunks are stretches of consecutive dimensions.
    pub consecutive: bool,
}

impl Pivots {
    /// # Errors
    /// The file cannot be read, or its arrays do not go together.
    pub(crate) fn read(path: &Path) -> Result<Self, ImportError> {
        let file = ArrayFile::open(path)?;
        let offsets = file.shape(0, 8)?;
        if offsets.columns != 1 || !matches!(offsets.rows, 4 | 5) {
            let found = format!("{} × {}", offsets.rows, offsets.columns);
            return Err(ImportError::field(path, "the array of offsets", found, "4 × 1 or 5 × 1"));
        }
        let at: Vec<u64> = file.values(offsets)?;
        let old = offsets.rows == 5;
        let table = file.shape(at[0], 4)?;
        let (centroids, dim) = (table.rows as usize, table.columns as usize);
        if !(1..=256).contains(&centroids) || dim == 0 {
            let found = format!("{centroids} × {dim}");
            return Err(ImportError::field(
                path,
                "the array of centroids",
                found,
                "1 to 256 × the dimension",
            ));
        }
        let mean = column(&file, at[1], "the mean", Some(dim))?;
        let permutation = old.then(|| column(&file, at[2], "the permutation", Some(dim))).transpose()?;
        let bounds = column(&file, at[if old { 3 } else { 2 }], "the chunk bounds", None)?;
        let bounds: Vec<u32> = file.values(bounds)?;
        let rising = bounds.first() == Some(&0) && bounds.is_sorted() && bounds.last() == Some(&(dim as u32));
        if !rising || bounds.len() < 2 {
            let expected = format!("rising from 0 to {dim}");
            return Err(ImportError::field(path, "the chunk bounds", format!("{bounds:?}"), expected));
        }
        let permutation: Vec<u32> = permutation.map_or(Ok(Vec::new()), |shape| file.values(shape))?;
        Ok(Self {
            dim,
            centroids,
            rows: file.values(table)?,
            mean: file.values(mean)?,
            bounds: bounds.into_iter().map(|bound| bound as usize).collect(),
            consecutive: permutation.iter().zip(0u32..).all(|(&there, here)| there == here),
        })
    }

    /// Bytes of a code.
    pub(crate) fn chunks(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The codebook of the vectors as they are stored, as one of ours; or why it cannot be one.
    pub(crate) fn codebook(&self, metric: Metric) -> Result<Codebook, String> {
        self.part(metric, self.dim, 1.0)
    }

    /// The codebook of vectors multiplied by `scale` and without their last component, for inner products.
    pub(crate) fn without_last(&self, scale: f32) -> Result<Codebook, String> {
        self.part(Metric::InnerProduct, self.dim - 1, scale)
    }

    fn part(&self, metric: Metric, dim: usize, scale: f32) -> Result<Codebook, String> {
        if !self.consecutive {
            return Err("its chunks are not stretches of consecutive dimensions".into());
        }
        let mut bounds: Vec<usize> = self.bounds.iter().copied().filter(|&bound| bound < dim).collect();
        bounds.push(dim);
        let mut centroids = Vec::with_capacity(self.rows.len());
        for bounds in bounds.windows(2) {
            for row in self.rows.chunks_exact(self.dim) {
                centroids.extend(row[bounds[0]..bounds[1]].iter().map(|value| value * scale));
            }
        }
        Codebook::from_parts(CodebookParts {
            metric,
            counts: vec![self.centroids; bounds.len() - 1],
            bounds,
            mean: self.mean[..dim].iter().map(|value| value * scale).collect(),
            centroids,
        })
        .map_err(|error| error.to_string())
    }
}

fn column(
    file: &ArrayFile,
    offset: u64,
    field: &'static str,
    rows: Option<usize>,
) -> Result<Shape, ImportError> {
    let shape = file.shape(offset, 4)?;
    let expected = rows.unwrap_or(shape.rows as usize);
    if shape.columns == 1 && shape.rows as usize == expected {
        return Ok(shape);
    }
    let found = format!("{} × {}", shape.rows, shape.columns);
    Err(ImportError::field(&file.path, field, found, format!("{expected} × 1")))
}

/// The codes of all nodes, in the order of ids.
#[derive(Debug)]
pub(crate) struct CodeFile {
    file: ArrayFile,
    chunks: usize,
}

impl CodeFile {
    /// # Errors
    /// It cannot be read, or holds not `chunks` bytes for each of `nodes` nodes.
    pub(crate) fn open(path: &Path, nodes: u32, chunks: usize) -> Result<Self, ImportError> {
        let file = ArrayFile::open(path)?;
        let shape = file.shape(0, 1)?;
        if shape.rows != nodes || shape.columns as usize != chunks {
            let found = format!("{} × {}", shape.rows, shape.columns);
            let expected = format!("{nodes} × {chunks}, a code for each node of the disk index");
            return Err(ImportError::field(path, "the array of codes", found, expected));
        }
        file.expect_end(shape, 1)?;
        Ok(Self { file, chunks })
    }

    /// The code of a node.
    pub(crate) fn read(&self, node: u32, into: &mut [u8]) -> Result<(), ImportError> {
        assert_eq!(into.len(), self.chunks, "bytes of a code");
        self.file.read(8 + u64::from(node) * self.chunks as u64, into)
    }
}
