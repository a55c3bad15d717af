//! Records of a live index that are held in memory, so that searches need not read them.
//!
//! Whoever holds a record knows it by its node. A checkpoint writes what changes to other places, so a record is what it was
//! for as long as its block lies where it lay; once a table comes into force in which it does not, the record is forgotten,
//! before anybody searches by that table.

use crate::error::UpdateError;
use crate::live::Live;
use gleann_search::{Cache, Records};
use gleann_storage::{Area, LogicalBlock, PageTable, Record, is_vacant, record_bytes};
use gleann_vector::{Element, Matrix, NodeId};
use hashbrown::HashSet;
use std::sync::Arc;

impl<T: Element> Live<T> {
    /// Holds up to `most` records: those fewest hops from where searches begin, breadth first. To be called before anybody
    /// searches it.
    ///
    /// # Errors
    /// A block is damaged, or the system refused.
    pub fn hold(mut self, most: usize) -> Result<Self, UpdateError> {
        let view = self.writer.lock().view.clone();
        let layout = self.index.layout;
        let on_disk = (view.table.records().len() * layout.records_per_block()) as u32;
        let navigation = self.index.entry.mem_graph.iter().flat_map(|graph| graph.nodes().iter().copied());
        let mut order: Vec<u32> = view.entry.into_iter().chain(navigation).collect();
        let mut met: HashSet<u32> = HashSet::with_capacity(most);
        order.retain(|&node| met.insert(node));
        let mut held: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut block = vec![0; layout.block_bytes()];
        let mut next = 0;
        while let Some(&node) = order.get(next).filter(|_| held.len() < most) {
            next += 1;
            // What is new since the last checkpoint is in memory anyway.
            if node >= on_disk {
                continue;
            }
            let at = LogicalBlock { area: Area::Records, index: layout.block_of(NodeId(node)).0 };
            self.pages.read(&view.table, at, &mut block)?;
            let bytes = record_bytes(&layout, &block, layout.slot_of(NodeId(node)));
            if is_vacant(&layout, bytes) {
                continue;
            }
            let record = Record::decode(&layout, bytes, view.nodes.places() as u32)
                .map_err(|cause| self.damaged_node(node, &cause))?;
            if order.len() < 2 * most {
                order.extend(record.neighbours().filter(|&id| met.insert(id)));
            }
            held.push((node, bytes.to_vec()));
        }
        held.sort_unstable_by_key(|(node, _)| *node);
        let mut bytes = Matrix::<u8>::zeroed(held.len(), layout.record_bytes());
        held.iter().enumerate().for_each(|(row, (_, record))| bytes.row_mut(row).copy_from_slice(record));
        let nodes = held.into_iter().map(|(node, _)| node).collect();
        let index = Arc::get_mut(&mut self.index).expect("nobody searches it yet");
        index.cache = Cache::Held(Records::new(nodes, bytes));
        Ok(self)
    }

    /// The table `new` is about to come into force in the place of `old`.
    pub(crate) fn before_switch(&self, old: &PageTable, new: &PageTable) {
        (self.before_switch)();
        let layout = &self.index.layout;
        self.index.cache.forget(|node| {
            let block = LogicalBlock { area: Area::Records, index: layout.block_of(NodeId(node)).0 };
            old.physical(block) != new.physical(block)
        });
    }
}
