//! The page table of a live index: where each of its blocks lies, in memory and in `table.gln`.

mod block_set;
mod file;
mod table;

pub use block_set::BlockSet;
pub use file::{ExpectedPageTable, StoredPageTable};
/// Name of the file of the page table, which makes an index a live one.
pub const PAGE_TABLE_NAME: &str = "table.gln";

pub use table::{Area, LogicalBlock, PageTable};
