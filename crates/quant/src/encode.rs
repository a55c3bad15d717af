//! Rows to codes.

use crate::Codebook;
use crate::kernels::{CentroidSet, nearest_in_blocks};
use crate::rows::{centre, transpose};
use crate::simd::{LANES, Lane};
use gleann_vector::{Element, cpu_path};
use rayon::prelude::*;

/// Blocks of rows a task prepares before it goes through the chunks.
const BLOCKS: usize = 8;

impl Codebook {
    /// The code of one `row`; the same as [`Codebook::encode_rows`] gives. For one row after the other there is
    /// [`Encoder`].
    ///
    /// # Panics
    /// If `row` has not [`Codebook::dim`] components or `code` not [`Codebook::chunks`] bytes.
    pub fn encode<T: Element>(&self, row: &[T], code: &mut [u8]) {
        self.encode_rows(row, code);
    }

    /// The codes of the row-major `rows`, on the caller's rayon pool: for each chunk the nearest centroid, the lowest of
    /// equally near ones. Rows are normalised here under cosine; components are clamped to ±1e16.
    ///
    /// # Panics
    /// If `rows` is no whole number of rows, or `codes` has not [`Codebook::chunks`] bytes for each.
    pub fn encode_rows<T: Element>(&self, rows: &[T], codes: &mut [u8]) {
        let (dim, chunks) = (self.dim(), self.chunks());
        assert!(rows.len().is_multiple_of(dim), "not a whole number of rows");
        assert_eq!(codes.len(), rows.len() / dim * chunks, "rows and codes do not match");
        let sets = self.centroid_sets();
        let task = BLOCKS * LANES;
        rows.par_chunks(task * dim).zip(codes.par_chunks_mut(task * chunks)).for_each_init(
            || Scratch::new(dim),
            |scratch, (rows, codes)| scratch.encode(self, &sets, rows, codes),
        );
    }

    fn centroid_sets(&self) -> Vec<CentroidSet> {
        let set = |chunk| CentroidSet::new(self.centroid_rows(chunk), self.chunk(chunk).len());
        (0..self.chunks()).map(set).collect()
    }
}

/// Encodes one row after the other by the calling thread, with the centroids laid out once.
#[derive(Debug)]
pub struct Encoder {
    sets: Vec<CentroidSet>,
    scratch: Scratch,
}

impl Encoder {
    /// An encoder of `codebook`.
    pub fn new(codebook: &Codebook) -> Self {
        Self { sets: codebook.centroid_sets(), scratch: Scratch::new(codebook.dim()) }
    }

    /// The code of one `row`, the same as [`Codebook::encode_rows`] gives. `codebook` is that of [`Encoder::new`].
    ///
    /// # Panics
    /// If `row` has not [`Codebook::dim`] components or `code` not [`Codebook::chunks`] bytes.
    pub fn encode<T: Element>(&mut self, codebook: &Codebook, row: &[T], code: &mut [u8]) {
        assert_eq!(
            (row.len(), code.len()),
            (codebook.dim(), codebook.chunks()),
            "row or code of another size"
        );
        self.scratch.encode(codebook, &self.sets, row, code);
    }
}

/// Blocks of rows under way, chunk after chunk.
#[derive(Debug)]
struct Scratch {
    /// One block, all dimensions.
    block: Vec<Lane>,
    /// All blocks, chunk-major.
    lanes: Vec<Lane>,
}

impl Scratch {
    fn new(dim: usize) -> Self {
        Self { block: vec![Lane::ZERO; dim], lanes: vec![Lane::ZERO; BLOCKS * dim] }
    }

    fn encode<T: Element>(
        &mut self,
        codebook: &Codebook,
        sets: &[CentroidSet],
        rows: &[T],
        codes: &mut [u8],
    ) {
        let (dim, chunks) = (codebook.dim(), codebook.chunks());
        let count = rows.len() / dim;
        for (index, rows) in rows.chunks(LANES * dim).enumerate() {
            transpose(rows, dim, &mut self.block);
            centre(codebook.metric(), codebook.mean(), &mut self.block);
            for chunk in 0..chunks {
                let range = codebook.chunk(chunk);
                let into = BLOCKS * range.start + index * range.len();
                self.lanes[into..into + range.len()].copy_from_slice(&self.block[range]);
            }
        }
        let mut found = [[0u32; LANES]; BLOCKS];
        let blocks = count.div_ceil(LANES);
        for (chunk, set) in sets.iter().enumerate() {
            let lanes = &self.lanes[BLOCKS * codebook.chunk(chunk).start..][..blocks * set.dim()];
            nearest_in_blocks(cpu_path(), lanes, set, &mut found[..blocks]);
            for (code, &id) in codes.chunks_exact_mut(chunks).zip(found.as_flattened()) {
                code[chunk] = id as u8;
            }
        }
    }
}
