//! How every phase stays within the memory budget.
//!
//! The budget covers all that grows with the data or the options; [`MEMORY_OVERHEAD`] beside it covers the program:
//! code, allocator, stacks, buffers of fixed size. Nothing here depends on the number of threads where it would
//! change the index: sizes are planned for one thread, a share of the budget is set aside for the scratch of
//! others, and fewer threads run where that share is too small for all.

use super::{BuildError, BuildOptions, CodePlacement};
use gleann_graph::{BuildParams, Rows, ShardPlan, ShufflePlan, memory_estimate};
use gleann_quant::TRAINING_ROWS;
use gleann_storage::{Layout, Packing};

/// Memory beside the budget: code, stacks, allocator, buffers of fixed size.
pub const MEMORY_OVERHEAD: u64 = 64 << 20;
/// Rows of a training sample at least, where there are as many.
const FEWEST_TRAINING_ROWS: u64 = 1024;
/// A sample takes at most half of what there is, so that several chunks can be trained at once.
const SAMPLE_SHARE: u64 = 2;
/// Most bytes of rows and what belongs to them that are held at a time.
const MOST_PIECE: u64 = 16 << 20;
/// Nodes whose lists a reachability scan reads at once.
const SCANNED_LISTS: u64 = 4096;
/// What pages are written through: the writer's buffer, and what is read at a time.
const PAGE_BUFFERS: u64 = 6 << 20;
/// Most rows of the sample that shards are found on, for each shard.
const SAMPLE_OF_SHARD: u64 = 256;

/// The data and options as far as memory depends on them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub rows: Rows,
    pub params: BuildParams,
    /// Bytes of a code; 0 where there are none.
    pub pq_bytes: u64,
    /// Whether records hold codes.
    pub codes_in_records: bool,
    /// Whether vectors are stored in another order than that of rows.
    pub shuffled: bool,
    /// Bytes for the phases, the keys already taken off.
    pub budget: u64,
    /// Bytes of the keys, and of whatever else is held throughout.
    pub keys: u64,
}

impl Sizes {
    /// # Errors
    /// The keys alone exceed the budget.
    pub(crate) fn new(rows: Rows, options: &BuildOptions) -> Result<Self, BuildError> {
        let keys = if options.keys.is_some() { rows.rows * 8 } else { 0 };
        let budget = options.memory_budget.saturating_sub(keys);
        Ok(Self {
            rows,
            params: options.graph(),
            pq_bytes: options.code_bytes() as u64,
            codes_in_records: options.codes == CodePlacement::Record,
            shuffled: options.packing == Packing::PageShuffle,
            budget,
            keys,
        })
    }

    /// The same beside `bytes` that are held throughout.
    pub(crate) fn beside(self, bytes: u64) -> Self {
        Self { budget: self.budget.saturating_sub(bytes), keys: self.keys.saturating_add(bytes), ..self }
    }

    pub(crate) fn row(&self) -> u64 {
        self.rows.dim as u64 * self.rows.element.size() as u64
    }

    fn too_small(&self, minimum: u64, phase: &'static str) -> BuildError {
        let [budget, minimum] = [self.budget, minimum].map(|bytes| bytes.saturating_add(self.keys));
        BuildError::Budget { budget, minimum, phase }
    }

    /// Rows that are read at a time, with their lists or codes beside them.
    pub(crate) fn piece_rows(&self) -> usize {
        let fit = (self.budget / 16).min(MOST_PIECE) / (self.row() + self.lists_of_row());
        fit.min(self.rows.rows).max(1) as usize
    }

    /// The list of a row as it lies in the work file, and as it is taken from there.
    fn lists_of_row(&self) -> u64 {
        8 * (self.params.degree as u64 + 1)
    }

    /// Training: a row of the sample, with what is kept beside it.
    fn trained_row(&self) -> u64 {
        4 * self.rows.dim as u64 + 4
    }

    /// Training: a row of one chunk under way.
    fn chunk_row(&self) -> u64 {
        4 * (self.rows.dim as u64).div_ceil(self.pq_bytes) + 16
    }

    /// The codebook, in the two forms it has at a time.
    pub(crate) fn codebook(&self) -> u64 {
        3 * 1024 * self.rows.dim as u64
    }

    /// Rows to train on.
    ///
    /// # Errors
    /// Not even the smallest sample fits.
    pub(crate) fn training_rows(&self) -> Result<u64, BuildError> {
        let most = self.rows.rows.min(TRAINING_ROWS as u64);
        let fewest = most.min(FEWEST_TRAINING_ROWS);
        let minimum =
            self.codebook() + (SAMPLE_SHARE * fewest * self.trained_row()).max(fewest * self.one_chunk());
        if self.budget < minimum {
            return Err(self.too_small(minimum, "train the codebook"));
        }
        let left = self.budget - self.codebook();
        let fit = (left / SAMPLE_SHARE / self.trained_row()).min(left / self.one_chunk());
        Ok(most.min(fit))
    }

    fn one_chunk(&self) -> u64 {
        self.trained_row() + self.chunk_row()
    }

    /// Threads that may train on `rows` rows, and the peak.
    pub(crate) fn training(&self, rows: u64, threads: usize) -> (usize, u64) {
        let fixed = self.codebook() + rows * self.trained_row();
        self.with_threads(fixed, rows * self.chunk_row(), threads.min(self.pq_bytes as usize))
    }

