//! A graph that is there already.

use super::ImportError;
use super::mem_graph::GivenMemGraph;
use super::nodes::Nodes;
use super::order::RowOrder;
use crate::build::{BuildError, BuildOptions, BuildPlan, BuildReport, CodePlacement, run_given};
use gleann_graph::Rows;
use gleann_quant::Codebook;
use gleann_vector::{ContentHash, ElementType, Fingerprint, Key, Metric, Progress, RowSource, SourceError};
use half::f16;
use std::collections::BTreeMap;
use std::path::Path;

/// What becomes of the rows of a [`GraphSource`], whatever they come from.
#[derive(Debug)]
pub(crate) struct SourceParts {
    pub nodes: Nodes,
    /// Elements of a row of the build.
    pub dim: usize,
    pub element: ElementType,
    /// Where searches begin, as a row.
    pub entry: Option<u32>,
    pub order: Option<RowOrder>,
    /// The codebook, where it is one of ours.
    pub codebook: Option<Codebook>,
    /// A navigation graph over some of the rows.
    pub mem_graph: Option<GivenMemGraph>,
    /// The hash of the source's own build, or `None` where the file itself is to be hashed.
    pub graph: Option<String>,
    /// What a build takes over, the keys of the rows among it.
    pub options: BuildOptions,
    /// Parameters that are known of the graph and may not be given otherwise.
    pub known: bool,
    /// What was not taken over as it is, and why.
    pub notes: Vec<String>,
    pub name: String,
}

/// A graph with its vectors that a build takes over instead of making one: [`GraphSource::from_index`] and
/// [`GraphSource::from_diskann`] open one, [`build_from_graph`] makes an index of it.
///
/// Its rows are numbered anew: in the ascending order of their keys for an index, in the order of their ids (or of
/// their pages, where there is a partition) for DiskANN's. Its memory is counted into the build's budget.
#[derive(Debug)]
pub struct GraphSource {
    parts: SourceParts,
}

/// What a plan has to know of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    /// Bytes that the source holds throughout.
    pub bytes: u64,
    /// Whether the codebook is given, too.
    pub codebook: bool,
}

impl GraphSource {
    pub(crate) fn new(parts: SourceParts) -> Self {
        Self { parts }
    }

    pub(crate) fn parts(&self) -> &SourceParts {
        &self.parts
    }

    /// Options that make the same index again, as far as the source says how it was made. Metric, degree, keys and the
    /// parameters of the graph are the source's and cannot be chosen; page size, code length, packing, budget and
    /// threads can.
    pub fn options(&self) -> BuildOptions {
        self.parts.options.clone()
    }

    /// What is not taken over as it is, and why; a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.parts.notes
    }

    /// Number of vectors.
    pub fn rows(&self) -> u64 {
        self.parts.nodes.count().into()
    }

    /// Elements a vector.
    pub fn dim(&self) -> usize {
        self.parts.dim
    }

    /// Element type of the vectors.
    pub fn element(&self) -> ElementType {
        self.parts.element
    }

    /// Whether a build with `options` keeps the source's codebook; otherwise one is trained.
    pub fn keeps_codebook(&self, options: &BuildOptions) -> bool {
        self.codebook_for(options).is_some()
    }

    /// Whether a build with `options` keeps the source's navigation graph; a wanted one takes its place.
    pub fn keeps_mem_graph(&self, options: &BuildOptions) -> bool {
        self.mem_graph_for(options).is_some()
    }

    pub(crate) fn mem_graph_for(&self, options: &BuildOptions) -> Option<&GivenMemGraph> {
        self.parts.mem_graph.as_ref().filter(|_| options.mem_graph.is_none())
    }

    /// Plans the build; reads no data.
    ///
    /// # Errors
    /// As [`BuildOptions::plan`], and options that a source decides differ from the source's.
    pub fn plan(&self, options: &BuildOptions, out: &Path) -> Result<BuildPlan, BuildError> {
        self.check(options)?;
        options.plan_rows(self.shape(options.metric), out, Some(self.given(options)))
    }

    pub(crate) fn given(&self, options: &BuildOptions) -> Given {
        let order = self.parts.order.as_ref().map_or(0, RowOrder::bytes);
        let keys = self.parts.options.keys.as_ref().map_or(0, |keys| 8 * keys.len() as u64);
        let mem_graph = self.parts.mem_graph.as_ref().map_or(0, GivenMemGraph::memory_bytes);
        let block = self.parts.nodes.block_bytes() as u64;
        let places = match &self.parts.nodes {
            Nodes::Index(_) => 0,
            Nodes::DiskAnn(file) => file.memory_bytes(),
        };
        Given { bytes: order + keys + places + mem_graph + block, codebook: self.keeps_codebook(options) }
    }

    /// The codebook of a build with `options`, where it is the source's.
    pub(crate) fn codebook_for(&self, options: &BuildOptions) -> Option<&Codebook> {
        let fits = |book: &&Codebook| {
            options.codes != CodePlacement::Off
                && book.chunks() == options.pq_bytes
                && book.metric() == options.metric
        };
        self.parts.codebook.as_ref().filter(fits)
    }

    /// What names the source in messages.
    pub(crate) fn name(&self) -> &str {
        &self.parts.name
    }

    fn graph_identity(&self, progress: &dyn Progress) -> Result<String, SourceError> {
        if let Some(graph) = &self.parts.graph {
            return Ok(graph.clone());
        }
        progress.phase("hash graph", 0);
        Ok(Fingerprint::of(&Blocks { source: self, progress })?.hash.to_string())
    }

    fn shape(&self, metric: Metric) -> Rows {
        Rows { rows: self.rows(), dim: self.dim(), element: self.element(), metric }
    }

    fn check(&self, options: &BuildOptions) -> Result<(), BuildError> {
        let own = &self.parts.options;
        let same = |option, found: String, expected: String| match found == expected {
            true => Ok(()),
            false => {
                Err(BuildError::option(option, found, format!("{expected}, that of the graph taken over")))
            }
        };
        same("metric", options.metric.to_string(), own.metric.to_string())?;
        same("degree", options.degree.to_string(), own.degree.to_string())?;
        if options.keys.as_ref().is_some_and(|keys| Some(keys) != own.keys.as_ref()) {
            return Err(BuildError::option("keys", "a list", "those of the graph taken over"));
        }
        if self.parts.known {
            same("build list", options.build_list.to_string(), own.build_list.to_string())?;
            same("alpha", options.alpha.to_string(), own.alpha.to_string())?;
            same("passes", options.passes.to_string(), own.passes.to_string())?;
        }
        Ok(())
    }
}

