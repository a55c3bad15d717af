//! A build from its first phase to its last.

use super::begin::{Asked, Begun, begin};
use super::codes::CODES;
use super::input::Input;
use super::meter::{Meter, Spent};
use super::phase::Phase;
use super::placement::ORDER;
use super::plan::{BuildPlan, GraphPlan};
use super::report::{BuildReport, stored_report};
use super::scan::Stop;
use super::state::Inputs;
use super::work::Work;
use super::{BuildError, BuildOptions, CodePlacement};
use crate::import::{self, GraphSource};
use gleann_storage::{BuildId, BuildParameters, CodeFormat, IndexKind, Manifest};
use gleann_vector::{Element, ElementType, Matrix, Progress, VectorFile};
use half::f16;
use std::path::Path;

/// The graph as it was built.
pub(crate) const ADJACENCY: &str = "adjacency";
/// The graph when every vector is reachable, where that took changes.
pub(crate) const REPAIRED: &str = "adjacency.repaired";

/// Inputs that the manifest has no field for: they go into its options.
const MANIFEST_OPTIONS: [&str; 12] = [
    "version",
    "training_rows",
    "shards",
    "shard_capacity",
    "max_candidates",
    "slack",
    "mem_graph",
    import::GRAPH,
    import::CODEBOOK,
    import::MEM_GRAPH_OF,
    "shuffle_capacity",
    "shuffle_cut",
];

