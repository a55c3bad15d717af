//! Records of a live index that are held in memory, so that searches need not read them.
//!
//! Whoever holds a record knows it by its node. A checkpoint writes what changes to other places, so a record is what it was
//! for as long as its block lies where it lay; once a table comes into force in which it does not, the record is forgotten,
//! before anybody searches by that table.

use crate::error::UpdateError;
use crate::lists::Lists;
use crate::live::Live;
use gleann_graph::{AdjacencyRows, ListBlock};
use gleann_search::{Cache, Records, breadth_first};
use gleann_storage::{Area, LogicalBlock, PageTable, is_vacant, record_bytes};
use gleann_vector::{Element, Matrix, NodeId};
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
        let lists = Lists::new(&self.pages, view.table.clone(), &self.index.layout, on_disk);
        let navigation = self.index.entry.mem_graph.iter().flat_map(|graph| graph.nodes());
        let entries = view.entry.into_iter().chain(navigation.copied());
        // What is new since the last checkpoint is in memory anyway.
        let entries = entries.filter(|&node| node < on_disk);
        let mut block = ListBlock::default();
        let mut nodes = breadth_first(entries, most, |node, into| {
            lists.read(node, 1, &mut block)?;
            into.extend(block.list(0).iter().copied().filter(|&id| id < on_disk));
            Ok::<_, UpdateError>(())
        })?;
        nodes.sort_unstable();
        let (mut held, mut bytes) = (Vec::with_capacity(nodes.len()), Vec::new());
        let mut block = vec![0; layout.block_bytes()];
        for node in nodes {
            let at = LogicalBlock { area: Area::Records, index: layout.block_of(NodeId(node)).0 };
            self.pages.read(&view.table, at, &mut block)?;
            let record = record_bytes(&layout, &block, layout.slot_of(NodeId(node)));
            if !is_vacant(&layout, record) {
                held.push(node);
                bytes.extend_from_slice(record);
            }
        }
        let records = Records::new(held, Matrix::from_rows(&bytes, layout.record_bytes()));
        let index = Arc::get_mut(&mut self.index).expect("nobody searches it yet");
        index.cache = Cache::Held(records);
        Ok(self)
    }

    /// The table `new` is about to come into force in the place of `old`.
    pub(crate) fn prepare_switch(&self, old: &PageTable, new: &PageTable) {
        (self.before_switch)();
        let layout = &self.index.layout;
        self.index.cache.forget(|node| {
            let block = LogicalBlock { area: Area::Records, index: layout.block_of(NodeId(node)).0 };
            old.physical(block) != new.physical(block)
        });
    }
}
