//! Exact nearest neighbours by brute force: blocked, so that the base may be larger than memory, and parallel
//! over queries.
//!
//! The f32 kernels only sort out rows that are certainly too far. Whatever may belong to the nearest is
//! measured again in f64, and that value, then the id, decides: the result does not depend on the kernel, the
//! number of threads or the block size.

use super::NO_ID;
use super::exact_distance::{norm, ordering_distance};
use super::file::GroundTruth;
use super::filter::{Filter, NormRange};
use crate::check_finite;
use crate::{
    Cancelled, Distance, Element, MAX_DIM, Matrix, Metric, NotFinite, Progress, RowSource, SourceError,
};
use rayon::prelude::*;
use std::collections::BinaryHeap;

/// Bytes of base rows that stay in the L2 cache while a tile of queries is measured against them.
const TILE_BYTES: usize = 128 << 10;
/// Most queries of a task; the base passes through the cache once a task. Fewer queries make smaller tasks, to keep
/// all cores busy. No result depends on it.
const QUERY_TILE: usize = 32;
/// Distances looked at together: a whole group beyond the limit costs one branch.
const GROUP: usize = 16;
/// Largest k.
const MAX_K: usize = 1 << 16;

/// What ground truth to find.
#[derive(Debug, Clone, Copy)]
pub struct TruthParams {
    /// The metric.
    pub metric: Metric,
    /// Neighbours a query, 1 to 65 536; slots beyond the rows of the base are left unused.
    pub k: usize,
    /// Bytes of base rows to hold in memory at a time: half is measured while the other half is read.
    pub block_bytes: usize,
}

/// Ground truth that cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// k is 0 or absurd.
    #[error("k is {found}; expected 1 to {}", MAX_K)]
    K {
        /// The k given.
        found: usize,
    },
    /// Base and queries do not fit each other, or no kernel.
    #[error(
        "the base has {base} dimensions, the queries have {queries}; expected the same, 1 to {}",
        MAX_DIM
    )]
    Dimension {
        /// Dimension of the base.
        base: usize,
        /// Dimension of the queries.
        queries: usize,
    },
    /// More rows than ids.
    #[error("the base has {found} rows; at most {} have an id", u32::MAX)]
    TooManyRows {
        /// Rows of the base.
        found: u64,
    },
    /// A vector with a component that is no number.
    #[error("{what} {error}")]
    NotFinite {
        /// `base` or `query`.
        what: &'static str,
        /// Where and what.
        error: NotFinite,
    },
    /// The base could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The caller wanted no more.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Finds the exact `k` nearest rows of `base` for every query, ordered by (distance, id). Distances are those of
/// [`Metric::user_distance`], computed in f64 and rounded once; a squared distance beyond f32 becomes infinite.
/// Progress counts pairs of query and row.
///
/// # Errors
/// See [`TruthError`].
pub fn exact_truth<T: Element>(
    base: &dyn RowSource<T>,
    queries: &Matrix<T>,
    params: TruthParams,
    progress: &dyn Progress,
) -> Result<GroundTruth, TruthError> {
    check(base, queries, params)?;
    progress.phase("ground truth", base.rows().saturating_mul(queries.rows() as u64));
    let mut scan = Scan::new(queries, params, progress);
    let dim = base.dim();
    let rows = (params.block_bytes / 2 / (dim * size_of::<T>())).max(1) as u64;
    let block = |start: u64| rows.min(base.rows() - start);
    let (mut current, mut spare) = (Vec::<T>::new(), Vec::<T>::new());
    let read = |start: u64, into: &mut Vec<T>| {
        into.resize(block(start) as usize * dim, T::zeroed());
        base.read_rows(start, into)
    };
    read(0, &mut current)?;
    let mut start = 0;
    while start < base.rows() {
        let next = start + block(start);
        let (scanned, fetched) = rayon::join(|| scan.block(start, &current), || read(next, &mut spare));
        scanned?;
        fetched?;
        std::mem::swap(&mut current, &mut spare);
        start = next;
    }
    Ok(scan.into_truth(params))
}

fn check<T: Element>(
    base: &dyn RowSource<T>,
    queries: &Matrix<T>,
    params: TruthParams,
) -> Result<(), TruthError> {
    let dimensions = (base.dim(), queries.dim());
    if dimensions.0 != dimensions.1 || !(1..=MAX_DIM).contains(&dimensions.0) {
        return Err(TruthError::Dimension { base: dimensions.0, queries: dimensions.1 });
    }
    if !(1..=MAX_K).contains(&params.k) {
        return Err(TruthError::K { found: params.k });
    }
    // The last id of all marks unused slots.
    if base.rows() > u64::from(NO_ID) {
        return Err(TruthError::TooManyRows { found: base.rows() });
    }
    check_finite(queries.as_slice(), queries.dim(), 0)
        .map_err(|error| TruthError::NotFinite { what: "query", error })
}

/// The search so far.
struct Scan<'a, T: Element> {
    queries: &'a Matrix<T>,
    nearest: Vec<Nearest>,
    kernel: Distance<T>,
    filter: Filter,
    progress: &'a dyn Progress,
}

/// Rows small enough for the cache.
struct Tile<'a, T> {
    first_id: u32,
    rows: &'a [T],
    norms: NormRange,
}

