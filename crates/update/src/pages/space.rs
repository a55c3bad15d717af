//! Which places of the block file are free, and how long the file is.
//!
//! A place is *free*, or in use by the table in force or the commit under way, or *retired*: given up by a commit, but
//! perhaps named by an older table that a reader still holds. Tables are numbered by generation, and a place that was
//! taken for generation b and given up by the commit that followed generation e is named by the tables b..=e, no other.
//! So a retired place waits with the newest of these tables that is still held, and a reader that stays for long keeps
//! what its own table names and nothing more.

use super::block_file::BlockFile;
use super::error::PagesError;
use super::write_buffer::GATHERED;
use gleann_storage::{BlockSet, PageTable, StorageError};
use std::io;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};

/// Commits for which the end of the file has to lie idle before it is cut off.
const IDLE_COMMITS: usize = 8;

/// The places of one block file.
pub(super) struct Space {
    /// Places in the file.
    blocks: u32,
    free: BlockSet,
    /// The generation that each place was taken for; 0 for those in use when the store was opened.
    born: Vec<u32>,
    /// That of the table in force. It stops at the top, where places are held for longer than they need be.
    generation: u32,
    /// Older tables that are held, ascending.
    retired: Vec<Retired>,
    /// One past the highest place in use during each of the last commits.
    reach: [u32; IDLE_COMMITS],
}

/// A table no longer in force.
struct Retired {
    generation: u32,
    table: Weak<PageTable>,
    /// Places of which this is the newest table that is held.
    places: Vec<u32>,
}

impl Space {
    /// The space of a file of `blocks` blocks of which `table` names some.
    pub fn new(blocks: u32, table: &PageTable) -> Self {
        let mut free = BlockSet::default();
        free.extend(0..blocks);
        for &place in table.areas().iter().flatten() {
            assert!(free.remove(place), "place {place} is named twice or does not exist");
        }
        Self {
            blocks,
            free,
            born: vec![0; blocks as usize],
            generation: 0,
            retired: Vec::new(),
            reach: [blocks; IDLE_COMMITS],
        }
    }

    /// Places in the file.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Places that can be taken.
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// Places that only tables no longer in force name.
    pub fn retired(&mut self) -> u32 {
        self.release();
        self.retired.iter().map(|table| table.places.len() as u32).sum()
    }

    /// Frees the retired places that no table names that someone holds.
    pub fn release(&mut self) {
        let mut held: Vec<Retired> = Vec::new();
        for entry in self.retired.drain(..) {
            if entry.table.strong_count() > 0 {
                held.push(entry);
                continue;
            }
            for place in entry.places {
                match held.last_mut() {
                    Some(holder) if self.born[place as usize] <= holder.generation => {
                        holder.places.push(place);
                    }
                    _ => {
                        let new = self.free.insert(place);
                        assert!(new, "place {place} was retired and free");
                    }
                }
            }
        }
        self.retired = held;
        // The count is read without order: what readers did before they let go comes before what is written now.
        fence(Ordering::Acquire);
    }

    /// Takes the lowest free place for the next generation; the file grows where there is none.
    pub fn take(&mut self, file: &BlockFile) -> Result<u32, PagesError> {
        if self.free.is_empty() {
            self.release();
        }
        if self.free.is_empty() {
            self.grow(file)?;
        }
        let place = self.free.pop_first().expect("there was a free place, or growth made some");
        self.born[place as usize] = self.generation.saturating_add(1);
        Ok(place)
    }

    /// Takes back a place that no table names.
    pub fn give_back(&mut self, place: u32) {
        let new = self.free.insert(place);
        assert!(new && place < self.blocks, "place {place} was free");
    }

    /// Grows by a step that keeps the number of growths small, or by a single block where the disk has no more.
    fn grow(&mut self, file: &BlockFile) -> Result<(), PagesError> {
        // u32::MAX stands for no place at all.
        let room = u32::MAX - self.blocks;
        let least = (GATHERED / file.block_bytes()).max(1) as u32;
        let step = (self.blocks / 64).max(least).min(room);
        if step == 0 {
            return Err(PagesError::FileFull { path: file.path().to_owned(), blocks: self.blocks });
        }
        let grown = match file.resize(self.blocks + step) {
            Ok(()) => step,
            Err(error) if step > 1 && is_full(&error) => file.resize(self.blocks + 1).map(|()| 1)?,
            Err(error) => return Err(error.into()),
        };
        self.free.extend(self.blocks..self.blocks + grown);
        self.blocks += grown;
        self.born.resize(self.blocks as usize, 0);
        Ok(())
    }

    /// Makes the table of the commit that ends the one in force; `given_up` are the places that only the old one named.
    pub fn advance(&mut self, old: &Arc<PageTable>, given_up: Vec<u32>) {
        let table = Arc::downgrade(old);
        self.retired.push(Retired { generation: self.generation, table, places: given_up });
        self.generation = self.generation.saturating_add(1);
        self.reach.rotate_left(1);
        self.reach[IDLE_COMMITS - 1] = self.blocks - self.free.run_below(self.blocks);
    }

    /// Cuts off the end of the file if more than a quarter of it has been idle for some commits.
    pub fn shrink(&mut self, file: &BlockFile) -> Result<(), StorageError> {
        self.release();
        let reach = self.reach.into_iter().max().expect("the array is not empty");
        let idle = self.blocks.saturating_sub(reach);
        if idle > self.blocks / 4 && idle as usize * file.block_bytes() >= GATHERED {
            file.resize(reach)?;
            self.cut(reach);
        }
        Ok(())
    }

    fn cut(&mut self, blocks: u32) {
        let idle = self.free.run_below(self.blocks);
        assert!(self.blocks - idle <= blocks, "places beyond {blocks} are in use");
        self.free.truncate(blocks);
        self.born.truncate(blocks as usize);
        self.blocks = blocks;
    }
}

fn is_full(error: &StorageError) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.io_kind(), Some(StorageFull | QuotaExceeded | FileTooLarge))
}
