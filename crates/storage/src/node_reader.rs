//! Single records out of a graph file.

use crate::error::StorageError;
use crate::graph_file::GraphFile;
use crate::layout::BlockId;
use crate::record::Record;
use gleann_vector::{Matrix, NodeId};

/// Reads the record of one node after the other, verified; nodes of one block in a row cost one read.
#[derive(Debug)]
pub struct NodeReader<'a> {
    file: &'a GraphFile,
    /// A matrix for its alignment: vectors of any element type are viewed in place.
    block: Matrix<u8>,
    held: Option<BlockId>,
}

impl<'a> NodeReader<'a> {
    /// A reader that has read nothing yet.
    pub fn new(file: &'a GraphFile) -> Self {
        Self { file, block: Matrix::zeroed(1, file.layout().block_bytes()), held: None }
    }

    /// The file it reads.
    pub fn file(&self) -> &'a GraphFile {
        self.file
    }

    /// The record of `node`.
    ///
    /// # Errors
    /// The system refused, or the block or record is damaged.
    pub fn record(&mut self, node: NodeId) -> Result<Record<'_>, StorageError> {
        self.hold(node)?;
        self.file.record(self.block.as_slice(), node)
    }

    /// The bytes of the record of `node`, of a block that has been verified.
    ///
    /// # Errors
    /// As [`NodeReader::record`].
    pub fn bytes(&mut self, node: NodeId) -> Result<&[u8], StorageError> {
        self.hold(node)?;
        self.file.record(self.block.as_slice(), node)?;
        Ok(self.file.record_bytes(self.block.as_slice(), node))
    }

    fn hold(&mut self, node: NodeId) -> Result<(), StorageError> {
        let block = self.file.layout().block_of(node);
        if self.held != Some(block) {
            // Whatever an interrupted read leaves there is no block.
            self.held = None;
            self.file.read_block(block, self.block.as_mut_slice())?;
            self.held = Some(block);
        }
        Ok(())
    }
}
