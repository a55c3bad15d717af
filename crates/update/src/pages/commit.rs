//! One checkpoint: changed blocks go to free places, and the switch of the table makes them the index.

use super::error::PagesError;
use super::store::{Shared, Turn};
use super::switch::{SwitchError, switch_table};
use super::write_buffer::WriteBuffer;
use gleann_storage::{Area, BlockSet, LogicalBlock, PageTable, StoredPageTable, seal_block};
use std::mem;
use std::sync::Arc;

/// Stands for the place of a block that the draft has no bytes of.
const NO_PLACE: u32 = u32::MAX;

/// A checkpoint being written; the table in force does not change before [`Commit::finish`]. Dropped before that, or
/// after an error, it leaves no trace and the places it wrote are free again.
pub struct Commit {
    shared: Arc<Shared>,
    base: Arc<PageTable>,
    /// The places of the table to be.
    draft: [Vec<u32>; 3],
    /// The places that this commit took.
    taken: BlockSet,
    buffer: WriteBuffer,
    failed: bool,
    /// Whether the places it took are no longer its own to give back.
    ended: bool,
}

impl Commit {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self, PagesError> {
        shared.take_turn()?;
        let base = shared.table.load_full();
        shared.space.lock().release();
        Ok(Self {
            shared: Arc::clone(shared),
            draft: base.areas().clone(),
            base,
            taken: BlockSet::default(),
            buffer: WriteBuffer::default(),
            failed: false,
            ended: false,
        })
    }

    /// Seals `bytes` (writes number and checksum into their last bytes) and has them stand for `block` from this commit
    /// on. A block beyond the end of its area makes the area longer; all blocks up to it must be written before the
    /// commit ends. Written twice, the last bytes count.
    ///
    /// # Errors
    /// The area or the file can have no such block, or the system refused (the disk is full, …): the commit is lost.
    ///
    /// # Panics
    /// If `bytes` is not one block long.
    pub fn write(&mut self, block: LogicalBlock, bytes: &mut [u8]) -> Result<(), PagesError> {
        assert_eq!(bytes.len(), self.shared.file.block_bytes(), "block buffer");
        self.expect_sound()?;
        let LogicalBlock { area, index } = block;
        if index >= area.most_blocks() {
            let path = self.shared.file.path().to_owned();
            return Err(PagesError::AreaFull { path, block: index, area });
        }
        seal_block(bytes, block.number());
        self.failed = true;
        let place = self.place_for(block)?;
        self.buffer.push(&self.shared.file, place, bytes)?;
        self.failed = false;
        Ok(())
    }

    /// The place that this commit writes a block to.
    fn place_for(&mut self, block: LogicalBlock) -> Result<u32, PagesError> {
        let places = &mut self.draft[block.area as usize];
        let index = block.index as usize;
        if index >= places.len() {
            places.resize(index + 1, NO_PLACE);
        }
        if !self.taken.contains(places[index]) {
            places[index] = self.shared.space.lock().take(&self.shared.file)?;
            self.taken.insert(places[index]);
        }
        Ok(places[index])
    }

    /// Reads a block as this commit has it so far, and verifies it.
    ///
    /// # Errors
    /// There is no such block, the block is damaged, or the system refused.
    ///
    /// # Panics
    /// If `into` is not one block long.
    pub fn read(&mut self, block: LogicalBlock, into: &mut [u8]) -> Result<(), PagesError> {
        self.expect_sound()?;
        let places = &self.draft[block.area as usize];
        let place = places.get(block.index as usize).copied().filter(|&place| place != NO_PLACE);
        let place = place.ok_or_else(|| self.shared.unknown(places.len(), block))?;
        match self.buffer.waiting(place, into.len()) {
            Some(waiting) if self.taken.contains(place) => {
                into.copy_from_slice(waiting);
                Ok(())
            }
            _ => self.shared.read(place, block, into),
        }
    }

    /// Blocks that an area has so far.
    pub fn blocks(&self, area: Area) -> u32 {
        self.draft[area as usize].len() as u32
    }

    /// Gives up the blocks of an area from `count` on.
    pub fn truncate(&mut self, area: Area, count: u32) {
        let places = &mut self.draft[area as usize];
        let dropped = places.split_off(places.len().min(count as usize));
        let mut space = self.shared.space.lock();
        for place in dropped {
            if self.taken.remove(place) {
                space.give_back(place);
            }
        }
    }

