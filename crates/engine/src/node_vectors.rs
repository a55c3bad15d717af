//! Vectors of single nodes out of a graph file.

use gleann_storage::{BlockId, GraphFile, Record, StorageError, record_bytes};
use gleann_vector::{Element, Matrix, NodeId};

/// Reads the vector of one node after the other; nodes of one block in a row cost one read.
pub(crate) struct NodeVectors<'a> {
    file: &'a GraphFile,
    /// A matrix for its alignment: vectors of any element type are viewed in place.
    block: Matrix<u8>,
    held: Option<BlockId>,
}

impl<'a> NodeVectors<'a> {
    pub(crate) fn new(file: &'a GraphFile) -> Self {
        Self { file, block: Matrix::zeroed(1, file.layout().block_bytes()), held: None }
    }

    /// The vector of `node`, verified.
    ///
    /// # Errors
    /// The system refused, or the block or record is damaged.
    pub(crate) fn vector<T: Element>(&mut self, node: u32) -> Result<&[T], StorageError> {
        let layout = self.file.layout();
        let block = layout.block_of(NodeId(node));
        if self.held != Some(block) {
            self.held = None;
            self.file.read_block(block, self.block.as_mut_slice())?;
            self.held = Some(block);
        }
        let bytes = record_bytes(layout, self.block.as_slice(), layout.slot_of(NodeId(node)));
        let record = Record::decode(layout, bytes, self.file.nodes())
            .map_err(|source| StorageError::Record { path: self.file.path().to_owned(), node, source })?;
        Ok(record.vector::<T>())
    }
}
