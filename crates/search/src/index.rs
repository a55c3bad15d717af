//! What every search of an index shares, read-only.

use crate::cache::Cache;
use crate::entry::EntryPoints;
use gleann_quant::{Codebook, Codes};
use gleann_storage::Layout;
use gleann_vector::{Distance, Element};

/// The parts of an open index that a search needs beside the blocks it reads.
#[derive(Debug)]
pub struct SearchIndex<T: Element> {
    /// Record geometry.
    pub layout: Layout,
    /// Number of nodes.
    pub nodes: u32,
    /// The exact distance.
    pub distance: Distance<T>,
    /// What the codes mean.
    pub codebook: Codebook,
    /// The code of every node, in id order.
    pub codes: Codes,
    /// Where searches begin.
    pub entry: EntryPoints,
    /// Records held in memory.
    pub cache: Cache,
}
