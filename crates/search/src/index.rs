//! What every search of an index shares, read-only.

use crate::cache::Cache;
use crate::entry::EntryPoints;
use crate::error::SearchError;
use crate::estimates::Estimates;
use crate::live::Changes;
use gleann_storage::{Layout, Record, record_bytes};
use gleann_vector::{Distance, Element, NodeId};
use std::sync::Arc;

/// The parts of an open index that a search needs beside the blocks it reads.
#[derive(Debug)]
pub struct SearchIndex<T: Element> {
    /// Record geometry.
    pub layout: Layout,
    /// Number of nodes.
    pub nodes: u32,
    /// The exact distance.
    pub distance: Distance<T>,
    /// How a neighbour is judged before it has been read.
    pub estimates: Estimates,
    /// Where searches begin.
    pub entry: EntryPoints<T>,
    /// Records held in memory.
    pub cache: Cache,
    /// How the index changes while it is searched; none where it does not.
    pub changes: Option<Arc<Changes<T>>>,
}

impl<T: Element> SearchIndex<T> {
    /// The bytes of a node's record in its block.
    #[inline]
    pub(crate) fn bytes_in<'a>(&self, block: &'a [u8], node: u32) -> &'a [u8] {
        record_bytes(&self.layout, block, self.layout.slot_of(NodeId(node)))
    }

    /// The record of a node of an index of `nodes` nodes.
    ///
    /// # Errors
    /// It is damaged.
    #[inline]
    pub(crate) fn decode<'a>(
        &self,
        (node, nodes): (u32, u32),
        bytes: &'a [u8],
    ) -> Result<Record<'a>, SearchError> {
        Record::decode(&self.layout, bytes, nodes).map_err(|cause| SearchError::Record { node, cause })
    }
}
