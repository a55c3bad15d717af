//! Checking an index: everything that its files prove, and what takes a quantiser and a graph to know.

use crate::build::{BuildReport, read_report};
use crate::check_postings::{check_centroids, check_spann_report};
use crate::live::check_live_index;
use crate::mem_graph::check_mem_graph;
use crate::stored_codes::{StoredCode, StoredCodes};
use gleann_graph::{AdjacencyRows, ListBlock, reachable};
use gleann_quant::Codebook;
use gleann_storage::{
    BlockId, CheckReport, GraphFile, IndexDirectory, IndexKind, LISTED_PROBLEMS, Manifest, MemberKind,
    NodeReader, Problem, REPORT_NAME, StorageError,
};
use gleann_update::LiveCheck;
use gleann_vector::{Element, ElementType, Matrix, NodeId, Progress};
use half::f16;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// Records whose code is computed anew.
const SAMPLED_CODES: u64 = 10_000;

/// Bytes of vectors that are encoded at a time.
const SAMPLED_BYTES: usize = 1 << 20;

/// What a check of an index found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexCheck {
    /// The first problems, by file and place.
    pub problems: Vec<Problem>,
    /// How many there are in all.
    pub problem_count: u64,
    /// The index, as its manifest names it.
    pub build_id: String,
    /// What the vectors lie in.
    pub kind: IndexKind,
    /// Number of vectors.
    pub rows: u64,
    /// Records that could be read; in postings, every copy of a vector.
    pub records: u64,
    /// Element d: how many vectors have d neighbours.
    pub degrees: Vec<u64>,
    /// Element c: how many vectors are in c postings; empty in a graph.
    pub copies: Vec<u64>,
    /// Vectors, or centroids of postings, that can be reached from the entry point; `None` where the graph is too damaged to tell.
    pub reachable: Option<u64>,
    /// Codes that were computed anew from their vectors.
    pub codes_compared: u64,
    /// What else there is to say of a live index: deleted nodes, free places, the log.
    pub live: Option<LiveCheck>,
}

impl IndexCheck {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    fn of(manifest: &Manifest, found: CheckReport) -> Self {
        Self {
            problems: found.problems,
            problem_count: found.problem_count,
            build_id: manifest.build_id.to_string(),
            kind: manifest.kind,
            rows: manifest.nodes.into(),
            records: found.records,
            degrees: found.degrees,
            copies: found.copies,
            reachable: None,
            codes_compared: 0,
            live: None,
        }
    }

    /// Nothing known yet of a live index.
    pub(crate) fn of_live(manifest: &Manifest) -> Self {
        Self { rows: 0, ..Self::of(manifest, CheckReport::default()) }
    }

    /// Takes what the files of a live index say.
    pub(crate) fn take_live(&mut self, mut found: LiveCheck) {
        let report = std::mem::take(&mut found.report);
        self.problem_count += report.problem_count;
        self.problems.extend(report.problems);
        self.problems.truncate(LISTED_PROBLEMS);
        (self.rows, self.records, self.degrees) = (found.live, report.records, report.degrees);
        (self.reachable, self.codes_compared) = (found.reachable, found.codes_compared);
        self.live = Some(found);
    }

    pub(crate) fn problem(&mut self, file: &str, offset: Option<u64>, message: impl ToString) {
        self.problem_count += 1;
        if self.problems.len() < LISTED_PROBLEMS {
            self.problems.push(Problem { file: file.into(), offset, message: message.to_string() });
        }
    }
}

