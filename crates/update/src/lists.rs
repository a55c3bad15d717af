//! The lists of a table, as a walk reads them.

use crate::error::UpdateError;
use crate::pages::Pages;
use gleann_graph::{AdjacencyRows, ListBlock};
use gleann_storage::{Area, Layout, LogicalBlock, PageTable, Record, is_vacant, record_bytes};
use gleann_vector::NodeId;
use std::cell::RefCell;
use std::sync::Arc;

/// The lists of all places; those that hold nothing have none.
pub(crate) struct Lists<'a> {
    pages: &'a Pages,
    table: Arc<PageTable>,
    layout: &'a Layout,
    places: u32,
    block: RefCell<Vec<u8>>,
}

impl<'a> Lists<'a> {
    /// The lists of the first `places` places of `table`.
    pub(crate) fn new(pages: &'a Pages, table: Arc<PageTable>, layout: &'a Layout, places: u32) -> Self {
        Self { pages, table, layout, places, block: RefCell::new(vec![0; layout.block_bytes()]) }
    }
}

impl AdjacencyRows for Lists<'_> {
    type Error = UpdateError;

    fn nodes(&self) -> u32 {
        self.places
    }

    fn degree_bound(&self) -> usize {
        self.layout.degree()
    }

    fn read(&self, start: u32, count: u32, into: &mut ListBlock) -> Result<(), UpdateError> {
        into.clear();
        let mut block = self.block.borrow_mut();
        let (mut held, mut list) = (None, Vec::new());
        for node in (start..start + count).map(NodeId) {
            let index = self.layout.block_of(node).0;
            if held != Some(index) {
                self.pages.read(&self.table, LogicalBlock { area: Area::Records, index }, &mut block)?;
                held = Some(index);
            }
            let bytes = record_bytes(self.layout, &block, self.layout.slot_of(node));
            list.clear();
            if !is_vacant(self.layout, bytes) {
                // They may name nodes that are not on disk yet, of which the log knows.
                let record = Record::decode(self.layout, bytes, u32::MAX).map_err(|cause| {
                    let path = self.pages.path().to_owned();
                    UpdateError::Damaged { path, found: format!("node {}: {cause}", node.0) }
                })?;
                list.extend(record.neighbours());
            }
            into.push(&list);
        }
        Ok(())
    }

    fn replace(&mut self, _: u32, _: &[u32]) -> Result<(), UpdateError> {
        unreachable!("who walks the lists changes nothing")
    }
}