/// Names of the inputs that say where graph, codebook and navigation graph come from.
pub(crate) const GRAPH: &str = "graph";
pub(crate) const CODEBOOK: &str = "codebook";
pub(crate) const MEM_GRAPH_OF: &str = "mem_graph_of";
/// Their values where the build makes them.
const BUILT: &str = "built";
const TRAINED: &str = "trained";

/// Whether the value of [`GRAPH`] or [`CODEBOOK`] says that the build makes it.
pub(crate) fn is_own(value: &str) -> bool {
    matches!(value, BUILT | TRAINED)
}

/// Inputs of a build that tell graphs and the like of different origin apart.
///
/// # Errors
/// The source cannot be read.
pub(crate) fn identity(
    source: Option<&GraphSource>,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BTreeMap<String, String>, BuildError> {
    let graph = source.map(|source| source.graph_identity(progress)).transpose()?;
    let codebook = source.and_then(|source| source.codebook_for(options));
    let codebook = codebook.map(|book| hash(&book.to_bytes())).transpose()?;
    let mem_graph = source.and_then(|source| source.mem_graph_for(options));
    let mem_graph = mem_graph.map(|given| hash(&given.to_bytes())).transpose()?;
    let pairs = [
        (MEM_GRAPH_OF, mem_graph.map_or(BUILT.into(), |hash| hash.to_string())),
        (GRAPH, graph.unwrap_or_else(|| BUILT.into())),
        (CODEBOOK, codebook.map_or(TRAINED.into(), |hash| hash.to_string())),
    ];
    Ok(pairs.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Builds an index in `out` of a graph that is there already: its vectors, lists and entry point are taken over, and
/// its codebook where it fits; pages, codes and everything else are made as [`build`](crate::build) makes them. May be
/// stopped and continued like a build.
///
/// # Errors
/// As [`GraphSource::plan`]; and the source cannot be read, is damaged, or the build was stopped.
pub fn build_from_graph(
    source: &GraphSource,
    out: &Path,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BuildReport, BuildError> {
    source.check(options)?;
    let options = BuildOptions { keys: source.parts.options.keys.clone(), ..options.clone() };
    match source.element() {
        ElementType::F32 => run_given::<f32>(source, out, &options, progress),
        ElementType::F16 => run_given::<f16>(source, out, &options, progress),
        ElementType::U8 => run_given::<u8>(source, out, &options, progress),
        ElementType::I8 => run_given::<i8>(source, out, &options, progress),
    }
}

/// Whether keys in ascending order are row numbers.
pub(crate) fn are_row_numbers(ascending: &[Key]) -> bool {
    ascending.iter().zip(0u64..).all(|(&key, row)| key == row)
}

fn hash(bytes: &[u8]) -> Result<ContentHash, SourceError> {
    let row = gleann_vector::Matrix::from_rows(bytes, bytes.len());
    Ok(Fingerprint::of(&row)?.hash)
}

/// The blocks of a source as rows of bytes, to be hashed like any others.
struct Blocks<'a> {
    source: &'a GraphSource,
    progress: &'a dyn Progress,
}

impl RowSource<u8> for Blocks<'_> {
    fn rows(&self) -> u64 {
        match &self.source.parts.nodes {
            Nodes::Index(file) => file.blocks().into(),
            Nodes::DiskAnn(file) => file.blocks(),
        }
    }

    fn dim(&self) -> usize {
        self.source.parts.nodes.block_bytes()
    }

    fn read_rows(&self, start: u64, into: &mut [u8]) -> Result<(), SourceError> {
        let end = start + (into.len() / self.dim()) as u64;
        let fail =
            |message: String| SourceError { name: self.source.parts.name.clone(), start, end, message };
        if self.progress.cancelled() {
            return Err(fail("stopped".into()));
        }
        for (block, bytes) in (start..).zip(into.chunks_exact_mut(self.dim())) {
            let read = self.source.parts.nodes.read_block(block, bytes);
            read.map_err(|error: ImportError| fail(error.to_string()))?;
        }
        Ok(())
    }
}
