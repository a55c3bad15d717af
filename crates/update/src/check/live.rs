//! The way through the files of a live index.

use super::records::Records;
use crate::areas::{per_block, read_blocks};
use crate::backend::Backend;
use crate::error::UpdateError;
use crate::lists::Lists;
use crate::operation::Operation;
use crate::pages::{Pages, PagesError, PagesPlace, TABLE_NAME};
use crate::root::Root;
use crate::wal::{Durability, SEGMENT_BYTES, WalError, WalOptions, inspect};
use gleann_graph::reachable;
use gleann_quant::Codebook;
use gleann_search::NodeState;
use gleann_storage::{Area, BuildId, CheckReport, Layout, LogicalBlock, PageTable, StorageError, Volume};
use gleann_vector::{Element, Progress};
use std::path::Path;
use std::sync::Arc;

/// Nodes whose code is computed anew.
const SAMPLED_CODES: usize = 10_000;

/// The live index to be checked.
pub struct CheckParts<'a> {
    /// Its directory.
    pub volume: Arc<dyn Volume>,
    /// What ties its files together.
    pub index: BuildId,
    /// Record geometry.
    pub layout: Layout,
    /// What codes mean.
    pub codebook: &'a Codebook,
}

/// What a check of a live index found: of its last checkpoint, and of the log since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveCheck {
    /// Problems, records that could be read, and the degrees of live nodes.
    pub report: CheckReport,
    /// How it takes updates; none where that could not be read.
    pub backend: Option<Backend>,
    /// Nodes of the checkpoint that searches find.
    pub live: u64,
    /// Deleted nodes that are still in the graph.
    pub dead: u64,
    /// Places that hold nothing.
    pub free: u64,
    /// Live nodes that can be reached from the entry, over deleted ones too; none where the graph is too damaged to tell.
    pub reachable: Option<u64>,
    /// Codes that were computed anew from their vectors.
    pub codes_compared: u64,
    /// Neighbours that share the block of their node, live ones.
    pub page_mates: u64,
    /// Pairs of live nodes in one block.
    pub page_pairs: u64,
    /// Operations in the log that opening the index will do again.
    pub operations: u64,
    /// Bytes of their records.
    pub log_bytes: u64,
}

impl LiveCheck {
    /// OR(G): the share of the other nodes of a block that are neighbours; none where no block has two.
    pub fn overlap_ratio(&self) -> Option<f64> {
        (self.page_pairs > 0).then(|| self.page_mates as f64 / self.page_pairs as f64)
    }
}

/// Nodes whose codes are computed anew.
pub(super) struct Sample {
    step: usize,
    codes: Vec<(u32, Vec<u8>)>,
    pub(super) vectors: Vec<(u32, Vec<u8>)>,
}

impl Sample {
    pub(super) fn wants(&self, node: u32) -> bool {
        (node as usize).is_multiple_of(self.step)
    }
}

/// A check under way.
struct Checking<'a> {
    parts: &'a CheckParts<'a>,
    progress: &'a dyn Progress,
    pages: Pages,
    table: Arc<PageTable>,
    root: Root,
    file: String,
    check: LiveCheck,
}

/// Checks a live index that nobody has open: the table; every block of every area; of every record the degree, the
/// neighbours (in range, different, not the node's own, none of them a place that holds nothing) and the vector; that
/// places hold a record where the checkpoint says so; that keys are unique; on a sample, that codes are those of their
/// vectors; what can be reached; and every record of the log. Changes nothing but what a checkpoint that was interrupted has
/// left beside the table. Memory: 9 bytes a place, and the table.
///
/// # Errors
/// `progress` asked to stop. Everything else is a problem in the result.
pub fn check_live<T: Element>(
    parts: &CheckParts<'_>,
    progress: &dyn Progress,
) -> Result<LiveCheck, UpdateError> {
    let mut check = LiveCheck::default();
    check.report.degrees = vec![0; parts.layout.degree() + 1];
    let place =
        PagesPlace { volume: parts.volume.clone(), index: parts.index, layout: parts.layout.block_layout() };
    let opened = Pages::open(place).map_err(|error| error.to_string()).and_then(|(pages, root)| {
        if root.is_empty() {
            return Err("making it a live index was interrupted; do it again".to_owned());
        }
        Ok((pages, Root::from_bytes(&root)?))
    });
    let (pages, root) = match opened {
        Ok(opened) => opened,
        Err(message) => {
            check.report.problem(TABLE_NAME, None, message);
            return Ok(check);
        }
    };
    let file = pages.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let table = pages.table();
    let mut checking = Checking { parts, progress, pages, table, root, file, check };
    checking.counts();
    if checking.check.report.is_sound() {
        checking.nodes::<T>()?;
        checking.log(size_of::<T>())?;
    }
    Ok(checking.check)
}