/// Checks the index in `dir`: every length and checksum, every record, key and code; that the codebook is one
/// and belongs to the index; that every vector can be reached; on a sample, that codes are those of their
/// vectors; that all of the navigation graph can be reached and goes by the vectors; and that the report agrees with
/// the index. Memory: a few MiB, two bits a vector, the keys.
///
/// Of a live index, which must not be open: the page table, every block of it, every place by what the last checkpoint says
/// of it, and the log. That vectors cannot be reached is no problem there, but a reason to compact.
///
/// # Errors
/// There is no manifest that could be believed, so nothing can be checked; or `progress` asked to stop.
pub fn check_index(dir: &Path, progress: &dyn Progress) -> Result<IndexCheck, StorageError> {
    if IndexDirectory::is_live(dir) {
        return check_live_index(dir, progress);
    }
    let centroids = |bytes: &[u8]| {
        let codebook = Codebook::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok((0..codebook.chunks()).map(|chunk| codebook.centroids(chunk) as u32).collect())
    };
    let found = gleann_storage::check_index(dir, &centroids, progress)?;
    let manifest = Manifest::read(dir)?;
    let mut check = IndexCheck::of(&manifest, found);
    // What follows reads the same files again: where they are damaged it could only repeat that.
    let Ok(index) = IndexDirectory::open(dir) else { return Ok(check) };
    match check.kind {
        IndexKind::Graph => {
            check_report(&mut check, &index);
            if check.is_sound() {
                check_reachability(&mut check, &index, progress)?;
                check_codes(&mut check, &index, progress)?;
                let codebook = index.codebook()?.and_then(|bytes| Codebook::from_bytes(&bytes).ok());
                check_mem_graph(&mut check, &index, codebook.as_ref(), progress)?;
            }
        }
        IndexKind::Postings { .. } => {
            check_spann_report(&mut check, &index);
            if check.is_sound() {
                check_centroids(&mut check, &index, progress)?;
            }
        }
    }
    Ok(check)
}

/// Holds `build.json` against the manifest. An unreadable one has been reported before.
fn check_report(check: &mut IndexCheck, index: &IndexDirectory) {
    let Ok(map) = index.report() else { return };
    let report: BuildReport = match read_report(map) {
        Ok(report) => report,
        Err(message) => return check.problem(REPORT_NAME, None, message),
    };
    let members = &index.manifest().members;
    let bytes = members.iter().map(|entry| (entry.name.clone(), entry.bytes)).collect();
    let differences = [
        ("rows", report.rows != check.rows),
        ("members", report.members != bytes),
        ("degrees", check.is_sound() && histogram(&report.degrees) != histogram(&check.degrees)),
        ("parameters", !same_parameters(&report.parameters, index.manifest())),
    ];
    for (field, _) in differences.into_iter().filter(|(_, differs)| *differs) {
        check.problem(REPORT_NAME, None, format!("\"{field}\" is not that of the index"));
    }
}

fn histogram(degrees: &[u64]) -> &[u64] {
    let used = degrees.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    &degrees[..used]
}

pub(crate) fn same_parameters(parameters: &BTreeMap<String, String>, manifest: &Manifest) -> bool {
    let expected = [
        ("metric", manifest.metric.to_string()),
        ("element", manifest.layout.element().to_string()),
        ("dim", manifest.layout.dim().to_string()),
        ("degree", manifest.layout.degree().to_string()),
        ("page_size", manifest.layout.page_size().to_string()),
        ("packing", manifest.packing.to_string()),
        ("seed", manifest.parameters.seed.to_string()),
    ];
    expected.iter().all(|(name, value)| parameters.get(*name) == Some(value))
}

fn check_reachability(
    check: &mut IndexCheck,
    index: &IndexDirectory,
    progress: &dyn Progress,
) -> Result<(), StorageError> {
    progress.phase("check reachability", 0);
    let graph = index.graph()?;
    let rows = GraphRows {
        graph: &graph,
        progress,
        block: RefCell::new(Matrix::zeroed(1, graph.layout().block_bytes())),
    };
    let reached = reachable(&rows, index.manifest().entry.map(|node| node.0))?;
    check.reachable = Some(reached.count());
    for node in reached.unreached() {
        let offset = graph.layout().offset(graph.layout().block_of(NodeId(node)));
        let message = format!("node {node} cannot be reached from the entry point");
        check.problem(MemberKind::Graph.file_name(), Some(offset), message);
    }
    Ok(())
}

/// The lists in a graph file.
struct GraphRows<'a> {
    graph: &'a GraphFile,
    progress: &'a dyn Progress,
    block: RefCell<Matrix<u8>>,
}

