//! Where the blocks of a file lie: one behind the other after the header, which has the first page to itself.

use crate::layout::BlockId;

/// Places of blocks of one size. All that a reader of blocks needs to know of what is in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLayout {
    page_size: u32,
    pages: u32,
}

impl BlockLayout {
    /// Blocks of `pages` pages (≥ 1) of `page_size` bytes each.
    pub(crate) fn new(page_size: usize, pages: usize) -> Self {
        assert!(pages > 0, "a block of no pages");
        Self { page_size: page_size as u32, pages: pages as u32 }
    }

    /// Pages a block.
    pub fn pages_per_block(&self) -> usize {
        self.pages as usize
    }

    /// Bytes a block, a multiple of the page size.
    pub fn block_bytes(&self) -> usize {
        self.page_size as usize * self.pages as usize
    }

    /// Byte offset of a block in its file.
    pub fn offset(&self, block: BlockId) -> u64 {
        u64::from(self.page_size) + u64::from(block.0) * self.block_bytes() as u64
    }

    /// Length of a file of `blocks` blocks.
    pub fn file_bytes(&self, blocks: u64) -> u64 {
        u64::from(self.page_size) + blocks * self.block_bytes() as u64
    }
}
