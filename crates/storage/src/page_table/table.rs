//! The table: which block of a file holds the bytes of which block of the index: what lets a live index change without ever
//! writing over a block that someone may read.

use super::block_set::BlockSet;
use crate::error::FieldError;
use crate::layout::BlockId;
use std::fmt;

/// What a block of the file of a live index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// Records: vectors and neighbour lists.
    Records,
    /// Codes of the vectors.
    Codes,
    /// Keys of the nodes.
    Keys,
}

impl Area {
    /// Every area, in the order of their numbers.
    pub const ALL: [Area; 3] = [Area::Records, Area::Codes, Area::Keys];

    /// The number in the trailer of the area's first block; those of the others follow.
    pub const fn first_number(self) -> u32 {
        match self {
            Area::Records => 0,
            Area::Codes => 0x8000_0000,
            Area::Keys => 0xc000_0000,
        }
    }

    /// The most blocks an area has: as many as there are numbers.
    pub const fn most_blocks(self) -> u32 {
        match self {
            Area::Records => 1 << 31,
            Area::Codes | Area::Keys => 1 << 30,
        }
    }
}

const _: () = assert!(Area::Records.most_blocks() == Area::Codes.first_number());
const _: () = assert!(Area::Codes.first_number() + Area::Codes.most_blocks() == Area::Keys.first_number());
const _: () = assert!(Area::Keys.first_number() - 1 + Area::Keys.most_blocks() == u32::MAX);

/// A block of the index, wherever its bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalBlock {
    /// What it holds.
    pub area: Area,
    /// Its place in the area, from 0, below [`Area::most_blocks`].
    pub index: u32,
}

impl LogicalBlock {
    /// The number in its trailer, another for every block of the index.
    ///
    /// # Panics
    /// If the area has no such block.
    #[inline]
    pub fn number(self) -> BlockId {
        assert!(self.index < self.area.most_blocks(), "{self} has no number");
        BlockId(self.area.first_number() + self.index)
    }
}

impl fmt::Display for LogicalBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let area = match self.area {
            Area::Records => "record",
            Area::Codes => "code",
            Area::Keys => "key",
        };
        write!(f, "{area} block {}", self.index)
    }
}

/// The physical block of every block of an index, as of one checkpoint. Never changes: a checkpoint makes another.
///
/// The blocks it names keep their bytes for as long as it lives, so whoever reads by it holds it until the last read
/// has come back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageTable {
    sequence: u64,
    areas: [Vec<u32>; 3],
    file_blocks: u32,
}

impl PageTable {
    /// The table of checkpoint `sequence`: physical blocks, all different and below `u32::MAX`, in the order of
    /// [`Area::ALL`].
    pub fn new(sequence: u64, areas: [Vec<u32>; 3]) -> Self {
        let highest = areas.iter().flatten().copied().max();
        Self { sequence, areas, file_blocks: highest.map_or(0, |block| block.saturating_add(1)) }
    }

    /// The table of a file just built: its blocks are the record blocks, in order.
    pub fn identity(record_blocks: u32) -> Self {
        Self::new(0, [(0..record_blocks).collect(), Vec::new(), Vec::new()])
    }

    /// Number of the checkpoint, from 0, ascending.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Physical blocks of the record blocks.
    #[inline]
    pub fn records(&self) -> &[u32] {
        &self.areas[Area::Records as usize]
    }

    /// Physical blocks of the code blocks.
    #[inline]
    pub fn codes(&self) -> &[u32] {
        &self.areas[Area::Codes as usize]
    }

    /// Physical blocks of the key blocks.
    #[inline]
    pub fn keys(&self) -> &[u32] {
        &self.areas[Area::Keys as usize]
    }

    /// Physical blocks of an area.
    #[inline]
    pub fn area(&self, area: Area) -> &[u32] {
        &self.areas[area as usize]
    }

    /// All three areas, in the order of [`Area::ALL`].
    pub fn areas(&self) -> &[Vec<u32>; 3] {
        &self.areas
    }

    /// Where a block lies; `None` if the index has no such block.
    #[inline]
    pub fn physical(&self, block: LogicalBlock) -> Option<BlockId> {
        self.area(block.area).get(block.index as usize).copied().map(BlockId)
    }

    /// Number of blocks of the index.
    pub fn blocks(&self) -> u64 {
        self.areas.iter().map(|area| area.len() as u64).sum()
    }

    /// The blocks that the file has at least: every physical block is below.
    pub fn file_blocks(&self) -> u32 {
        self.file_blocks
    }

    /// Holds the table against a file of `blocks` blocks.
    ///
    /// # Errors
    /// An area has too many blocks, or a physical block does not exist or is named twice.
    pub(crate) fn validate(&self, blocks: u64) -> Result<(), FieldError> {
        let mut named = BlockSet::default();
        for area in Area::ALL {
            let (count, most) = (self.area(area).len() as u64, u64::from(area.most_blocks()));
            if count > most {
                return Err(FieldError::new(
                    "the number of blocks of an area",
                    count,
                    format!("{most} at most"),
                ));
            }
            for (index, &physical) in (0..).zip(self.area(area)) {
                let block = LogicalBlock { area, index };
                if u64::from(physical) >= blocks || physical == u32::MAX {
                    let expected = format!("a number below {blocks}, the blocks of the block file");
                    return Err(FieldError::new("a place", format!("{physical} for {block}"), expected));
                }
                if !named.insert(physical) {
                    let found = format!("{physical} for {block} and another block");
                    return Err(FieldError::new("a place", found, "a place of its own for every block"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_number_of_its_own() {
        let number = |area, index| LogicalBlock { area, index }.number().0;
        assert_eq!(number(Area::Records, (1 << 31) - 1), 0x7fff_ffff);
        assert_eq!(number(Area::Codes, 0), 0x8000_0000);
        assert_eq!(number(Area::Codes, (1 << 30) - 1), 0xbfff_ffff);
        assert_eq!(number(Area::Keys, 5), 0xc000_0005);
        assert_eq!(number(Area::Keys, (1 << 30) - 1), u32::MAX);
    }

    #[test]
    #[should_panic(expected = "has no number")]
    fn a_number_of_another_area_is_not_given_out() {
        LogicalBlock { area: Area::Records, index: 1 << 31 }.number();
    }

    #[test]
    fn places_are_looked_up_and_counted() {
        let table = PageTable::new(3, [vec![4, 0], vec![2], vec![]]);
        let at = |area, index| table.physical(LogicalBlock { area, index }).map(|block| block.0);
        assert_eq!((at(Area::Records, 0), at(Area::Codes, 0)), (Some(4), Some(2)));
        assert_eq!((at(Area::Records, 2), at(Area::Keys, 0)), (None, None));
        assert_eq!((table.blocks(), table.file_blocks(), table.sequence()), (3, 5, 3));
        assert_eq!(PageTable::identity(3).records(), [0, 1, 2]);
        assert_eq!(PageTable::identity(0).file_blocks(), 0);
    }

    #[test]
    fn impossible_places_are_named() {
        let problem = |areas| PageTable::new(0, areas).validate(5).unwrap_err().to_string();
        assert!(PageTable::new(0, [vec![4, 0], vec![2], vec![]]).validate(5).is_ok());
        assert!(problem([vec![], vec![], vec![5]]).contains("5 for key block 0, expected a number below 5"));
        assert!(problem([vec![1], vec![1], vec![]]).contains("1 for code block 0 and another block"));
        assert!(PageTable::new(0, [vec![u32::MAX], vec![], vec![]]).validate(1 << 40).is_err());
    }
}
