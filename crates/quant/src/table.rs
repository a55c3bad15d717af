//! Per query: the distance of the query to every centroid of every chunk, and the sums of them that estimate distances.

use crate::kernels::{TABLE_WIDTH, TableRow, fill_chunk};
use crate::rows::{row_scale, tame};
use crate::simd::{LANES, Lane};
use crate::{Codebook, Codes};
use gleann_vector::{Metric, cpu_path};

/// Ids whose sums are formed side by side, so that additions of one do not wait for each other.
const WIDTH: usize = 4;

/// How many ids ahead codes are prefetched.
const AHEAD: usize = 16;

/// Estimates of the ordering distance between one query and coded rows. Kept by a worker and filled anew for every
/// query; allocates only when it meets a larger codebook.
///
/// The estimate is the ordering distance to the decoded row x̂: ‖q − x̂‖² for L2, −q·x̂ for inner product, 2 − 2·q̂·x̂ for
/// cosine with q̂ the normalised query.
#[derive(Debug, Default)]
pub struct DistanceTable {
    entries: Vec<TableRow>,
    query: Vec<f32>,
    bias: f32,
    chunks: usize,
}

impl DistanceTable {
    /// An empty table, to be filled before it is asked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Prepares the estimates for `query`.
    ///
    /// # Panics
    /// If `query` has another dimension than `codebook`.
    pub fn fill(&mut self, codebook: &Codebook, query: &[f32]) {
        assert_eq!(query.len(), codebook.dim(), "query of another dimension");
        let (metric, mean) = (codebook.metric(), codebook.mean());
        // Everything but the squared L2 distance is linear in the row: a constant for the mean, and an entry a chunk.
        let factor = match metric {
            Metric::L2 => 1.0,
            Metric::InnerProduct => -1.0,
            Metric::Cosine => -2.0 * row_scale(metric, query),
        };
        self.query.clear();
        self.query.extend(query.iter().map(|&x| factor * tame(x)));
        let products: f32 = self.query.iter().zip(mean).map(|(q, mean)| q * mean).sum();
        self.bias = match metric {
            Metric::L2 => 0.0,
            Metric::InnerProduct => products,
            Metric::Cosine => 2.0 + products,
        };
        if metric == Metric::L2 {
            self.query.iter_mut().zip(mean).for_each(|(q, mean)| *q -= mean);
        }
        self.chunks = codebook.chunks();
        if self.entries.len() < self.chunks {
            self.entries.resize(self.chunks, [Lane::ZERO; TABLE_WIDTH / LANES]);
        }
        let path = cpu_path();
        for (chunk, table) in self.entries[..self.chunks].iter_mut().enumerate() {
            let query = &self.query[codebook.chunk(chunk)];
            fill_chunk(path, codebook.planes(chunk), query, metric == Metric::L2, table);
        }
    }

    /// Estimates of the rows `ids`, into `out`, in their order. Codes are prefetched on the way; a caller that knows the
    /// ids some time before asks for them itself ([`Codes::prefetch`]).
    ///
    /// # Panics
    /// If `ids` and `out` differ in length, an id has no code, or the codes belong to another codebook.
    pub fn estimate(&self, codes: &Codes, ids: &[u32], out: &mut [f32]) {
        assert_eq!(ids.len(), out.len(), "ids and estimates do not match");
        ids.iter().take(AHEAD).for_each(|&id| codes.prefetch(id));
        for (index, (group, out)) in ids.chunks(WIDTH).zip(out.chunks_mut(WIDTH)).enumerate() {
            for &id in ids.iter().skip(index * WIDTH + AHEAD).take(WIDTH) {
                codes.prefetch(id);
            }
            // A short last group repeats its last id: cheaper than going one by one.
            let rows: [&[u8]; WIDTH] = std::array::from_fn(|i| codes.code(group[i.min(group.len() - 1)]));
            out.copy_from_slice(&self.sum(rows)[..group.len()]);
        }
    }

    /// The estimate of row `id`.
    ///
    /// # Panics
    /// If `id` has no code, or the codes belong to another codebook.
    pub fn estimate_one(&self, codes: &Codes, id: u32) -> f32 {
        self.sum([codes.code(id)])[0]
    }

    #[inline(always)]
    fn sum<const N: usize>(&self, codes: [&[u8]; N]) -> [f32; N] {
        let tables: &[[f32; TABLE_WIDTH]] = bytemuck::cast_slice(&self.entries[..self.chunks]);
        let codes = codes.map(|code| &code[..tables.len()]);
        let mut sums = [self.bias; N];
        for (chunk, table) in tables.iter().enumerate() {
            for (sum, code) in sums.iter_mut().zip(codes) {
                *sum += table[code[chunk] as usize];
            }
        }
        sums
    }
}
