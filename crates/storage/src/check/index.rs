//! Checking an index: everything that its files alone can prove.
//!
//! Not here: whether a codebook is one (its reader is passed in), whether every node can be reached.

use crate::centroid_file::load_centroids;
use crate::check::graph::check_graph;
use crate::check::postings::check_postings;
use crate::code_file::load_codebook;
use crate::error::{FieldError, StorageError};
use crate::header::DAMAGED;
use crate::key_file::load_keys;
use crate::manifest::{CodeFormat, Manifest};
use crate::mem_graph_file::load_mem_graph;
use crate::member::MemberKind;
use crate::member_reader::{MemberReader, PIECE};
use crate::report_file::{REPORT_NAME, read_report};
use gleann_vector::{Element, ElementType, Progress, check_finite};
use half::f16;
use std::path::Path;

/// Problems that are listed; the others are counted.
pub const LISTED_PROBLEMS: usize = 100;

/// Reads a codebook: the number of centroids of each chunk, or what is wrong with it.
pub type CentroidCounts<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u32>, String>;

/// Something that is wrong with an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File name inside the index directory.
    pub file: String,
    /// Byte offset of the wrong thing, where it has one.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{}, byte {offset}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The first [`LISTED_PROBLEMS`] problems.
    pub problems: Vec<Problem>,
    /// How many there are in all.
    pub problem_count: u64,
    /// Records that could be read; in postings, every copy of a vector.
    pub records: u64,
    /// Number of records by degree, 0 to the degree bound.
    pub degrees: Vec<u64>,
    /// Element c: how many vectors are in c postings; empty in a graph.
    pub copies: Vec<u64>,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    /// Number of edges of the records that could be read.
    pub fn edges(&self) -> u64 {
        self.degrees.iter().zip(0u64..).map(|(count, degree)| count * degree).sum()
    }

    /// Adds a problem of the file of that name, at a byte of it where it has a place.
    pub fn problem(&mut self, file: &str, offset: impl Into<Option<u64>>, message: impl ToString) {
        self.problem_count += 1;
        if self.problems.len() < LISTED_PROBLEMS {
            let problem = Problem { file: file.into(), offset: offset.into(), message: message.to_string() };
            self.problems.push(problem);
        }
    }

    /// Takes what could be read out of `result`; a failure is a problem of `file`, a wish to stop is passed on.
    fn take<T>(&mut self, file: &str, result: Result<T, StorageError>) -> Result<Option<T>, StorageError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(StorageError::Cancelled) => Err(StorageError::Cancelled),
            Err(error) => {
                self.problem(file, None, error);
                Ok(None)
            }
        }
    }
}

/// Checks the index in `dir`: every length, header and checksum; in every record the degree, the neighbour ids
/// (in range, different, not the node's own) and the vector (finite); every code against the number of
/// centroids; that keys are unique; the navigation graph; that the report is the index's own. Memory: a few MiB, and the keys.
///
/// # Errors
/// There is no manifest that could be believed, so nothing can be checked; or `progress` asked to stop.
pub fn check_index(
    dir: &Path,
    centroids: CentroidCounts<'_>,
    progress: &dyn Progress,
) -> Result<CheckReport, StorageError> {
    let manifest = Manifest::read(dir)?;
    let mut report = CheckReport::default();
    let name = |kind| manifest.member(kind).map(|entry| entry.name.as_str());
    if let Some(name) = name(MemberKind::Graph) {
        let checked = check_graph(dir, &manifest, progress, &mut report);
        report.take(name, checked)?;
    }
    if let Some(name) = name(MemberKind::Postings) {
        let checked = check_postings(dir, &manifest, progress, &mut report);
        report.take(name, checked)?;
    }
    if let Some(name) = name(MemberKind::Centroids) {
        let checked = check_centroids(dir, &manifest);
        report.take(name, checked)?;
    }
    let mut counts = None;
    if let Some(name) = name(MemberKind::Codebook) {
        let codebook = report.take(name, load_codebook(dir, &manifest))?.flatten();
        counts =
            codebook.and_then(|bytes| check_codebook(&mut report, name, centroids(&bytes), manifest.codes));
    }
    if let Some(name) = name(MemberKind::Codes) {
        let checked = check_codes(dir, &manifest, counts.as_deref(), progress, &mut report);
        report.take(name, checked)?;
    }
    if let Some(name) = name(MemberKind::Keys) {
        let keys = report.take(name, load_keys(dir, &manifest))?.flatten();
        check_keys(&mut report, name, keys.unwrap_or_default());
    }
    if let Some(name) = name(MemberKind::MemGraph)
        && let Some(graph) = report.take(name, load_mem_graph(dir, &manifest))?.flatten()
    {
        report.take_mem_graph(name, &graph, (&manifest, counts.as_deref()));
    }
    report.take(REPORT_NAME, read_report(dir, manifest.build_id))?;
    Ok(report)
}

