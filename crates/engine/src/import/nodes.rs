//! The records of a source, block by block, checked.

use super::ImportError;
use super::diskann::DiskFile;
use gleann_storage::{BlockId, GraphFile, Record};
use gleann_vector::NodeId;

/// Where the records of a source are.
#[derive(Debug)]
pub(crate) enum Nodes {
    /// The graph file of an index.
    Index(GraphFile),
    /// The disk file of an index of DiskANN's family.
    DiskAnn(DiskFile),
}

/// A record of a source.
pub(crate) enum StoredNode<'a> {
    Index(Record<'a>),
    DiskAnn(super::diskann::DiskNode<'a>),
}

impl StoredNode<'_> {
    /// Writes the vector as the bytes of its elements.
    ///
    /// # Panics
    /// If `into` is not as long as a vector of the build.
    pub(crate) fn copy_vector(&self, into: &mut [u8]) {
        match self {
            StoredNode::Index(record) => into.copy_from_slice(record.vector::<u8>()),
            StoredNode::DiskAnn(node) => node.copy_vector(into),
        }
    }

    /// Replaces the content of `list` by the ids of the neighbours, each below the number of nodes.
    pub(crate) fn copy_list(&self, list: &mut Vec<u32>) {
        list.clear();
        match self {
            StoredNode::Index(record) => list.extend(record.neighbours()),
            StoredNode::DiskAnn(node) => list.extend(node.neighbours()),
        }
    }
}

impl Nodes {
    /// Number of records.
    pub(crate) fn count(&self) -> u32 {
        match self {
            Nodes::Index(file) => file.nodes(),
            Nodes::DiskAnn(file) => file.nodes(),
        }
    }

    /// Bytes of a block, the unit of a read.
    pub(crate) fn block_bytes(&self) -> usize {
        match self {
            Nodes::Index(file) => file.layout().block_bytes(),
            Nodes::DiskAnn(file) => file.block_bytes(),
        }
    }

    /// The block that holds a node.
    pub(crate) fn block_of(&self, node: u32) -> u64 {
        match self {
            Nodes::Index(file) => file.layout().block_of(NodeId(node)).0.into(),
            Nodes::DiskAnn(file) => file.block_of(node),
        }
    }

    /// Reads a block.
    ///
    /// # Errors
    /// The system refused, or the block is damaged.
    pub(crate) fn read_block(&self, block: u64, into: &mut [u8]) -> Result<(), ImportError> {
        match self {
            // A block number of an index has 32 bits.
            Nodes::Index(file) => Ok(file.read_block(BlockId(block as u32), into)?),
            Nodes::DiskAnn(file) => file.read_block(block, into),
        }
    }

    /// The record of `node` in its block.
    ///
    /// # Errors
    /// Its degree or a neighbour is impossible.
    pub(crate) fn stored<'a>(&'a self, block: &'a [u8], node: u32) -> Result<StoredNode<'a>, ImportError> {
        match self {
            Nodes::Index(file) => Ok(StoredNode::Index(file.record(block, NodeId(node))?)),
            Nodes::DiskAnn(file) => Ok(StoredNode::DiskAnn(file.node(block, node)?)),
        }
    }
}
