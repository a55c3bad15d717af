//! The part of a check that walks over the graph.

use crate::block::{record_bytes, verify_block};
use crate::check::{CheckReport, file_name};
use crate::error::StorageError;
use crate::graph_file::GraphFile;
use crate::layout::{BLOCK_TRAILER, BlockId, Layout};
use crate::manifest::Manifest;
use crate::record::Record;
use gleann_vector::{ElementType, NodeId, NotFinite, Progress, check_finite};
use half::f16;
use std::path::Path;

/// Checks every block and record. What is wrong with one of them is a problem in the report and does not end
/// the walk; records of a damaged block are not looked at.
///
/// # Errors
/// The file cannot be opened or read, its checksums do not match, or `progress` asked to stop.
pub(crate) fn check_graph(
    dir: &Path,
    manifest: &Manifest,
    progress: &dyn Progress,
    report: &mut CheckReport,
) -> Result<(), StorageError> {
    let graph = GraphFile::open(dir, manifest)?;
    let layout = *graph.layout();
    report.degrees = vec![0; layout.degree() + 1];
    progress.phase("check graph", layout.file_bytes(graph.nodes().into()) - layout.page_size() as u64);
    let mut walk = Walk { graph: &graph, name: file_name(graph.path()), report, sorted: Vec::new() };
    let payload = graph.scan(progress, |id, block| {
        walk.block(id, block);
        Ok(())
    })?;
    payload.finish()
}

struct Walk<'a> {
    graph: &'a GraphFile,
    name: String,
    report: &'a mut CheckReport,
    /// Scratch: the neighbour list under check.
    sorted: Vec<u32>,
}

impl Walk<'_> {
    fn block(&mut self, id: BlockId, block: &[u8]) {
        let layout = self.graph.layout();
        let offset = layout.offset(id);
        if let Err(error) = verify_block(block, id) {
            self.report.problem(&self.name, offset, format!("block {}: {error}", id.0));
            return;
        }
        let nodes = self.graph.nodes_of(id);
        let used = nodes.len() * layout.record_bytes();
        if block[used..block.len() - BLOCK_TRAILER].iter().any(|&byte| byte != 0) {
            let message = format!("block {}: bytes after the last record, expected zeros", id.0);
            self.report.problem(&self.name, offset + used as u64, message);
        }
        for (slot, node) in nodes.enumerate() {
            let place = offset + (slot * layout.record_bytes()) as u64;
            self.record(node, record_bytes(layout, block, slot), place);
        }
    }

    fn record(&mut self, node: NodeId, bytes: &[u8], offset: u64) {
        let layout = self.graph.layout();
        let record = match Record::decode(layout, bytes, self.graph.nodes()) {
            Ok(record) => record,
            Err(error) => {
                self.report.problem(&self.name, offset, format!("node {}: {error}", node.0));
                return;
            }
        };
        self.report.records += 1;
        self.report.degrees[record.degree()] += 1;
        if let Err(error) = finite(layout, &record) {
            let message = format!("node {}: component {} is {}", node.0, error.component, error.value);
            self.report.problem(&self.name, offset, message);
        }
        self.neighbours(node, &record, offset + layout.vector_bytes() as u64 + 4);
    }

    fn neighbours(&mut self, node: NodeId, record: &Record<'_>, offset: u64) {
        if let Some(place) = record.neighbours().position(|id| id == node.0) {
            let message = format!("node {}: neighbour {place} is the node itself", node.0);
            self.report.problem(&self.name, offset + 4 * place as u64, message);
        }
        self.sorted.clear();
        self.sorted.extend(record.neighbours());
        self.sorted.sort_unstable();
        for run in self.sorted.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
            let message = format!("node {}: neighbour {} is listed {} times", node.0, run[0], run.len());
            self.report.problem(&self.name, offset, message);
        }
    }
}

fn finite(layout: &Layout, record: &Record<'_>) -> Result<(), NotFinite> {
    match layout.element() {
        ElementType::F32 => check_finite(record.vector::<f32>(), layout.dim(), 0),
        ElementType::F16 => check_finite(record.vector::<f16>(), layout.dim(), 0),
        ElementType::U8 | ElementType::I8 => Ok(()),
    }
}