impl AdjacencyRows for GraphRows<'_> {
    type Error = StorageError;

    fn nodes(&self) -> u32 {
        self.graph.nodes()
    }

    fn degree_bound(&self) -> usize {
        self.graph.layout().degree()
    }

    fn read(&self, start: u32, count: u32, into: &mut ListBlock) -> Result<(), StorageError> {
        if self.progress.cancelled() {
            return Err(StorageError::Cancelled);
        }
        into.clear();
        let mut buffer = self.block.borrow_mut();
        let (first, last) = (self.block_of(start), self.block_of(start + count - 1));
        let mut list = Vec::new();
        for id in (first.0..=last.0).map(BlockId) {
            self.graph.read_block(id, buffer.as_mut_slice())?;
            for node in self.graph.nodes_of(id) {
                if (start..start + count).contains(&node.0) {
                    let record = self.graph.record(buffer.as_slice(), node)?;
                    list.clear();
                    list.extend(record.neighbours());
                    into.push(&list);
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, _: u32, _: &[u32]) -> Result<(), StorageError> {
        unreachable!("a check changes nothing")
    }
}

impl GraphRows<'_> {
    fn block_of(&self, node: u32) -> BlockId {
        self.graph.layout().block_of(NodeId(node))
    }
}

/// Encodes a sample of vectors again and compares.
fn check_codes(
    check: &mut IndexCheck,
    index: &IndexDirectory,
    progress: &dyn Progress,
) -> Result<(), StorageError> {
    let Some(bytes) = index.codebook()? else { return Ok(()) };
    let Ok(codebook) = Codebook::from_bytes(&bytes) else { return Ok(()) };
    let manifest = index.manifest();
    if codebook.metric() != manifest.metric || codebook.dim() != manifest.layout.dim() {
        let message = format!(
            "it is for {} and {} dimensions, the index for {} and {}",
            codebook.metric(),
            codebook.dim(),
            manifest.metric,
            manifest.layout.dim()
        );
        check.problem(MemberKind::Codebook.file_name(), None, message);
        return Ok(());
    }
    match manifest.layout.element() {
        ElementType::F32 => compare_codes::<f32>(check, index, &codebook, progress),
        ElementType::F16 => compare_codes::<f16>(check, index, &codebook, progress),
        ElementType::U8 => compare_codes::<u8>(check, index, &codebook, progress),
        ElementType::I8 => compare_codes::<i8>(check, index, &codebook, progress),
    }
}

fn compare_codes<T: Element>(
    check: &mut IndexCheck,
    index: &IndexDirectory,
    codebook: &Codebook,
    progress: &dyn Progress,
) -> Result<(), StorageError> {
    let graph = index.graph()?;
    let mut stored = StoredCodes::open(index, &graph, codebook.chunks())?;
    let nodes = u64::from(graph.nodes());
    let sample = nodes.min(SAMPLED_CODES);
    progress.phase("compare codes", sample);
    let sampled: Vec<u32> = (0..sample).map(|index| (index * nodes / sample) as u32).collect();
    let mut reader = NodeReader::new(&graph);
    let (mut vectors, mut computed) = (Vec::<T>::new(), Vec::new());
    let mut found: Vec<StoredCode> = Vec::new();
    // Encoding many rows at once is far cheaper a row.
    for nodes in sampled.chunks((SAMPLED_BYTES / (codebook.dim() * size_of::<T>())).max(1)) {
        vectors.clear();
        found.clear();
        for &node in nodes {
            let Some(code) = stored.next(node)? else { continue };
            vectors.extend_from_slice(reader.record(NodeId(code.node))?.vector::<T>());
            found.push(code);
        }
        computed.resize(found.len() * codebook.chunks(), 0);
        codebook.encode_rows(&vectors, &mut computed);
        for (code, computed) in found.iter().zip(computed.chunks_exact(codebook.chunks())) {
            if code.bytes != computed {
                let message = format!("the code of node {} is not that of its vector", code.node);
                check.problem(stored.file(), Some(code.offset), message);
            }
        }
        check.codes_compared += found.len() as u64;
        progress.advance(nodes.len() as u64);
        if progress.cancelled() {
            return Err(StorageError::Cancelled);
        }
    }
    Ok(())
}
