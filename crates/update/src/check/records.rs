//! Holds every record against what the checkpoint says of its place.

use super::live::{LiveCheck, Sample};
use gleann_search::NodeState;
use gleann_storage::{Layout, LogicalBlock, Record, is_vacant, record_bytes};
use gleann_vector::{Element, NodeId, check_finite};

/// The walk over the record blocks.
pub(super) struct Records<'a> {
    pub(super) layout: &'a Layout,
    pub(super) states: &'a [NodeState],
    pub(super) file: &'a str,
    pub(super) check: &'a mut LiveCheck,
    /// Vectors whose codes are computed anew.
    pub(super) sample: &'a mut Sample,
    pub(super) sorted: Vec<u32>,
}

impl Records<'_> {
    /// Checks the records of an undamaged block, whose bytes begin at `offset` of the file.
    pub(super) fn block<T: Element>(&mut self, block: LogicalBlock, offset: u64, bytes: &[u8]) {
        let per_block = self.layout.records_per_block() as u32;
        let first = block.index * per_block;
        let end = (first + per_block).min(self.states.len() as u32);
        for node in first..end {
            let slot = self.layout.slot_of(NodeId(node));
            let place = offset + (slot * self.layout.record_bytes()) as u64;
            let record = record_bytes(self.layout, bytes, slot);
            let state = self.states[node as usize];
            let what = |message: String| format!("{block}, node {node}: {message}");
            match (state, is_vacant(self.layout, record)) {
                (NodeState::Free, true) => {}
                (NodeState::Free, false) => {
                    self.problem(place, what("it holds a record, and the table says that it is free".into()));
                }
                (_, true) => self
                    .problem(place, what("there is no record, and the table says that it is taken".into())),
                (_, false) => match Record::decode(self.layout, record, self.states.len() as u32) {
                    Ok(fields) => self.record::<T>((block, node, place), record, &fields),
                    Err(error) => self.problem(place, what(error.to_string())),
                },
            }
        }
    }

    fn problem(&mut self, offset: u64, message: String) {
        self.check.report.problem(self.file, offset, message);
    }

    fn record<T: Element>(
        &mut self,
        (block, node, offset): (LogicalBlock, u32, u64),
        bytes: &[u8],
        record: &Record<'_>,
    ) {
        let check = &mut *self.check;
        check.report.records += 1;
        let vector: Vec<T> = bytemuck::pod_collect_to_vec(&bytes[..self.layout.dim() * size_of::<T>()]);
        if let Err(error) = check_finite(&vector, self.layout.dim(), 0) {
            let message = format!("{block}, node {node}: component {} is {}", error.component, error.value);
            check.report.problem(self.file, offset, message);
        } else if self.sample.wants(node) {
            self.sample.vectors.push((node, bytemuck::cast_slice(&vector).to_vec()));
        }
        if self.states[node as usize] == NodeState::Live {
            check.report.degrees[record.degree()] += 1;
            self.count_mates(node, record);
        }
        self.neighbours((block, node), offset + self.layout.vector_bytes() as u64 + 4, record);
    }

    /// Counts the live neighbours that share the block, of those that could.
    fn count_mates(&mut self, node: u32, record: &Record<'_>) {
        let own = self.layout.block_of(NodeId(node));
        let is_live = |id: &u32| self.states[*id as usize] == NodeState::Live;
        let others = self.layout.nodes_of(own, self.states.len() as u32).filter(|&id| id != node);
        self.check.page_pairs += others.filter(is_live).count() as u64;
        let mates = record.neighbours().filter(|&id| self.layout.block_of(NodeId(id)) == own).filter(is_live);
        self.check.page_mates += mates.count() as u64;
    }

    fn neighbours(&mut self, (block, node): (LogicalBlock, u32), offset: u64, record: &Record<'_>) {
        for (place, id) in record.neighbours().enumerate() {
            let wrong = match self.states[id as usize] {
                NodeState::Free => "a place that holds nothing",
                _ if id == node => "the node itself",
                _ => continue,
            };
            let message = format!("{block}, node {node}: neighbour {place}, {id}, is {wrong}");
            self.problem(offset + 4 * place as u64, message);
        }
        self.sorted.clear();
        self.sorted.extend(record.neighbours());
        self.sorted.sort_unstable();
        for run in self.sorted.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
            let message = format!("{block}, node {node}: neighbour {} is listed {} times", run[0], run.len());
            self.check.report.problem(self.file, offset, message);
        }
    }
}