impl Checking<'_> {
    /// Holds the lengths of all areas against the root.
    fn counts(&mut self) {
        let Self { root, table, check, .. } = self;
        let places = root.states.len();
        let count = |state| root.states.iter().filter(|&&other| other == state).count() as u64;
        check.backend = Some(root.backend);
        (check.live, check.dead, check.free) =
            (count(NodeState::Live), count(NodeState::Dead), count(NodeState::Free));
        let block = self.parts.layout.block_bytes();
        let needed = [
            (Area::Records, self.parts.layout.records_per_block()),
            (Area::Codes, per_block(block, self.parts.codebook.chunks())),
            (Area::Keys, per_block(block, 8)),
        ];
        for (area, per_block) in needed {
            let (found, expected) = (table.area(area).len(), places.div_ceil(per_block));
            if found != expected {
                let message =
                    format!("{area:?} have {found} blocks, expected {expected} for {places} places");
                check.report.problem(TABLE_NAME, None, message);
            }
        }
        match root.entry {
            None if check.live > 0 => {
                check.report.problem(TABLE_NAME, None, "there is no entry point, and there are nodes");
            }
            Some(entry) if root.states[entry as usize] == NodeState::Free => {
                let message = format!("the entry point, node {entry}, is a place that holds nothing");
                check.report.problem(TABLE_NAME, None, message);
            }
            _ => {}
        }
    }

    fn nodes<T: Element>(&mut self) -> Result<(), UpdateError> {
        let step = self.root.states.len().div_ceil(SAMPLED_CODES).max(1);
        let mut sample = Sample { step, codes: Vec::new(), vectors: Vec::new() };
        self.codes(&mut sample)?;
        self.keys()?;
        self.records::<T>(&mut sample)?;
        self.compare_codes::<T>(&sample);
        if self.check.report.is_sound() {
            self.reach()?;
        }
        Ok(())
    }

    fn codes(&mut self, sample: &mut Sample) -> Result<(), UpdateError> {
        let codebook = self.parts.codebook;
        let counts: Vec<usize> = (0..codebook.chunks()).map(|chunk| codebook.centroids(chunk)).collect();
        let mut wrong = Vec::new();
        let states = self.root.states.clone();
        self.area(Area::Codes, codebook.chunks(), &mut |node, code| {
            if states[node] == NodeState::Free {
                return;
            }
            match code.iter().zip(&counts).position(|(&code, &count)| usize::from(code) >= count) {
                Some(chunk) => wrong.push(format!(
                    "the code of node {node}, chunk {chunk}: {} of {} centroids",
                    code[chunk], counts[chunk]
                )),
                None if sample.wants(node as u32) => sample.codes.push((node as u32, code.to_vec())),
                None => {}
            }
        })?;
        wrong.into_iter().for_each(|message| self.check.report.problem(&self.file, None, message));
        Ok(())
    }

    fn keys(&mut self) -> Result<(), UpdateError> {
        let mut keys = Vec::with_capacity(self.check.live as usize);
        let states = self.root.states.clone();
        self.area(Area::Keys, 8, &mut |node, key| {
            if states[node] == NodeState::Live {
                keys.push(u64::from_le_bytes(key.try_into().expect("keys are 8 bytes")));
            }
        })?;
        keys.sort_unstable();
        for run in keys.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
            let message = format!("key {} stands for {} live nodes, expected one", run[0], run.len());
            self.check.report.problem(&self.file, None, message);
        }
        Ok(())
    }

    /// Reads an area of `item_bytes` a place; a damaged block is a problem, and its places are left out.
    fn area(
        &mut self,
        area: Area,
        item_bytes: usize,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), UpdateError> {
        let Self { pages, table, root, check, progress, file, .. } = self;
        progress.phase(&format!("check {area:?}").to_lowercase(), root.states.len() as u64);
        read_blocks(pages, (table, area), (root.states.len(), item_bytes), |read| {
            progress.advance(1);
            match read {
                Ok((node, item)) => take(node, item),
                Err(error) => problem(check, file, &error),
            }
            if progress.cancelled() { Err(StorageError::Cancelled.into()) } else { Ok(()) }
        })
    }

    fn records<T: Element>(&mut self, sample: &mut Sample) -> Result<(), UpdateError> {
        let Self { parts, progress, pages, table, root, file, check } = self;
        progress.phase("check records", table.records().len() as u64);
        let mut block = vec![0; parts.layout.block_bytes()];
        for index in 0..table.records().len() as u32 {
            if progress.cancelled() {
                return Err(StorageError::Cancelled.into());
            }
            let logical = LogicalBlock { area: Area::Records, index };
            match pages.read(table, logical, &mut block) {
                Ok(()) => {
                    let place = table.physical(logical).expect("the table has been read by");
                    let offset = parts.layout.offset(place);
                    let (layout, states) = (&parts.layout, &root.states[..]);
                    Records { layout, states, file, check, sample, sorted: Vec::new() }
                        .block::<T>(logical, offset, &block);
                }
                Err(error) => problem(check, file, &error),
            }
            progress.advance(1);
        }
        Ok(())
    }

    fn compare_codes<T: Element>(&mut self, sample: &Sample) {
        let codebook = self.parts.codebook;
        let mut computed = vec![0; codebook.chunks()];
        let mut codes = sample.codes.iter().peekable();
        for (node, vector) in &sample.vectors {
            while codes.peek().is_some_and(|(other, _)| other < node) {
                codes.next();
            }
            let Some((_, code)) = codes.peek().filter(|(other, _)| other == node) else { continue };
            let vector: Vec<T> = bytemuck::pod_collect_to_vec(vector);
            codebook.encode_rows(&vector, &mut computed);
            if *code != computed {
                let message = format!("the code of node {node} is not that of its vector");
                self.check.report.problem(&self.file, None, message);
            }
            self.check.codes_compared += 1;
        }
    }

    fn reach(&mut self) -> Result<(), UpdateError> {
        self.progress.phase("check reachability", 0);
        let places = self.root.states.len() as u32;
        let lists = Lists::new(&self.pages, self.table.clone(), &self.parts.layout, places);
        let reached = reachable(&lists, self.root.entry)?;
        let states = (0u32..).zip(&self.root.states);
        let live = states.filter(|&(id, &state)| state == NodeState::Live && reached.contains(id)).count();
        self.check.reachable = Some(live as u64);
        Ok(())
    }

    fn log(&mut self, element_bytes: usize) -> Result<(), UpdateError> {
        self.progress.phase("check the log", 0);
        let options = WalOptions {
            id: self.parts.index.0,
            first_segment: self.root.first_segment,
            begins: false,
            segment_bytes: SEGMENT_BYTES,
            durability: Durability::None,
        };
        let vector_bytes = self.parts.layout.dim() * element_bytes;
        let check = &mut self.check;
        let inspected = inspect(&*self.parts.volume, &options, &mut |lsn, record| {
            check.operations += 1;
            check.log_bytes += record.len() as u64;
            if Operation::decode(record, vector_bytes).is_none() {
                let message =
                    format!("record {} of {} bytes is no operation of this index", lsn.0, record.len());
                check.report.problem("wal-*.gln", None, message);
            }
            Ok::<(), WalError>(())
        });
        if let Err(error) = inspected {
            let name = error.path().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            self.check.report.problem(name.as_deref().unwrap_or("wal-*.gln"), None, error);
        }
        Ok(())
    }
}

/// A block that cannot be read.
fn problem(check: &mut LiveCheck, file: &str, error: &PagesError) {
    match error {
        PagesError::Block { block, offset, source, .. } => {
            check.report.problem(file, *offset, format!("{block}: {source}"));
        }
        other => check.report.problem(file, None, other),
    }
}
