//! The open page store: the table in force, what reads by it, and how it is opened and begun.

use super::block_file::{BLOCK_FILE_NAME, BlockFile};
use super::commit::Commit;
use super::error::{PagesError, io_error};
use super::space::Space;
use super::switch::{SwitchError, switch_table};
use crate::sync::{ArcSwap, Mutex};
use gleann_storage::{
    Area, BlockLayout, BuildId, ExpectedPageTable, LogicalBlock, PAGE_TABLE_NAME, PageTable, StorageError,
    StoredPageTable, Volume, verify_block,
};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Name of the file that holds the page table.
pub const TABLE_NAME: &str = PAGE_TABLE_NAME;
/// Name of a page table being written.
pub(super) const TABLE_TEMPORARY: &str = "table.gln.tmp";

/// Where a page store lies, and what it is.
#[derive(Clone)]
pub struct PagesPlace {
    /// The directory.
    pub volume: Arc<dyn Volume>,
    /// Ties the table to the index.
    pub index: BuildId,
    /// Where blocks lie in the block file.
    pub layout: BlockLayout,
}

/// The blocks of a live index. Any thread may read; one commit at a time changes them.
pub struct Pages {
    pub(super) shared: Arc<Shared>,
}

/// What the store and its commit share.
pub(super) struct Shared {
    pub place: PagesPlace,
    pub file: BlockFile,
    pub table: ArcSwap<PageTable>,
    pub turn: Mutex<Turn>,
    pub space: Mutex<Space>,
}

/// Who may write.
pub(super) enum Turn {
    /// Whoever asks.
    Free,
    /// The commit under way.
    Taken,
    /// Nobody any more: the table on the disk is the one in force or the one that was to follow it.
    Unsure(Arc<StorageError>),
}

impl Pages {
    /// Makes a live index of the file of a static build, whose blocks 0 to `record_blocks` − 1 become the record blocks
    /// in order. `root` is what [`Pages::open`] gives back.
    ///
    /// # Errors
    /// There is a table already, there are too many blocks, the block file is missing or too short, or the system
    /// refused.
    pub fn adopt(place: PagesPlace, record_blocks: u32, root: &[u8]) -> Result<Self, PagesError> {
        place.refuse(TABLE_NAME)?;
        let file = place.block_file()?;
        let (area, most) = (Area::Records, Area::Records.most_blocks());
        if record_blocks > most {
            return Err(PagesError::AreaFull { path: file.path().to_owned(), block: most, area });
        }
        if file.blocks()? < record_blocks {
            return Err(file.too_short(record_blocks).into());
        }
        Self::begin_with(place, file, PageTable::identity(record_blocks), root)
    }

    /// Makes a live index of no blocks. The header page of a block file that exists is kept, else it is zeros.
    ///
    /// # Errors
    /// There is a table already, or the system refused.
    pub fn create(place: PagesPlace, root: &[u8]) -> Result<Self, PagesError> {
        place.refuse(TABLE_NAME)?;
        let file = match BlockFile::open(&*place.volume, place.layout)? {
            Some(file) if file.blocks().is_ok() => file,
            // None, or what a crash left of the making of one.
            _ => BlockFile::create(&*place.volume, place.layout)?,
        };
        Self::begin_with(place, file, PageTable::default(), root)
    }

    fn begin_with(
        place: PagesPlace,
        file: BlockFile,
        table: PageTable,
        root: &[u8],
    ) -> Result<Self, PagesError> {
        // Whoever wrote the file may not have made it durable.
        file.sync()?;
        let table = place.store_table(table, root)?;
        Self::over(place, file, table)
    }

    /// Opens the store as the last checkpoint left it, with the root of that. What a checkpoint that did not end has
    /// written is free again.
    ///
    /// # Errors
    /// There is no table, it or the block file is damaged or of another index, or the system refused.
    pub fn open(place: PagesPlace) -> Result<(Self, Vec<u8>), PagesError> {
        let path = place.volume.path(TABLE_NAME);
        let found = place.volume.open(TABLE_NAME).map_err(io_error("opening", &path))?;
        let found = found.ok_or_else(|| PagesError::Missing { path: path.clone() })?;
        let file = place.block_file()?;
        let expected = ExpectedPageTable {
            index: place.index,
            layout: place.layout,
            file_blocks: file.blocks()?.into(),
        };
        let stored = StoredPageTable::read(&*found, &path, &expected)?;
        // The table may have come into its place by a rename that is not durable yet. A crash would then bring back the
        // one before it, so what only that one names must not be written over until this has returned.
        place.volume.sync_dir().map_err(io_error("fsync of the directory of", &path))?;
        if place.volume.open(TABLE_TEMPORARY).is_ok_and(|left| left.is_some()) {
            // Nobody reads it and the next writer replaces it, so a failure does no harm.
            let _ = place.volume.remove(TABLE_TEMPORARY);
        }
        Ok((Self::over(place, file, stored.table)?, stored.root))
    }