    /// Makes the commit durable and its table the one in force. `root` is what the next [`Pages::open`] gives back.
    ///
    /// [`Pages::open`]: super::Pages::open
    ///
    /// # Errors
    /// A block was left out, an earlier write failed, or the system refused: the old table stands, and another commit
    /// can be tried. [`PagesError::Unsure`]: what the disk holds is unknown until the store is opened again.
    pub fn finish(mut self, root: &[u8]) -> Result<Arc<PageTable>, PagesError> {
        self.expect_sound()?;
        self.expect_no_holes()?;
        if !self.taken.is_empty() {
            self.buffer.flush(&self.shared.file)?;
            // If this fails, no later success makes up for it. No later table names what was lost: whatever it names
            // beyond the one in force is written once more.
            self.shared.file.sync()?;
        }
        let areas = mem::take(&mut self.draft);
        let stored = StoredPageTable {
            index: self.shared.place.index,
            layout: self.shared.place.layout,
            table: PageTable::new(self.base.sequence() + 1, areas),
            root: root.to_vec(),
        };
        match switch_table(&*self.shared.place.volume, &stored) {
            Ok(()) => Ok(self.take_effect(stored.table)),
            Err(SwitchError::Before(error)) => Err(error.into()),
            Err(SwitchError::Unsure(error)) => {
                // Either table may be the one that the disk brings back, so the places of both stay as they are.
                self.ended = true;
                Err(self.shared.end_turn_unsure(error))
            }
        }
    }

    fn take_effect(mut self, table: PageTable) -> Arc<PageTable> {
        let given_up = given_up(&self.base, &table);
        let table = Arc::new(table);
        self.shared.table.store(Arc::clone(&table));
        self.ended = true;
        let mut space = self.shared.space.lock();
        space.advance(&self.base, given_up);
        self.base = Arc::clone(&table);
        if let Err(error) = space.shrink(&self.shared.file) {
            log::warn!("idle space at the end of a block file stays: {error}");
        }
        table
    }

    fn expect_sound(&self) -> Result<(), PagesError> {
        match self.failed {
            true => Err(PagesError::Abandoned { path: self.shared.file.path().to_owned() }),
            false => Ok(()),
        }
    }

    fn expect_no_holes(&self) -> Result<(), PagesError> {
        for (area, places) in Area::ALL.into_iter().zip(&self.draft) {
            if let Some(index) = places.iter().position(|&place| place == NO_PLACE) {
                let path = self.shared.file.path().to_owned();
                return Err(PagesError::Hole { path, block: LogicalBlock { area, index: index as u32 } });
            }
        }
        Ok(())
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        if !self.ended {
            let mut space = self.shared.space.lock();
            self.taken.iter().for_each(|place| space.give_back(place));
        }
        self.shared.end_turn();
    }
}

/// The places that `old` names and `new` does not.
fn given_up(old: &PageTable, new: &PageTable) -> Vec<u32> {
    let mut places = Vec::new();
    for (old, new) in old.areas().iter().zip(new.areas()) {
        let kept = old.len().min(new.len());
        places.extend(old.iter().zip(new).filter(|(old, new)| old != new).map(|(&old, _)| old));
        places.extend_from_slice(&old[kept..]);
    }
    places
}

impl Shared {
    fn take_turn(&self) -> Result<(), PagesError> {
        let mut turn = self.turn.lock();
        match &*turn {
            Turn::Free => {
                *turn = Turn::Taken;
                Ok(())
            }
            Turn::Taken => Err(PagesError::Busy { path: self.file.path().to_owned() }),
            Turn::Unsure(cause) => Err(self.unsure(Arc::clone(cause))),
        }
    }

    fn end_turn(&self) {
        let mut turn = self.turn.lock();
        if matches!(*turn, Turn::Taken) {
            *turn = Turn::Free;
        }
    }

    fn end_turn_unsure(&self, error: gleann_storage::StorageError) -> PagesError {
        let cause = Arc::new(error);
        *self.turn.lock() = Turn::Unsure(Arc::clone(&cause));
        self.unsure(cause)
    }
}
