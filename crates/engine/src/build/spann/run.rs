//! A build of postings from its first phase to its last.

use super::super::BuildError;
use super::super::begin::{Asked, begin};
use super::super::input::Input;
use super::super::meter::Meter;
use super::super::phase::Phase;
use super::super::scan::Stop;
use super::super::state::Inputs;
use super::super::threads::thread_pool;
use super::super::work::Work;
use super::report::{SpannReport, stored_report};
use super::{SpannOptions, SpannPlan};
use gleann_graph::BuildDistance;
use gleann_spann::{Clusters, cluster};
use gleann_storage::{
    BuildId, BuildParameters, CodeFormat, IndexKind, Manifest, Packing, StorageError, write_centroids,
    write_keys, write_postings, write_report,
};
use gleann_vector::{Element, ElementType, Matrix, NodeId, Progress, VectorFile};
use half::f16;
use std::path::Path;

/// Inputs that the manifest has no field for: they go into its options.
const MANIFEST_OPTIONS: [&str; 6] = ["system", "version", "cluster", "capacity", "replicas", "closure"];
/// Rows that are read at a time.
const PIECE: usize = 1 << 14;

/// Builds an index of postings (SPANN) of the vectors in `source` into the directory `out`, which is made or must be
/// empty; what an interrupted build of the same has left is built anew.
///
/// The same vectors, options and seed give the same files whatever the number of threads; only `build.json`, which holds
/// times, differs. `progress` is told of phases, and may stop the build.
///
/// # Errors
/// As [`SpannOptions::plan`]; and the vectors are unusable, a file cannot be read or written, or the build was stopped.
pub fn build_spann(
    source: &VectorFile,
    out: &Path,
    options: &SpannOptions,
    progress: &dyn Progress,
) -> Result<SpannReport, BuildError> {
    match source.element_type() {
        ElementType::F32 => run(Input::<f32>::of_file(source)?, out, options, progress),
        ElementType::F16 => run(Input::<f16>::of_file(source)?, out, options, progress),
        ElementType::U8 => run(Input::<u8>::of_file(source)?, out, options, progress),
        ElementType::I8 => run(Input::<i8>::of_file(source)?, out, options, progress),
    }
}

/// [`build_spann`] from rows in memory, to the same files. The memory budget counts them.
///
/// # Errors
/// As [`build_spann`].
pub fn build_spann_from_rows<T: Element>(
    rows: &Matrix<T>,
    out: &Path,
    options: &SpannOptions,
    progress: &dyn Progress,
) -> Result<SpannReport, BuildError> {
    run(Input::of_matrix(rows), out, options, progress)
}

fn run<T: Element>(
    input: Input<'_, T>,
    out: &Path,
    options: &SpannOptions,
    progress: &dyn Progress,
) -> Result<SpannReport, BuildError> {
    let plan = options.plan_rows(input.shape(options.metric), out)?;
    let asked = Asked { out, keys: options.keys.as_deref(), restart: options.restart, progress };
    let Some(begun) = begin(&input, inputs(&plan, options), &asked, || Ok(Inputs::new()))? else {
        return stored_report(out);
    };
    let manifest = manifest(&plan, options, &begun.work.state.inputs);
    Run { input, options, plan, work: begun.work, progress, manifest }.all()
}

