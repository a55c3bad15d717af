//! Where a record lies: sizes and places that follow from dimension, element type, degree and page size.

use crate::block_layout::BlockLayout;
use gleann_vector::{ElementType, MAX_DIM, NodeId};
use serde::{Deserialize, Serialize};

/// Bytes at the end of every block that hold its number and checksum.
pub const BLOCK_TRAILER: usize = 8;
/// Largest degree bound.
pub const MAX_DEGREE: usize = 1024;

/// Number of a block: the unit of one read, that is one page of `records_per_block` records, or one record of
/// several pages. Counted from the first block after the file header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// Record geometry of one index. Made by [`Layout::new`] only, so its fields agree with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    element: ElementType,
    dim: u32,
    degree: u32,
    page_size: u32,
    code_bytes: u32,
}

/// Parameters that give no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The dimension is outside 1 to [`MAX_DIM`].
    #[error("dimension {0} is not supported; expected 1 to {MAX_DIM}")]
    Dim(usize),
    /// The degree is outside 1 to [`MAX_DEGREE`].
    #[error("degree {0} is not supported; expected 1 to {MAX_DEGREE}")]
    Degree(usize),
    /// The page size is none of 4096, 8192 and 16384.
    #[error("page size {0} is not supported; expected 4096, 8192 or 16384")]
    PageSize(usize),
    /// A neighbour's code in the record is longer than [`MAX_DIM`] bytes.
    #[error("neighbour codes of {0} bytes are not supported; expected 0 to {MAX_DIM}")]
    Codes(usize),
}

