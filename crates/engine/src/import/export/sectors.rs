//! The disk file: a sector of what the index is, then nodes, sector after sector.

use super::super::diskann::SECTOR;
use super::pivots::array_head;
use gleann_storage::{AtomicFile, StorageError};
use gleann_vector::ElementType;
use std::path::Path;

/// Bytes gathered before a write.
const BUFFER: usize = 1 << 20;

/// What the nodes are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub rows: u32,
    pub dim: usize,
    pub element: ElementType,
    pub degree: usize,
    pub medoid: u32,
}

impl Shape {
    fn node_bytes(&self) -> usize {
        self.dim * self.element.size() + 4 + 4 * self.degree
    }

    /// Nodes a sector; 0 where a node takes several.
    fn per_sector(&self) -> usize {
        SECTOR / self.node_bytes()
    }

    fn block_bytes(&self) -> usize {
        self.node_bytes().next_multiple_of(SECTOR)
    }

    fn file_bytes(&self) -> u64 {
        let blocks = u64::from(self.rows).div_ceil(self.per_sector().max(1) as u64);
        SECTOR as u64 + blocks * self.block_bytes() as u64
    }

    /// Count, dimension, medoid, node length, nodes a sector, no frozen points, their place, no reorder data, length.
    fn header(&self) -> Vec<u8> {
        let values = [
            u64::from(self.rows),
            self.dim as u64,
            self.medoid.into(),
            self.node_bytes() as u64,
            self.per_sector() as u64,
            0,
            0,
            0,
            self.file_bytes(),
        ];
        let mut bytes = array_head(values.len() as u32, 1).to_vec();
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        bytes.resize(SECTOR, 0);
        bytes
    }
}

/// The disk file being written.
pub(super) struct SectorWriter {
    file: AtomicFile,
    shape: Shape,
    buffer: Vec<u8>,
    /// Nodes in the block under way.
    filled: usize,
}

impl SectorWriter {
    pub(super) fn create(path: &Path, shape: Shape) -> Result<Self, StorageError> {
        let file = AtomicFile::create(path)?;
        file.reserve(shape.file_bytes())?;
        Ok(Self { file, shape, buffer: shape.header(), filled: 0 })
    }

    /// Appends the next node.
    pub(super) fn push(&mut self, vector: &[u8], list: &[u32]) -> Result<(), StorageError> {
        let end = self.buffer.len() + self.shape.node_bytes();
        self.buffer.extend_from_slice(vector);
        self.buffer.extend((list.len() as u32).to_le_bytes());
        self.buffer.extend(list.iter().flat_map(|id| id.to_le_bytes()));
        assert!(self.buffer.len() <= end, "{} bytes, {} ids in a node", vector.len(), list.len());
        self.buffer.resize(end, 0);
        self.filled += 1;
        if self.filled == self.shape.per_sector().max(1) { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), StorageError> {
        // Writes end on block boundaries, so that the buffer always begins on one.
        self.buffer.resize(self.buffer.len().next_multiple_of(SECTOR), 0);
        self.filled = 0;
        if self.buffer.len() >= BUFFER { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<(), StorageError> {
        self.file.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), StorageError> {
        if self.filled > 0 {
            self.end_block()?;
        }
        self.write_out()?;
        self.file.commit()
    }
}
