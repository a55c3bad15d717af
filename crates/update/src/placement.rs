//! Where a new node goes: beside its neighbours if their block has a free place, so that a page still holds what is read
//! together (OdinANN's placement); blocks at the end are opened with more room than is needed at once.

use gleann_storage::Layout;
use gleann_vector::NodeId;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Neighbours whose blocks are looked at, nearest first.
const LOOKED_AT: usize = 12;
/// Blocks that may stand open, beside a share of all.
const OPEN_BLOCKS: usize = 16;
/// One free place in so many is left for neighbours to come.
const SPARE: usize = 50;

/// The free places of an index.
#[derive(Debug)]
pub struct Placement {
    layout: Layout,
    /// Free places below `places`, by block.
    free: BTreeMap<u32, SmallVec<[u32; 4]>>,
    count: usize,
    /// Places there are, free or not: whole blocks.
    places: u32,
}

impl Placement {
    /// The free places among `places`: those that `is_free` says, and the rest of the last block.
    pub fn new(layout: Layout, places: u32, is_free: impl Fn(u32) -> bool) -> Self {
        let mut new = Self { layout, free: BTreeMap::new(), count: 0, places: 0 };
        let end = layout.blocks(places.into()) as u32 * layout.records_per_block() as u32;
        new.places = end;
        (0..end).filter(|&id| id >= places || is_free(id)).for_each(|id| new.give_back(id));
        new
    }

    /// Gives a place back.
    pub fn give_back(&mut self, id: u32) {
        self.free.entry(self.layout.block_of(NodeId(id)).0).or_default().push(id);
        self.count += 1;
    }

    /// Takes the place for a node with these neighbours, nearest first; `None` when ids have run out.
    pub fn take(&mut self, neighbours: &[u32]) -> Option<u32> {
        let near = neighbours.iter().take(LOOKED_AT).map(|&id| self.layout.block_of(NodeId(id)).0);
        if let Some(block) = near.into_iter().find(|block| self.free.contains_key(block)) {
            return self.take_from(block);
        }
        let per_block = self.layout.records_per_block();
        let spare = OPEN_BLOCKS * (per_block - 1) + self.places as usize / SPARE;
        if !neighbours.is_empty()
            && self.count < spare
            && let Some(block) = self.open_block()
        {
            return self.take_from(block);
        }
        let block = self.free.first_key_value().map(|(&block, _)| block).or_else(|| self.open_block())?;
        self.take_from(block)
    }

    /// Takes a place that is known to be free: when the log is read again.
    ///
    /// # Errors
    /// It is not free.
    pub fn take_exactly(&mut self, id: u32) -> Result<(), ()> {
        while self.places <= id {
            self.open_block().ok_or(())?;
        }
        let block = self.layout.block_of(NodeId(id)).0;
        let places = self.free.get_mut(&block).ok_or(())?;
        let at = places.iter().position(|&place| place == id).ok_or(())?;
        places.swap_remove(at);
        self.count -= 1;
        if places.is_empty() {
            self.free.remove(&block);
        }
        Ok(())
    }

    fn take_from(&mut self, block: u32) -> Option<u32> {
        let places = self.free.get_mut(&block)?;
        let id = places.pop()?;
        self.count -= 1;
        if places.is_empty() {
            self.free.remove(&block);
        }
        Some(id)
    }

    /// Opens the block behind the last.
    fn open_block(&mut self) -> Option<u32> {
        let per_block = self.layout.records_per_block() as u32;
        let end = self.places.checked_add(per_block).filter(|&end| end < 1 << 31)?;
        (self.places..end).rev().for_each(|id| self.give_back(id));
        self.places = end;
        Some(self.layout.block_of(NodeId(end - 1)).0)
    }

    /// Places there are, free or not.
    pub fn places(&self) -> u32 {
        self.places
    }

    /// Free places.
    pub fn free(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::ElementType;

    #[test]
    fn a_new_node_goes_to_its_neighbours_and_every_place_is_given_once() {
        let layout = Layout::new(ElementType::U8, 128, 64, 4096).unwrap();
        let per_block = layout.records_per_block() as u32;
        let mut placement = Placement::new(layout, 4 * per_block + 1, |id| id == per_block + 3);
        assert_eq!(placement.places(), 5 * per_block);
        assert_eq!(placement.take(&[0, per_block]), Some(per_block + 3), "the one free place there");
        let mut taken: Vec<u32> = (0..500).map(|_| placement.take(&[0]).unwrap()).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 500);
        assert!(taken.iter().all(|&id| id > 4 * per_block && id < placement.places()));
        assert!(placement.take_exactly(taken[0]).is_err());
        placement.give_back(taken[0]);
        placement.take_exactly(taken[0]).unwrap();
        let far = placement.places() + 3 * per_block;
        placement.take_exactly(far).unwrap();
        assert!(placement.take_exactly(far).is_err());
    }
}