/// Loads the centroids, which proves their checksums and lists, and looks for what is not finite.
fn check_centroids(dir: &Path, manifest: &Manifest) -> Result<(), StorageError> {
    fn all<T: Element>(dir: &Path, manifest: &Manifest) -> Result<(), StorageError> {
        let Some(centroids) = load_centroids::<T>(dir, manifest)? else { return Ok(()) };
        check_finite(centroids.vectors.as_slice(), manifest.layout.dim(), 0).map_err(|error| {
            let path = dir.join(MemberKind::Centroids.file_name());
            FieldError::new("a centroid", error, "finite").at(&path, DAMAGED)
        })
    }
    match manifest.layout.element() {
        ElementType::F32 => all::<f32>(dir, manifest),
        ElementType::F16 => all::<f16>(dir, manifest),
        ElementType::U8 => all::<u8>(dir, manifest),
        ElementType::I8 => all::<i8>(dir, manifest),
    }
}

fn check_codebook(
    report: &mut CheckReport,
    name: &str,
    counts: Result<Vec<u32>, String>,
    codes: CodeFormat,
) -> Option<Vec<u32>> {
    match counts {
        Ok(counts) if counts.len() == codes.bytes_per_node() => Some(counts),
        Ok(counts) => {
            let expected = codes.bytes_per_node();
            report.problem(
                name,
                None,
                format!("has {} chunks, expected {expected} as in MANIFEST", counts.len()),
            );
            None
        }
        Err(message) => {
            report.problem(name, None, message);
            None
        }
    }
}

/// Holds every byte of every code against the number of centroids of its chunk, where that is known.
fn check_codes(
    dir: &Path,
    manifest: &Manifest,
    counts: Option<&[u32]>,
    progress: &dyn Progress,
    report: &mut CheckReport,
) -> Result<(), StorageError> {
    let Some(member) = MemberReader::open(dir, manifest, MemberKind::Codes)? else { return Ok(()) };
    let name = file_name(member.path());
    let row = manifest.codes.bytes_per_node().max(1);
    progress.phase("check codes", member.payload_bytes());
    let mut payload = member.payload()?;
    let mut piece = vec![0; (PIECE / row).max(1) * row];
    let mut node = 0u64;
    while payload.left() > 0 {
        if progress.cancelled() {
            return Err(StorageError::Cancelled);
        }
        let length = payload.left().min(piece.len() as u64) as usize;
        payload.fill(&mut piece[..length])?;
        for code in piece[..length].chunks_exact(row) {
            let bad =
                counts.and_then(|counts| counts.iter().zip(code).position(|(&n, &c)| u32::from(c) >= n));
            if let (Some(chunk), Some(counts)) = (bad, counts) {
                let offset = u64::from(manifest.payload_offset(MemberKind::Codes)) + node * row as u64;
                let message = format!(
                    "node {node}, chunk {chunk}: code {} of {} centroids",
                    code[chunk], counts[chunk]
                );
                report.problem(&name, offset + chunk as u64, message);
            }
            node += 1;
        }
        progress.advance(length as u64);
    }
    payload.finish()
}

fn check_keys(report: &mut CheckReport, name: &str, mut keys: Vec<u64>) {
    keys.sort_unstable();
    for run in keys.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
        report.problem(name, None, format!("key {} stands for {} nodes, expected one", run[0], run.len()));
    }
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