/// Builds the index of the vectors in `source` into the directory `out`, which is made, or must be empty, or hold
/// what an interrupted build of the same has left: then that is continued.
///
/// The same vectors, options and seed give the same files whatever the number of threads; only `build.json`,
/// which holds times, differs. `progress` is told of phases, and may stop the build.
///
/// # Errors
/// As [`BuildOptions::plan`]; and the vectors are unusable, a file cannot be read or written, or the build was
/// stopped.
pub fn build(
    source: &VectorFile,
    out: &Path,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BuildReport, BuildError> {
    match source.element_type() {
        ElementType::F32 => run(Input::<f32>::of_file(source)?, out, options, progress),
        ElementType::F16 => run(Input::<f16>::of_file(source)?, out, options, progress),
        ElementType::U8 => run(Input::<u8>::of_file(source)?, out, options, progress),
        ElementType::I8 => run(Input::<i8>::of_file(source)?, out, options, progress),
    }
}

/// [`build`] from rows in memory, to the same files. The memory budget counts them.
///
/// # Errors
/// As [`build`].
pub fn build_from_rows<T: Element>(
    rows: &Matrix<T>,
    out: &Path,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BuildReport, BuildError> {
    run(Input::of_matrix(rows), out, options, progress)
}

/// [`build`] of a graph that is there already.
pub(crate) fn run_given<T: Element>(
    source: &GraphSource,
    out: &Path,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BuildReport, BuildError> {
    run(Input::<T>::of_graph(source), out, options, progress)
}

fn run<T: Element>(
    input: Input<'_, T>,
    out: &Path,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BuildReport, BuildError> {
    let given = input.given.map(|source| source.given(options));
    let plan = options.plan_rows(input.shape(options.metric), out, given)?;
    let asked = Asked { out, keys: options.keys.as_deref(), restart: options.restart, progress };
    let origin = || import::identity(input.given, options, progress);
    let Some(begun) = begin(&input, inputs(&plan, options), &asked, origin)? else {
        return stored_report(out);
    };
    if let Some(phase) = begun.work.continued_after {
        progress.phase(&format!("continue after {}", phase.name()), 0);
    }
    let manifest = manifest(&plan, options, &begun);
    Run { input, options, plan, work: begun.work, progress, manifest }.all()
}

/// Everything that shapes the bytes, by name, as far as it is known before the data is read.
fn inputs(plan: &BuildPlan, options: &BuildOptions) -> Inputs {
    let graph = &options.graph();
    let (shards, capacity) = match plan.graph {
        GraphPlan::OneShot | GraphPlan::Given => (0, 0),
        GraphPlan::Sharded { shards, capacity } => (shards, capacity),
    };
    let layout = &plan.layout;
    let (shuffle_capacity, cut) = plan.jobs.shuffle.map_or((0, 0), |shuffle| (shuffle.capacity, shuffle.cut));
    let pairs = [
        ("system", "graph".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("rows", plan.rows.to_string()),
        ("dim", layout.dim().to_string()),
        ("element", layout.element().to_string()),
        ("metric", options.metric.to_string()),
        ("degree", graph.degree.to_string()),
        ("build_list", graph.list.to_string()),
        ("alpha", graph.alpha.to_string()),
        ("passes", graph.passes.to_string()),
        ("max_candidates", graph.max_candidates.to_string()),
        ("slack", graph.slack.to_string()),
        ("pq_bytes", options.code_bytes().to_string()),
        ("codes", options.codes.to_string()),
        ("packing", options.packing.to_string()),
        ("shuffle_capacity", shuffle_capacity.to_string()),
        ("shuffle_cut", cut.to_string()),
        ("page_size", options.page_size.to_string()),
        ("seed", options.seed.to_string()),
        ("training_rows", plan.training_rows.to_string()),
        ("shards", shards.to_string()),
        ("shard_capacity", capacity.to_string()),
        ("mem_graph", plan.jobs.mem_graph.map_or("none".into(), |job| job.description())),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The manifest but for its members and entry point.
fn manifest(plan: &BuildPlan, options: &BuildOptions, begun: &Begun) -> Manifest {
    let inputs = &begun.work.state.inputs;
    let named = |name: &&str| {
        let value = inputs.get(*name).filter(|value| !import::is_own(value))?;
        Some(((*name).to_owned(), value.clone()))
    };
    let mut manifest = Manifest {
        build_id: BuildId([0; 16]),
        kind: IndexKind::Graph,
        layout: plan.layout,
        metric: options.metric,
        nodes: plan.rows as u32,
        entry: None,
        packing: options.packing,
        codes: match options.codes {
            CodePlacement::Memory | CodePlacement::Record => {
                CodeFormat::Pq { chunks: options.pq_bytes as u32 }
            }
            CodePlacement::Off => CodeFormat::None,
        },
        parameters: BuildParameters {
            build_list: options.build_list as u32,
            alpha: options.alpha,
            passes: options.passes,
            seed: options.seed,
            options: MANIFEST_OPTIONS.iter().filter_map(named).collect(),
        },
        members: Vec::new(),
    };
    let keys = begun.keys.map(|hash| hash.to_string()).unwrap_or_default();
    manifest.build_id = manifest.derive_build_id(format!("{} {keys}", begun.content).as_bytes());
    manifest
}

/// A build under way.
pub(crate) struct Run<'a, T: Element> {
    pub input: Input<'a, T>,
    pub options: &'a BuildOptions,
    pub plan: BuildPlan,
    pub work: Work,
    pub progress: &'a dyn Progress,
    /// With its build id; the entry point and the members come last.
    pub manifest: Manifest,
}

impl<T: Element> Run<'_, T> {
    fn all(mut self) -> Result<BuildReport, BuildError> {
        if self.options.codes != CodePlacement::Off {
            self.phase(Phase::Train, Self::train)?;
            self.phase(Phase::Encode, Self::encode)?;
        }
        match self.plan.graph {
            GraphPlan::Given => self.phase(Phase::Graph, Self::copy_graph)?,
            GraphPlan::OneShot => self.phase(Phase::Graph, Self::build_whole)?,
            GraphPlan::Sharded { shards, capacity } => {
                self.phase(Phase::Partition, |run| run.partition(shards, capacity))?;
                self.phase(Phase::Graph, Self::build_shards)?;
                self.phase(Phase::Merge, |run| run.merge_shards(shards))?;
                self.remove_lists(shards)?;
            }
        }
        self.phase(Phase::Repair, Self::repair)?;
        if self.work.state.graph_repaired {
            self.work.remove(ADJACENCY)?;
        }
        if let Some(plan) = self.plan.jobs.shuffle {
            self.phase(Phase::Shuffle, |run| run.shuffle(&plan))?;
        }
        self.phase(Phase::Pages, Self::write_pages)?;
        if let Some(given) = self.input.given.and_then(|source| source.mem_graph_for(self.options)) {
            self.phase(Phase::MemGraph, |run| run.copy_mem_graph(given))?;
        }
        for name in [self.repaired_file(), ORDER, CODES] {
            self.work.remove(name)?;
        }
        if let Some(job) = self.plan.jobs.mem_graph {
            self.phase(Phase::MemGraph, |run| run.build_mem_graph(job))?;
        }
        self.finish()
    }

    /// Does `work` unless an earlier run has, and notes durably that it is done.
    fn phase(
        &mut self,
        phase: Phase,
        work: impl FnOnce(&mut Self) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        if self.work.state.finished.contains_key(&phase) {
            return Ok(());
        }
        self.expect_not_cancelled()?;
        let meter = Meter::start();
        work(self)?;
        // Shards are measured one by one, since each is kept.
        let shards = if phase == Phase::Graph { self.work.state.shards_spent } else { None };
        let spent: Spent = shards.unwrap_or_else(|| meter.stop());
        self.work.state.finished.insert(phase, spent);
        self.work.commit()
    }

    /// Number of vectors; the plan saw to it that ids have room for it.
    pub(crate) fn nodes(&self) -> u32 {
        self.plan.rows as u32
    }

    pub(crate) fn stopped(&self, stop: Stop) -> BuildError {
        match stop {
            Stop::Cancelled => self.cancelled(),
            Stop::Error(error) => error,
        }
    }

    pub(crate) fn cancelled(&self) -> BuildError {
        let finished = self.work.state.finished.keys().max().copied();
        BuildError::Cancelled { path: self.work.out.clone(), finished }
    }

    pub(crate) fn expect_not_cancelled(&self) -> Result<(), BuildError> {
        if self.progress.cancelled() { Err(self.cancelled()) } else { Ok(()) }
    }

    /// Reads all rows in pieces that fit the budget; `visit` is given the number of the first.
    pub(crate) fn for_each_piece(
        &self,
        name: &str,
        mut visit: impl FnMut(u64, &[T]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        self.progress.phase(name, self.plan.rows);
        let (dim, most) = (self.input.rows.dim(), self.plan.jobs.piece_rows as u64);
        let mut buffer = vec![T::zeroed(); most.min(self.plan.rows) as usize * dim];
        let mut start = 0;
        while start < self.plan.rows {
            self.expect_not_cancelled()?;
            let count = most.min(self.plan.rows - start);
            let piece = &mut buffer[..count as usize * dim];
            self.input.rows.read_rows(start, piece)?;
            visit(start, piece)?;
            self.progress.advance(count);
            start += count;
        }
        Ok(())
    }
}
