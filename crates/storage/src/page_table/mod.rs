//! The page table of a live index: where each of its blocks lies, in memory and in `table.gln`.

mod block_set;
mod file;
mod table;

pub use block_set::BlockSet;
pub use file::{ExpectedPageTable, StoredPageTable};
pub use table::{Area, LogicalBlock, PageTable};
