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
/// With x̂ the decoded row, the estimate is ‖q − x̂‖² for L2, −q·x̂ for inner product, and ‖q̂ − x̂‖² for cosine with q̂ the
/// normalised query (2 − 2·q̂·x̂ is as near to the distance but ranks far worse: it punishes a near row for its own
/// quantisation error twice). A zero row or query is estimated at about 1 under cosine, between near and unrelated, and
/// measures 2; estimates only rank, results are measured.
///
/// The entries are sums of 16-bit steps of one size, so that a table of 32 chunks takes half of a first-level cache: a
/// core that interleaves many searches finds less of each table evicted. A step is 1/65535 of the widest chunk's range,
/// far below what the codes themselves lose.
#[derive(Debug, Default)]
pub struct DistanceTable {
    /// Distances of the query being filled in; not read by estimates.
    distances: Vec<TableRow>,
    steps: Vec<[u16; TABLE_WIDTH]>,
    query: Vec<f32>,
    /// Estimate of a code whose steps are all 0.
    bias: f32,
    /// Distance of one step.
    step: f32,
    chunks: usize,
}

/// Largest entry of a table.
const MAX_STEPS: f32 = u16::MAX as f32;

impl DistanceTable {
    /// Asks the processor for what estimates read, ahead of them.
    pub fn prefetch(&self) {
        gleann_vector::prefetch(&self.steps);
    }

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
        let squared = metric != Metric::InnerProduct;
        let factor = if squared { row_scale(metric, query) } else { -1.0 };
        self.query.clear();
        self.query.extend(query.iter().map(|&x| factor * tame(x)));
        self.bias = 0.0;
        if squared {
            self.query.iter_mut().zip(mean).for_each(|(q, mean)| *q -= mean);
        } else {
            // A product is linear in the row: what the mean adds is the same for all.
            self.bias = self.query.iter().zip(mean).map(|(q, mean)| q * mean).sum();
        }
        self.chunks = codebook.chunks();
        if self.distances.len() < self.chunks {
            self.distances.resize(self.chunks, [Lane::ZERO; TABLE_WIDTH / LANES]);
            self.steps.resize(self.chunks, [0; TABLE_WIDTH]);
        }
        let path = cpu_path();
        for (chunk, table) in self.distances[..self.chunks].iter_mut().enumerate() {
            let query = &self.query[codebook.chunk(chunk)];
            fill_chunk(path, codebook.planes(chunk), query, squared, table);
        }
        self.quantise(codebook);
    }

    fn quantise(&mut self, codebook: &Codebook) {
        let tables: &[[f32; TABLE_WIDTH]] = bytemuck::cast_slice(&self.distances[..self.chunks]);
        let ranges =
            tables.iter().enumerate().map(|(chunk, table)| range(&table[..codebook.centroids(chunk)]));
        let widest = ranges.clone().map(|(low, high)| high - low).fold(0.0, f32::max);
        self.step = (widest / MAX_STEPS).max(f32::MIN_POSITIVE);
        let per_step = 1.0 / self.step;
        for ((steps, table), (low, _)) in self.steps.iter_mut().zip(tables).zip(ranges) {
            self.bias += low;
            for (step, distance) in steps.iter_mut().zip(table) {
                // The places of centroids that do not exist may hold anything.
                *step = ((distance - low) * per_step + 0.5).clamp(0.0, MAX_STEPS) as i32 as u16;
            }
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

    /// Estimates of the codes at `places` in `codes`, which lie there one after the other (as the codes of a record's
    /// neighbours do), into `out`, in the order of the places.
    ///
    /// # Panics
    /// If `places` and `out` differ in length, a place is not there, or the codes belong to another codebook.
    pub fn estimate_at(&self, codes: &[u8], places: &[u32], out: &mut [f32]) {
        assert_eq!(places.len(), out.len(), "places and estimates do not match");
        let code = |place: u32| &codes[place as usize * self.chunks..][..self.chunks];
        for (group, out) in places.chunks(WIDTH).zip(out.chunks_mut(WIDTH)) {
            let rows: [&[u8]; WIDTH] = std::array::from_fn(|i| code(group[i.min(group.len() - 1)]));
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
        let tables = &self.steps[..self.chunks];
        let codes = codes.map(|code| &code[..tables.len()]);
        // 8192 chunks of 65535 steps stay below 2³².
        let mut sums = [0u32; N];
        for (chunk, table) in tables.iter().enumerate() {
            for (sum, code) in sums.iter_mut().zip(codes) {
                *sum += u32::from(table[code[chunk] as usize]);
            }
        }
        sums.map(|sum| self.bias + sum as f32 * self.step)
    }
}

fn range(distances: &[f32]) -> (f32, f32) {
    distances.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &d| (low.min(d), high.max(d)))
}