    fn over(place: PagesPlace, file: BlockFile, table: PageTable) -> Result<Self, PagesError> {
        let space = Mutex::new(Space::new(file.blocks()?, &table));
        let table = ArcSwap::from_pointee(table);
        Ok(Self { shared: Arc::new(Shared { place, file, table, turn: Mutex::new(Turn::Free), space }) })
    }

    /// The table in force. Its blocks keep their bytes for as long as it is held.
    pub fn table(&self) -> Arc<PageTable> {
        self.shared.table.load_full()
    }

    /// Begins to write the next checkpoint.
    ///
    /// # Errors
    /// Another commit is under way, or an earlier one had an unknown outcome.
    pub fn begin(&self) -> Result<Commit, PagesError> {
        Commit::begin(&self.shared)
    }

    /// Reads a block as `table` has it, and verifies it.
    ///
    /// # Errors
    /// The table has no such block, the block is damaged, or the system refused.
    ///
    /// # Panics
    /// If `into` is not one block long.
    pub fn read(&self, table: &PageTable, block: LogicalBlock, into: &mut [u8]) -> Result<(), PagesError> {
        let place =
            table.physical(block).ok_or_else(|| self.shared.unknown(table.area(block.area).len(), block))?;
        self.shared.read(place.0, block, into)
    }

    /// Where the block file lies, for a reader that opens it by its own means.
    pub fn path(&self) -> &Path {
        self.shared.file.path()
    }

    /// Where blocks lie in it.
    pub fn layout(&self) -> BlockLayout {
        self.shared.place.layout
    }

    /// Blocks in the block file.
    pub fn file_blocks(&self) -> u32 {
        self.shared.space.lock().blocks()
    }

    /// Blocks of the file that a commit may write now.
    pub fn free_blocks(&self) -> u32 {
        self.shared.space.lock().free()
    }

    /// Blocks of the file that only tables no longer in force name, because someone reads by these.
    pub fn retired_blocks(&self) -> u32 {
        self.shared.space.lock().retired()
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl PagesPlace {
    /// An error if there is a file of this name.
    pub(super) fn refuse(&self, name: &str) -> Result<(), PagesError> {
        let path = self.volume.path(name);
        match self.volume.open(name).map_err(io_error("opening", &path))? {
            Some(_) => Err(PagesError::Exists { path }),
            None => Ok(()),
        }
    }

    fn block_file(&self) -> Result<BlockFile, PagesError> {
        let file = BlockFile::open(&*self.volume, self.layout)?;
        file.ok_or_else(|| PagesError::Missing { path: self.volume.path(BLOCK_FILE_NAME) })
    }

    /// Writes the first table of an index. Whatever the error, nothing has been built on it.
    pub(super) fn store_table(&self, table: PageTable, root: &[u8]) -> Result<PageTable, StorageError> {
        let stored = StoredPageTable { index: self.index, layout: self.layout, table, root: root.to_vec() };
        switch_table(&*self.volume, &stored)
            .map_err(|(SwitchError::Before(error) | SwitchError::Unsure(error))| error)?;
        Ok(stored.table)
    }
}

impl Shared {
    /// Reads the place of a block.
    pub fn read(&self, place: u32, block: LogicalBlock, into: &mut [u8]) -> Result<(), PagesError> {
        assert_eq!(into.len(), self.file.block_bytes(), "block buffer");
        self.file.read(into, place)?;
        self.verify(place, block, into)
    }

    /// Holds what was read from a place against the block it should be.
    pub fn verify(&self, place: u32, block: LogicalBlock, bytes: &[u8]) -> Result<(), PagesError> {
        verify_block(bytes, block.number()).map_err(|source| PagesError::Block {
            path: self.file.path().to_owned(),
            block,
            offset: self.file.offset(place),
            source,
        })
    }

    /// There is no such block among `blocks` of its area.
    pub fn unknown(&self, blocks: usize, block: LogicalBlock) -> PagesError {
        PagesError::Unknown { path: self.file.path().to_owned(), block, blocks }
    }

    /// The outcome of a commit is unknown since `cause`.
    pub fn unsure(&self, cause: Arc<StorageError>) -> PagesError {
        PagesError::Unsure { path: self.place.volume.path(TABLE_NAME), cause }
    }
}
