//! A codebook as bytes, little-endian:
//!
//! ```text
//! u32        version, 1
//! u32        metric: 0 L2, 1 inner product, 2 cosine
//! u32        dim D, 1 to 8192
//! u32        chunks M, 1 to D
//! u32 × M+1  bounds, strictly rising from 0 to D
//! u32 × M    centroids of each chunk, 1 to 256
//! f32 × D    mean
//! f32 × …    chunk after chunk: its centroids less the mean, row-major
//! ```
//!
//! There is no checksum: whoever stores the bytes has one over all it stores.

use crate::codebook::CodebookParts;
use crate::{Codebook, QuantError};
use gleann_vector::MAX_DIM;
use gleann_vector::Metric;

const VERSION: u32 = 1;

impl Codebook {
    /// The codebook as bytes, in the layout at the head of this file's source and of the design notes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = self.to_parts();
        let metric = Metric::ALL.iter().position(|&metric| metric == parts.metric).unwrap_or(0);
        let head = [VERSION, metric as u32, self.dim() as u32, self.chunks() as u32];
        let counts = parts.bounds.iter().chain(&parts.counts).map(|&n| n as u32);
        let mut bytes: Vec<u8> = head.into_iter().chain(counts).flat_map(u32::to_le_bytes).collect();
        bytes.extend(parts.mean.iter().chain(&parts.centroids).flat_map(|value| value.to_le_bytes()));
        bytes
    }

    /// Reads what [`Codebook::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`QuantError::Parts`] or [`QuantError::Dim`]: the bytes are cut, too long, of another version, or not a codebook.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, QuantError> {
        let mut reader = Reader { rest: bytes };
        let version = reader.word("version")?;
        if version != VERSION {
            return Err(QuantError::parts("version", version, VERSION));
        }
        let metric = reader.word("metric")?;
        let Some(&metric) = Metric::ALL.get(metric as usize) else {
            return Err(QuantError::parts("metric", metric, "0 (L2), 1 (inner product) or 2 (cosine)"));
        };
        let (dim, chunks) = (reader.word("dim")? as usize, reader.word("chunks")? as usize);
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(QuantError::Dim { dim });
        }
        if !(1..=dim).contains(&chunks) {
            return Err(QuantError::parts("chunks", chunks, format!("1 to {dim}")));
        }
        let bounds = reader.sizes("chunk bounds", chunks + 1)?;
        let counts = reader.sizes("centroids of each chunk", chunks)?;
        let mean = reader.floats("mean", dim)?;
        let centroids = reader.floats("centroids", reader.rest.len().div_ceil(4))?;
        Codebook::from_parts(CodebookParts { metric, bounds, counts, mean, centroids })
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The next `count` words of four bytes.
    fn words(
        &mut self,
        field: &'static str,
        count: usize,
    ) -> Result<impl Iterator<Item = [u8; 4]> + use<'a>, QuantError> {
        let Some((taken, rest)) = self.rest.split_at_checked(4 * count) else {
            return Err(QuantError::parts(
                field,
                format!("{} bytes", self.rest.len()),
                format!("{}", 4 * count),
            ));
        };
        self.rest = rest;
        Ok(taken.as_chunks::<4>().0.iter().copied())
    }

    fn word(&mut self, field: &'static str) -> Result<u32, QuantError> {
        Ok(self.words(field, 1)?.map(u32::from_le_bytes).next().unwrap_or(0))
    }

    fn sizes(&mut self, field: &'static str, count: usize) -> Result<Vec<usize>, QuantError> {
        Ok(self.words(field, count)?.map(|word| u32::from_le_bytes(word) as usize).collect())
    }

    fn floats(&mut self, field: &'static str, count: usize) -> Result<Vec<f32>, QuantError> {
        Ok(self.words(field, count)?.map(f32::from_le_bytes).collect())
    }
}
