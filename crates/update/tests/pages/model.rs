//! What the store should hold: a number for every block.

use gleann_storage::{
    Area, BLOCK_TRAILER, BlockLayout, BuildId, Layout, LogicalBlock, PageTable, SimVolume, Volume,
};
use gleann_update::{Commit, Pages, PagesError, PagesPlace};
use gleann_vector::ElementType;
use std::sync::Arc;

/// A state of the index: what fills each block of each area.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model(pub [Vec<u64>; 3]);

/// Blocks of one page.
pub fn layout() -> BlockLayout {
    Layout::new(ElementType::U8, 16, 8, 4096).unwrap().block_layout()
}

pub fn place(volume: &SimVolume) -> PagesPlace {
    PagesPlace { volume: Arc::new(volume.clone()), index: BuildId([7; 16]), layout: layout() }
}

pub fn open(volume: &SimVolume) -> (Pages, Vec<u8>) {
    Pages::open(place(volume)).unwrap()
}

pub fn record(index: u32) -> LogicalBlock {
    LogicalBlock { area: Area::Records, index }
}

/// The bytes that `number` stands for, not sealed.
pub fn filled(layout: BlockLayout, number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(layout.block_bytes() / 8)
}

/// The number that a block is filled with; panics if it is filled with different ones.
pub fn number_in(bytes: &[u8]) -> u64 {
    let words: Vec<u64> = bytes[..bytes.len() - BLOCK_TRAILER]
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert!(words.iter().all(|&word| word == words[0]), "a block of several writes");
    words[0]
}

pub fn write(commit: &mut Commit, block: LogicalBlock, number: u64) -> Result<(), PagesError> {
    commit.write(block, &mut filled(layout(), number))
}

/// Writes record blocks `0..blocks`, all filled with `number`, in a commit of their own.
pub fn write_all(pages: &Pages, blocks: u32, number: u64) -> Result<Arc<PageTable>, PagesError> {
    let mut commit = pages.begin()?;
    (0..blocks).try_for_each(|index| write(&mut commit, record(index), number))?;
    commit.finish(&number.to_le_bytes())
}

impl Model {
    /// Every record block, filled with `number`.
    pub fn of_records(blocks: u32, number: u64) -> Self {
        Self([vec![number; blocks as usize], Vec::new(), Vec::new()])
    }

    /// What the store holds by `table`.
    pub fn read(pages: &Pages, table: &PageTable) -> Self {
        let mut bytes = vec![0; pages.layout().block_bytes()];
        Self(Area::ALL.map(|area| {
            let blocks = 0..table.area(area).len() as u32;
            let mut number = |index| {
                pages.read(table, LogicalBlock { area, index }, &mut bytes).unwrap();
                number_in(&bytes)
            };
            blocks.map(&mut number).collect()
        }))
    }
}

/// The bytes of a file.
pub fn bytes_of(volume: &dyn Volume, name: &str) -> Vec<u8> {
    let file = volume.open(name).unwrap().unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}