impl<'a, T: Element> Scan<'a, T> {
    fn new(queries: &'a Matrix<T>, params: TruthParams, progress: &'a dyn Progress) -> Self {
        let nearest = (0..queries.rows())
            .map(|query| Nearest {
                query,
                norm: norm(queries.row(query)),
                heap: BinaryHeap::new(),
                k: params.k,
            })
            .collect();
        let kernel = Distance::new(params.metric, queries.dim());
        Self { queries, nearest, kernel, filter: Filter::new(params.metric, queries.dim()), progress }
    }

    /// Measures every query against the rows that start with row `start` of the base.
    fn block(&mut self, start: u64, rows: &[T]) -> Result<(), TruthError> {
        let tiles = self.tiles(start, rows)?;
        let mut nearest = std::mem::take(&mut self.nearest);
        let tile_queries = (nearest.len() / (4 * rayon::current_num_threads())).clamp(1, QUERY_TILE);
        nearest.par_chunks_mut(tile_queries).for_each(|nearest| {
            if self.progress.cancelled() {
                return;
            }
            let mut distances = Vec::new();
            for tile in &tiles {
                for nearest in nearest.iter_mut() {
                    self.measure(nearest, tile, &mut distances);
                }
            }
            self.progress.advance((nearest.len() * (rows.len() / self.queries.dim())) as u64);
        });
        self.nearest = nearest;
        if self.progress.cancelled() { Err(Cancelled.into()) } else { Ok(()) }
    }

    /// Cuts rows into tiles, on the way checking that they are finite.
    fn tiles<'b>(&self, start: u64, rows: &'b [T]) -> Result<Vec<Tile<'b, T>>, TruthError> {
        let dim = self.queries.dim();
        let count = (TILE_BYTES / (dim * size_of::<T>())).clamp(GROUP, 64 * GROUP);
        let needs_norms = self.kernel.metric() != Metric::L2;
        let tiles: Vec<_> = rows
            .par_chunks(count * dim)
            .enumerate()
            .map(|(index, rows)| {
                let first = start + (index * count) as u64;
                check_finite(rows, dim, first)?;
                let norms = rows.chunks_exact(dim).take(if needs_norms { count } else { 0 });
                let norms = norms.fold(NormRange::EMPTY, |range, row| range.with(norm(row)));
                Ok(Tile { first_id: first as u32, rows, norms })
            })
            .collect();
        // The first error in row order, whichever thread came first.
        tiles
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|error| TruthError::NotFinite { what: "base", error })
    }

    fn measure(&self, nearest: &mut Nearest, tile: &Tile<'_, T>, distances: &mut Vec<f32>) {
        let (dim, metric) = (self.kernel.dim(), self.kernel.metric());
        let query = self.queries.row(nearest.query);
        distances.resize(tile.rows.len() / dim, 0.0);
        self.kernel.to_many(query, tile.rows, distances);
        let mut limit = self.filter.limit(nearest.bound(), nearest.norm, tile.norms);
        for (group, distances) in distances.chunks(GROUP).enumerate() {
            if distances.iter().fold(true, |all, &distance| all & (distance > limit)) {
                continue;
            }
            for (within, &distance) in distances.iter().enumerate() {
                // Not `<=`: a kernel that overflowed to NaN has not shown that the row is far.
                if distance > limit {
                    continue;
                }
                let row = group * GROUP + within;
                let exact = ordering_distance(metric, query, &tile.rows[row * dim..(row + 1) * dim]);
                if nearest.offer(exact, tile.first_id + row as u32) {
                    limit = self.filter.limit(nearest.bound(), nearest.norm, tile.norms);
                }
            }
        }
    }

    fn into_truth(self, params: TruthParams) -> GroundTruth {
        let (queries, k) = (self.nearest.len(), params.k);
        let mut ids = vec![NO_ID; queries * k];
        let mut distances = vec![f32::INFINITY; queries * k];
        for nearest in self.nearest {
            let start = nearest.query * k;
            for (slot, candidate) in (start..).zip(nearest.heap.into_sorted_vec()) {
                ids[slot] = candidate.id;
                distances[slot] = params.metric.user_distance(candidate.distance as f32);
            }
        }
        GroundTruth { queries, k, ids, distances: Some(distances) }
    }
}

/// The nearest rows of one query so far.
struct Nearest {
    query: usize,
    norm: f64,
    /// At most k, the farthest on top.
    heap: BinaryHeap<Candidate>,
    k: usize,
}

impl Nearest {
    /// Rows farther than this are not among the nearest.
    fn bound(&self) -> f64 {
        match self.heap.peek() {
            Some(farthest) if self.heap.len() == self.k => farthest.distance,
            _ => f64::INFINITY,
        }
    }

    /// Takes a row in if it is among the nearest.
    fn offer(&mut self, distance: f64, id: u32) -> bool {
        let candidate = Candidate { distance, id };
        if self.heap.len() < self.k {
            self.heap.push(candidate);
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut farthest) if candidate < *farthest => {
                *farthest = candidate;
                true
            }
            _ => false,
        }
    }
}

/// A row, ordered by (distance, id).
#[derive(Debug, Clone, Copy)]
struct Candidate {
    distance: f64,
    id: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.distance.total_cmp(&other.distance).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}