    /// Threads that may encode, and the peak.
    pub(crate) fn encoding(&self, threads: usize) -> (usize, u64) {
        let piece = self.piece_rows() as u64 * (self.row() + self.pq_bytes);
        self.with_threads(self.codebook() + piece, 9 * 64 * self.rows.dim as u64, threads)
    }

    /// How many of `threads` threads fit beside `fixed` bytes (always one), and what they take together.
    pub(crate) fn with_threads(&self, fixed: u64, each: u64, threads: usize) -> (usize, u64) {
        let fit = self.budget.saturating_sub(fixed) / each.max(1);
        let threads = threads.min(fit as usize).max(1);
        (threads, fixed + each * threads as u64)
    }

    /// Scratch of one thread of the graph build.
    fn graph_scratch(&self) -> u64 {
        memory_estimate(&self.rows, &self.params, 2) - memory_estimate(&self.rows, &self.params, 1)
    }

    /// What is set aside for threads after the first.
    fn graph_reserve(&self) -> u64 {
        self.graph_scratch().max(self.budget / 8)
    }

    /// How the graph is built, whatever the threads.
    ///
    /// # Errors
    /// Not even the smallest shards fit.
    pub(crate) fn graph(&self) -> Result<ShardPlan, BuildError> {
        let inner = self.budget.saturating_sub(self.graph_reserve());
        gleann_graph::plan(&self.rows, &self.params, 1, inner).map_err(|error| {
            let minimum = (error.minimum + self.graph_scratch()).max((error.minimum * 8).div_ceil(7) + 1);
            self.too_small(minimum, "build the graph")
        })
    }

    /// Threads that may build a graph planned to take `planned` bytes on one, and the peak.
    pub(crate) fn graph_threads(&self, planned: u64, threads: usize) -> (usize, u64) {
        let each = self.graph_scratch();
        let more = ((self.graph_reserve() / each.max(1)) as usize).min(threads.max(1) - 1);
        (1 + more, planned + each * more as u64)
    }

    /// Rows of the sample that `shards` shards are found on.
    pub(crate) fn partition_sample(&self, shards: usize) -> u64 {
        let fit = self.budget / 4 / (8 * self.rows.dim as u64 + 16);
        self.rows.rows.min(SAMPLE_OF_SHARD * shards as u64).min(fit).max(1)
    }

    /// Peak of dealing rows to `shards` shards.
    pub(crate) fn partitioning(&self, shards: usize) -> u64 {
        let dim = self.rows.dim as u64;
        let sample = self.partition_sample(shards) * (8 * dim + 16);
        let centroids = shards as u64 * dim * 4;
        let partial_sums = 2 * shards as u64 * dim * 8;
        let piece = self.piece_rows() as u64 * (3 * self.row() + 16);
        let distances = 1024 * 4 * shards as u64;
        (sample + 3 * centroids + partial_sums).max(centroids + piece + distances)
    }

    /// Bytes that the reader of one shard's lists may hold while `shards` of them are merged.
    pub(crate) fn merge_buffer(&self, shards: usize) -> usize {
        let longest = 4 * (self.params.degree as u64 + 1);
        (self.budget / 4 / shards.max(1) as u64).clamp(longest, 1 << 20) as usize
    }

    /// Peak of merging the lists of `shards` shards.
    pub(crate) fn merging(&self, shards: usize) -> u64 {
        shards as u64 * (self.merge_buffer(shards) as u64 + 128) + (2 << 20)
    }

    /// Peak of finding and attaching what cannot be reached.
    pub(crate) fn repairing(&self) -> u64 {
        self.rows.rows / 4 + 2 * SCANNED_LISTS * 4 * (self.params.degree as u64 + 1)
    }

    /// How nodes are shuffled; `None` where they are not.
    ///
    /// # Errors
    /// Not even small parts fit.
    pub(crate) fn shuffle(&self, layout: &Layout) -> Result<Option<ShufflePlan>, BuildError> {
        if !self.shuffled {
            return Ok(None);
        }
        let page = layout.records_per_block();
        let plan = ShufflePlan::new(self.rows.rows, self.params.degree, page, self.budget);
        plan.map(Some).map_err(|minimum| self.too_small(minimum, "shuffle the pages"))
    }

    /// What is there while pages are written, however few at a time: the order both ways, the codes that records are
    /// to hold, buffers.
    fn beside_pages(&self) -> u64 {
        let order = if self.shuffled { 8 } else { 0 };
        let codes = if self.codes_in_records { self.pq_bytes } else { 0 };
        self.rows.rows * (order + codes) + PAGE_BUFFERS
    }

    /// A row on its way into a page: itself, its list, where it comes from.
    fn paged_row(&self) -> u64 {
        self.row() + self.lists_of_row() / 2 + 8
    }

    /// Rows that are turned into pages at a time. Shuffled ones lie scattered over their file: the more at a time, the
    /// fewer the passes over it.
    pub(crate) fn page_rows(&self) -> usize {
        if !self.shuffled {
            return self.piece_rows();
        }
        let fit = self.budget.saturating_sub(self.beside_pages()) / 4 / self.paged_row();
        fit.clamp(1, self.rows.rows.max(1)) as usize
    }

    /// Peak of writing pages.
    pub(crate) fn paging(&self) -> u64 {
        self.page_rows() as u64 * self.paged_row() + self.beside_pages()
    }

    /// Holds a phase without choices against the budget.
    pub(crate) fn expect(&self, bytes: u64, phase: &'static str) -> Result<u64, BuildError> {
        if bytes > self.budget { Err(self.too_small(bytes, phase)) } else { Ok(bytes + self.keys) }
    }
}