impl Layout {
    /// The layout of vectors of `dim` elements, at most `degree` neighbours each, in pages of `page_size` bytes.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(
        element: ElementType,
        dim: usize,
        degree: usize,
        page_size: usize,
    ) -> Result<Self, LayoutError> {
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(LayoutError::Dim(dim));
        }
        if !(1..=MAX_DEGREE).contains(&degree) {
            return Err(LayoutError::Degree(degree));
        }
        if !matches!(page_size, 4096 | 8192 | 16384) {
            return Err(LayoutError::PageSize(page_size));
        }
        Ok(Self {
            element,
            dim: dim as u32,
            degree: degree as u32,
            page_size: page_size as u32,
            code_bytes: 0,
        })
    }

    /// The same layout with the code of each neighbour, `bytes` long (0: none), beside its id: All-in-Storage.
    ///
    /// # Errors
    /// A code is longer than any quantiser makes it.
    pub fn with_codes(self, bytes: usize) -> Result<Self, LayoutError> {
        if bytes > MAX_DIM {
            return Err(LayoutError::Codes(bytes));
        }
        Ok(Self { code_bytes: bytes as u32, ..self })
    }

    /// Element type of the vectors.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Elements a vector.
    pub fn dim(&self) -> usize {
        self.dim as usize
    }

    /// Largest number of neighbours of a record.
    pub fn degree(&self) -> usize {
        self.degree as usize
    }

    /// Bytes of the code that a record holds of each neighbour; 0 where codes are kept elsewhere.
    pub fn code_bytes(&self) -> usize {
        self.code_bytes as usize
    }

    /// Bytes a page.
    pub fn page_size(&self) -> usize {
        self.page_size as usize
    }

    /// Bytes of the vector in a record, padded to a multiple of 4.
    pub fn vector_bytes(&self) -> usize {
        (self.dim() * self.element.size()).next_multiple_of(4)
    }

    /// Bytes a record: padded vector, degree (u32), neighbour ids (u32 each), their codes, padded to a multiple
    /// of 4.
    pub fn record_bytes(&self) -> usize {
        self.vector_bytes() + 4 + 4 * self.degree() + (self.code_bytes() * self.degree()).next_multiple_of(4)
    }

    /// Records a block: what fits into a page beside its trailer, or 1 where a record needs several pages.
    pub fn records_per_block(&self) -> usize {
        ((self.page_size() - BLOCK_TRAILER) / self.record_bytes()).max(1)
    }

    /// Pages a block: 1, or as many as one record needs.
    pub fn pages_per_block(&self) -> usize {
        if self.records_per_block() > 1 {
            return 1;
        }
        (self.record_bytes() + BLOCK_TRAILER).div_ceil(self.page_size())
    }

    /// Bytes a block, a multiple of the page size.
    pub fn block_bytes(&self) -> usize {
        self.pages_per_block() * self.page_size()
    }

    /// Where the blocks of the graph file lie.
    pub fn block_layout(&self) -> BlockLayout {
        BlockLayout::new(self.page_size(), self.pages_per_block())
    }

    /// Blocks that `nodes` records take.
    pub fn blocks(&self, nodes: u64) -> u64 {
        nodes.div_ceil(self.records_per_block() as u64)
    }

    /// Byte offset of a block in the graph file; the file header takes the first page.
    pub fn offset(&self, block: BlockId) -> u64 {
        self.block_layout().offset(block)
    }

    /// Length of the graph file that holds `nodes` records.
    pub fn file_bytes(&self, nodes: u64) -> u64 {
        self.block_layout().file_bytes(self.blocks(nodes))
    }

    /// The block that holds a node.
    #[inline]
    pub fn block_of(&self, node: NodeId) -> BlockId {
        BlockId(node.0 / self.records_per_block() as u32)
    }

    /// The nodes that lie in a block of an index of `nodes` nodes.
    #[inline]
    pub fn nodes_of(&self, block: BlockId, nodes: u32) -> std::ops::Range<u32> {
        let per_block = self.records_per_block() as u64;
        let first = u64::from(block.0) * per_block;
        let end = (first + per_block).min(nodes.into());
        first.min(end) as u32..end as u32
    }

    /// The place of a node inside its block, from 0.
    #[inline]
    pub fn slot_of(&self, node: NodeId) -> usize {
        (node.0 % self.records_per_block() as u32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(element: ElementType, dim: usize, degree: usize, page: usize) -> Layout {
        Layout::new(element, dim, degree, page).unwrap()
    }

    #[test]
    fn known_geometries() {
        let sift = layout(ElementType::U8, 128, 64, 4096);
        assert_eq!((sift.record_bytes(), sift.records_per_block(), sift.pages_per_block()), (388, 10, 1));
        // GIST1M: 4100 bytes, four over the page; DiskANN divides by zero here.
        let gist = layout(ElementType::F32, 960, 64, 4096);
        assert_eq!((gist.record_bytes(), gist.records_per_block(), gist.pages_per_block()), (4100, 1, 2));
        assert_eq!(layout(ElementType::F32, 960, 64, 16384).records_per_block(), 3);
        // All-in-Storage: 32 bytes for each of 64 neighbours.
        let aisaq = sift.with_codes(32).unwrap();
        assert_eq!((aisaq.record_bytes(), aisaq.records_per_block()), (388 + 2048, 1));
        assert_eq!(sift.with_codes(8193).unwrap_err(), LayoutError::Codes(8193));
        // Room for the trailer decides at the edge.
        assert_eq!(layout(ElementType::F32, 957, 64, 4096).pages_per_block(), 1);
        assert_eq!(layout(ElementType::F32, 958, 64, 4096).pages_per_block(), 2);
    }

    #[test]
    fn offsets_are_64_bit() {
        let sift = layout(ElementType::U8, 128, 64, 4096);
        let far = NodeId((1 << 31) + 1);
        assert_eq!(sift.block_of(far), BlockId(214_748_364));
        assert_eq!(sift.slot_of(far), 9);
        assert_eq!(sift.offset(sift.block_of(far)), 4096 + 214_748_364 * 4096);
        let wide = layout(ElementType::F32, 8192, 128, 4096);
        assert_eq!(wide.offset(BlockId(u32::MAX)), 4096 + u64::from(u32::MAX) * wide.block_bytes() as u64);
    }
}
