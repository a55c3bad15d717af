//! What a build will make and take, before it begins: from the header of the data alone.

use super::cost::{copy_cpu_seconds, cpu_seconds, shuffle_seconds};
use super::disk::{free_bytes, used_bytes};
use super::mem_graph_options::{MemGraphJob, MemGraphPlan};
use super::memory::Sizes;
use super::threads::wanted_threads;
use super::work::{Work, work_directory};
use super::{BuildError, BuildOptions, CodePlacement};
use crate::import::Given;
use gleann_graph::{BuildParams, Rows, ShardPlan, ShufflePlan};
use gleann_storage::{HEADER_BYTES, Layout, Packing};
use gleann_vector::VectorFile;
use std::path::Path;

/// What a build will make, and what it will take.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildPlan {
    /// Number of vectors.
    pub rows: u64,
    /// Record geometry: element type, dimension, degree, page size, records a page or pages a record.
    pub layout: Layout,
    /// Bytes of the finished index.
    pub index_bytes: u64,
    /// Whether the graph is built at once or in shards.
    pub graph: GraphPlan,
    /// The navigation graph, where one is wanted.
    pub mem_graph: Option<MemGraphPlan>,
    /// Bytes of a record by those it would have with codes in memory: what codes in records cost in reads and on disk.
    pub record_growth: f64,
    /// Parts in which nodes are shuffled into pages, 1 where their lists fit the memory budget; 0: they are not.
    pub shuffle_parts: u64,
    /// Rows that the codebook is trained on.
    pub training_rows: u64,
    /// Peak memory of every phase, beside 64 MiB for the program. The largest decides.
    pub memory: Vec<PhaseMemory>,
    /// The memory budget.
    pub memory_budget: u64,
    /// Threads of the graph build: fewer than asked for where the budget has no room for their scratch.
    pub threads: usize,
    /// Peak disk use, index included.
    pub disk_bytes: u64,
    /// Disk that is free for it.
    pub free_bytes: u64,
    /// Wall-clock seconds, roughly: machines differ by a factor of two.
    pub rough_seconds: f64,
    pub(crate) jobs: Jobs,
}

/// How the graph is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphPlan {
    /// It is there already.
    Given,
    /// All vectors at once.
    OneShot,
    /// Every vector in its two nearest shards, one shard built after the other.
    Sharded {
        /// Number of shards.
        shards: usize,
        /// The most vectors a shard may hold.
        capacity: u64,
    },
}

/// Peak memory of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseMemory {
    /// The phase.
    pub phase: &'static str,
    /// Bytes.
    pub bytes: u64,
}

/// What the phases need to know beside what a plan shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Jobs {
    /// Parameters of the graph, or of the graph of a shard.
    pub graph: BuildParams,
    pub train_threads: usize,
    pub encode_threads: usize,
    pub piece_rows: usize,
    pub partition_sample: u64,
    pub merge_buffer: usize,
    pub mem_graph: Option<MemGraphJob>,
    pub shuffle: Option<ShufflePlan>,
    pub page_rows: usize,
}

/// The phases of a build, planned.
struct Phases {
    graph: ShardPlan,
    training_rows: u64,
    threads: usize,
    memory: Vec<PhaseMemory>,
    jobs: Jobs,
}

impl BuildOptions {
    /// Plans the build of `source` into `out`; reads no data.
    ///
    /// # Errors
    /// The options do not go with the data or with each other, the budget or the disk is too small, or `out`
    /// holds something else; messages name the values that would work.
    pub fn plan(&self, source: &VectorFile, out: &Path) -> Result<BuildPlan, BuildError> {
        let rows = Rows {
            rows: source.rows(),
            dim: source.dim(),
            element: source.element_type(),
            metric: self.metric,
        };
        self.plan_rows(rows, out, None)
    }

    /// [`BuildOptions::plan`] of rows whose graph may be `given`.
    pub(crate) fn plan_rows(
        &self,
        rows: Rows,
        out: &Path,
        given: Option<Given>,
    ) -> Result<BuildPlan, BuildError> {
        let layout = self.check(rows.rows, rows.dim, rows.element)?;
        Work::check_output(out)?;
        let sizes = Sizes::new(rows, self)?.beside(given.map_or(0, |given| given.bytes));
        let Phases { graph, training_rows, threads, memory, jobs } = self.phases(&sizes, &layout, given)?;
        let mem_graph = jobs.mem_graph.map(|job| job.plan);
        let index_bytes = self.index_bytes(&rows, &layout) + mem_graph.map_or(0, |graph| graph.bytes);
        let shuffling = jobs.shuffle.map_or(0.0, |plan| shuffle_seconds(&plan, sizes.params.degree));
        let plan = BuildPlan {
            rows: rows.rows,
            layout,
            index_bytes,
            graph: match graph {
                _ if given.is_some() => GraphPlan::Given,
                ShardPlan::OneShot { .. } => GraphPlan::OneShot,
                ShardPlan::Sharded { shards, capacity, .. } => GraphPlan::Sharded { shards, capacity },
            },
            mem_graph,
            record_growth: record_growth(&layout),
            shuffle_parts: jobs.shuffle.map_or(0, |plan| plan.parts),
            training_rows,
            memory,
            memory_budget: self.memory_budget,
            threads,
            disk_bytes: peak_disk(&rows, &layout, &graph, index_bytes) + self.placement_bytes(&rows),
            free_bytes: free_bytes(out)?.saturating_add(used_bytes(&work_directory(out))),
            rough_seconds: shuffling
                + match given {
                    Some(_) => copy_cpu_seconds(&sizes, training_rows),
                    None => cpu_seconds(&sizes, &graph, training_rows) / threads as f64,
                },
            jobs,
        };
        plan.expect_room(out)
    }