/// Everything that shapes the bytes, by name, as far as it is known before the data is read.
fn inputs(plan: &SpannPlan, options: &SpannOptions) -> Inputs {
    let (layout, params) = (&plan.layout, &plan.params);
    let pairs = [
        ("system", "spann".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("rows", plan.rows.to_string()),
        ("dim", layout.dim().to_string()),
        ("element", layout.element().to_string()),
        ("metric", options.metric.to_string()),
        ("page_size", options.page_size.to_string()),
        ("packing", Packing::ById.to_string()),
        ("posting_pages", plan.posting.pages().to_string()),
        ("capacity", params.capacity.to_string()),
        ("cluster", params.cluster.to_string()),
        ("replicas", params.replicas.to_string()),
        ("closure", params.closure.to_string()),
        ("degree", params.graph.degree.to_string()),
        ("build_list", params.graph.list.to_string()),
        ("alpha", params.graph.alpha.to_string()),
        ("passes", params.graph.passes.to_string()),
        ("seed", options.seed.to_string()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The manifest but for the number of its postings, its members and its entry point.
fn manifest(plan: &SpannPlan, options: &SpannOptions, inputs: &Inputs) -> Manifest {
    let named = |name: &&str| Some(((*name).to_owned(), inputs.get(*name)?.clone()));
    let graph = &plan.params.graph;
    let mut manifest = Manifest {
        build_id: BuildId([0; 16]),
        kind: IndexKind::Postings { postings: 0, pages: plan.posting.pages() as u32 },
        layout: plan.layout,
        metric: options.metric,
        nodes: plan.rows as u32,
        entry: None,
        packing: Packing::ById,
        codes: CodeFormat::None,
        parameters: BuildParameters {
            build_list: graph.list as u32,
            alpha: graph.alpha,
            passes: graph.passes,
            seed: options.seed,
            options: MANIFEST_OPTIONS.iter().filter_map(named).collect(),
        },
        members: Vec::new(),
    };
    manifest.build_id =
        manifest.derive_build_id(format!("{} {}", inputs["content"], inputs["keys"]).as_bytes());
    manifest
}

/// A build under way.
struct Run<'a, T: Element> {
    input: Input<'a, T>,
    options: &'a SpannOptions,
    plan: SpannPlan,
    work: Work,
    progress: &'a dyn Progress,
    manifest: Manifest,
}

impl<T: Element> Run<'_, T> {
    fn all(mut self) -> Result<SpannReport, BuildError> {
        let meter = Meter::start();
        let read;
        let vectors = match self.input.resident {
            Some(vectors) => vectors,
            None => {
                read = self.input.read_all(PIECE, self.progress).map_err(|stop| self.stopped(stop))?;
                &read
            }
        };
        let clusters = self.cluster(vectors)?;
        self.work.state.finished.insert(Phase::Cluster, meter.stop());
        let meter = Meter::start();
        self.write(vectors, &clusters)?;
        self.work.state.finished.insert(Phase::Pages, meter.stop());
        self.finish(&clusters)
    }

    fn cluster(&self, vectors: &Matrix<T>) -> Result<Clusters<T>, BuildError> {
        let clusters = thread_pool(self.plan.threads)?.install(|| {
            let distance = BuildDistance::new(self.options.metric, vectors);
            cluster(vectors, &distance, &self.plan.params, self.progress)
        });
        clusters.map_err(|_| self.cancelled())
    }

    fn write(&mut self, vectors: &Matrix<T>, clusters: &Clusters<T>) -> Result<(), BuildError> {
        let Clusters { members, centroids, graph } = clusters;
        let keys = self.options.key_bytes(self.plan.rows);
        self.plan.expect_room(&self.work.out, members.len() as u64, keys)?;
        self.progress.phase("postings", members.len() as u64);
        let place = (self.work.dir(), self.manifest.build_id);
        let count = members.len() as u32;
        let list = |posting: u32| members[posting as usize].as_slice();
        let written = write_postings(place, &self.plan.posting, (count, list), vectors, self.progress);
        let postings = match written {
            Err(StorageError::Cancelled) => return Err(self.cancelled()),
            written => written?,
        };
        let navigation = write_centroids(place, &self.plan.layout, centroids, |id| graph.neighbours(id))?;
        let keys = self.options.keys.as_deref().map(|keys| write_keys(place.0, place.1, keys)).transpose()?;
        [Some(postings), Some(navigation), keys]
            .iter()
            .flatten()
            .for_each(|entry| self.work.add_member(entry));
        let pages = self.plan.posting.pages() as u32;
        self.manifest.kind = IndexKind::Postings { postings: count, pages };
        self.manifest.entry = graph.entry().map(NodeId);
        Ok(())
    }

    /// Publishes the index. Until the manifest is there the directory is none; from then on it is whole.
    fn finish(mut self, clusters: &Clusters<T>) -> Result<SpannReport, BuildError> {
        self.progress.phase("finish", 0);
        let build_id = self.manifest.build_id;
        let report = SpannReport::new(&self.plan, &self.work.state, &clusters.members, build_id.to_string());
        self.work.move_members()?;
        write_report(&self.work.out, build_id, report.to_json())?;
        self.manifest.members = self.work.state.members();
        self.manifest.publish(&self.work.out)?;
        self.work.clear()?;
        Ok(report)
    }

    fn stopped(&self, stop: Stop) -> BuildError {
        match stop {
            Stop::Cancelled => self.cancelled(),
            Stop::Error(error) => error,
        }
    }

    fn cancelled(&self) -> BuildError {
        BuildError::Cancelled { path: self.work.out.clone(), finished: None }
    }
}
