//! What goes wrong in the page store.

use gleann_storage::{Area, BlockError, LogicalBlock, StorageError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The page store could not be opened, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    /// A file could not be read, written, or trusted.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is no page store here.
    #[error("{} is missing: this is not a live index, or its making did not end; make it again", path.display())]
    Missing {
        /// The absent file.
        path: PathBuf,
    },
    /// There is a page store already.
    #[error("{} exists: open this live index, or make the other one in an empty directory", path.display())]
    Exists {
        /// The table that is there.
        path: PathBuf,
    },
    /// A block does not hold what was written for it.
    #[error("{}, {block} at byte {offset}: {source}; bring the index back from a copy", path.display())]
    Block {
        /// The block file.
        path: PathBuf,
        /// The block of the index.
        block: LogicalBlock,
        /// Where its bytes begin.
        offset: u64,
        /// What is wrong with it.
        source: BlockError,
    },
    /// A block that the table does not have.
    #[error("{}: {block} is not in the page table, which has {blocks} of them", path.display())]
    Unknown {
        /// The block file.
        path: PathBuf,
        /// The block asked for.
        block: LogicalBlock,
        /// Blocks of its area.
        blocks: usize,
    },
    /// A commit made an area longer and left out a block below its end.
    #[error("{}: {block} was never written, but blocks behind it were; write every block of an area", path.display())]
    Hole {
        /// The block file.
        path: PathBuf,
        /// The first block without bytes.
        block: LogicalBlock,
    },
    /// An area cannot have a block of this number.
    #[error(
        "{}: no room for {block}, an area of this kind has {} blocks at most; build a second index",
        path.display(), area.most_blocks()
    )]
    AreaFull {
        /// The block file.
        path: PathBuf,
        /// Number of the block.
        block: u32,
        /// Its area.
        area: Area,
    },
    /// The block file cannot have more blocks.
    #[error("{} has {blocks} blocks and cannot have more; build a second index, or one of larger pages", path.display())]
    FileFull {
        /// The block file.
        path: PathBuf,
        /// Blocks it has.
        blocks: u32,
    },
    /// There can be one commit at a time.
    #[error("{}: another commit is under way; end it first", path.display())]
    Busy {
        /// The block file.
        path: PathBuf,
    },
    /// An earlier step of this commit failed.
    #[error("{}: an earlier write of this commit failed, so it cannot go on; begin another", path.display())]
    Abandoned {
        /// The block file.
        path: PathBuf,
    },
    /// A table was switched, but perhaps not durably.
    #[error(
        "{}: whether the last checkpoint is durable is unknown ({cause}), so nothing more is written; \
         close the index and open it again",
        path.display()
    )]
    Unsure {
        /// The table.
        path: PathBuf,
        /// What failed.
        #[source]
        cause: Arc<StorageError>,
    },
}

impl PagesError {
    /// The system's kind of error, where the system refused: `StorageFull`, `QuotaExceeded`, …
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Storage(error) => error.io_kind(),
            Self::Unsure { cause, .. } => cause.io_kind(),
            _ => None,
        }
    }
}

/// For `map_err` on calls of the volume.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StorageError {
    move |source| StorageError::Io { action, path: path.to_owned(), source }
}