    /// What every phase does within the budget, and what it takes.
    fn phases(&self, sizes: &Sizes, layout: &Layout, given: Option<Given>) -> Result<Phases, BuildError> {
        let graph =
            if given.is_some() { ShardPlan::OneShot { bytes: sizes.paging() } } else { sizes.graph()? };
        let (planned, params, shards) = match graph {
            ShardPlan::OneShot { bytes } => (bytes, sizes.params, None),
            ShardPlan::Sharded { shards, params, bytes, .. } => (bytes, params, Some(shards)),
        };
        let (has_codes, wanted) = (self.codes != CodePlacement::Off, wanted_threads(self.threads));
        let trained = has_codes && !given.is_some_and(|given| given.codebook);
        let training_rows = if trained { sizes.training_rows()? } else { 0 };
        let (train_threads, train) = if has_codes { sizes.training(training_rows, wanted) } else { (1, 0) };
        let (encode_threads, encode) = sizes.encoding(wanted);
        let (threads, building) = sizes.graph_threads(planned, wanted);
        let shuffle = sizes.shuffle(layout)?;
        let mem_graph =
            self.mem_graph.map(|options| sizes.mem_graph(&options, self.seed, wanted)).transpose()?;
        let coding = if has_codes { &[("train", train), ("encode", encode)][..] } else { &[] };
        let mut known = [coding, &[("graph", building)]].concat();
        known.extend(shuffle.map(|plan| ("shuffle", plan.bytes)));
        let mut memory = peaks(sizes, shards, known)?;
        memory.extend(mem_graph.map(|job| PhaseMemory { phase: "memgraph", bytes: job.peak }));
        let jobs = Jobs {
            graph: params,
            train_threads,
            encode_threads,
            piece_rows: sizes.piece_rows(),
            partition_sample: shards.map_or(0, |shards| sizes.partition_sample(shards)),
            merge_buffer: sizes.merge_buffer(shards.unwrap_or(1)),
            mem_graph,
            shuffle,
            page_rows: sizes.page_rows(),
        };
        Ok(Phases { graph, training_rows, threads, memory, jobs })
    }

    fn index_bytes(&self, rows: &Rows, layout: &Layout) -> u64 {
        let key = if self.keys.is_some() || self.packing == Packing::PageShuffle { 8 } else { 0 };
        let code = if self.codes == CodePlacement::Memory { self.pq_bytes as u64 } else { 0 };
        let book = match self.codes {
            CodePlacement::Memory | CodePlacement::Record => {
                4 * (4 + 2 * self.pq_bytes as u64 + 1 + 257 * rows.dim as u64)
            }
            CodePlacement::Off => 0,
        };
        let small = 3 * HEADER_BYTES as u64 + 16384;
        layout.file_bytes(rows.rows) + rows.rows * (code + key) + book + small
    }

    /// Bytes of the work files that say what lies where: the order of a shuffle, and codes in the order of rows.
    fn placement_bytes(&self, rows: &Rows) -> u64 {
        let order = if self.packing == Packing::PageShuffle { 4 } else { 0 };
        let by_row = self.codes == CodePlacement::Record || self.packing == Packing::PageShuffle;
        rows.rows * (order + if by_row { self.code_bytes() as u64 } else { 0 })
    }
}

impl BuildPlan {
    /// The phase that takes most memory.
    pub fn deciding(&self) -> Option<PhaseMemory> {
        self.memory.iter().copied().max_by_key(|phase| phase.bytes)
    }

    fn expect_room(self, out: &Path) -> Result<Self, BuildError> {
        let (needed, free) = (self.disk_bytes, self.free_bytes);
        if needed > free {
            return Err(BuildError::NoRoom { path: out.to_owned(), needed, free });
        }
        Ok(self)
    }
}

/// Peak memory of all phases, each within the budget.
fn peaks(
    sizes: &Sizes,
    shards: Option<usize>,
    mut peaks: Vec<(&'static str, u64)>,
) -> Result<Vec<PhaseMemory>, BuildError> {
    if let Some(shards) = shards {
        peaks.extend([("partition", sizes.partitioning(shards)), ("merge", sizes.merging(shards))]);
    }
    peaks.extend([("repair", sizes.repairing()), ("pages", sizes.paging())]);
    let peaks = peaks.into_iter().map(|(phase, bytes)| {
        let bytes = sizes.expect(bytes, phase)?;
        Ok(PhaseMemory { phase, bytes })
    });
    peaks.collect()
}

/// Bytes of a record by those of one without codes.
pub(crate) fn record_growth(layout: &Layout) -> f64 {
    let plain = layout.with_codes(0).map_or(layout.record_bytes(), |plain| plain.record_bytes());
    layout.record_bytes() as f64 / plain as f64
}

/// The largest sum of files that exist at one time.
fn peak_disk(rows: &Rows, layout: &Layout, graph: &ShardPlan, index: u64) -> u64 {
    let n = rows.rows;
    let adjacency = n * 4 * (layout.degree() as u64 + 1);
    let before_pages = index - layout.file_bytes(n);
    let pages = index + adjacency;
    // A graph that needs repair is there twice for a moment.
    let repair = before_pages + 2 * adjacency;
    let merge = match graph {
        ShardPlan::OneShot { .. } => 0,
        ShardPlan::Sharded { params, .. } => {
            let lists = 2 * n * 4 * (params.degree as u64 + 1);
            let rows = 2 * n * (rows.dim as u64 * rows.element.size() as u64 + 4) + 8 * n;
            before_pages + lists + rows.max(adjacency + 8 * n)
        }
    };
    pages.max(repair).max(merge)
}
