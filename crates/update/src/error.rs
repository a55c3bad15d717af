//! What goes wrong with updates.

use crate::pages::PagesError;
use crate::wal::WalError;
use gleann_search::SearchError;
use gleann_storage::StorageError;
use std::path::PathBuf;
use std::sync::Arc;

/// An update could not be made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpdateError {
    /// The log could not be written or read.
    #[error(transparent)]
    Log(#[from] Arc<WalError>),
    /// The blocks could not be written or read.
    #[error(transparent)]
    Pages(#[from] Arc<PagesError>),
    /// A file of the index could not be written or read.
    #[error(transparent)]
    Storage(#[from] Arc<StorageError>),
    /// There is something where a new index was to be made.
    #[error("{}: exists already; choose another directory", .0.display())]
    Exists(PathBuf),
    /// The search for a new vector's neighbours failed.
    #[error("the search for the neighbours of key {key} failed: {cause}")]
    Search {
        /// The key.
        key: u64,
        /// Why.
        cause: SearchError,
    },
    /// What lies on disk contradicts itself.
    #[error("{}: {found}; restore the index from a snapshot, or build it again", path.display())]
    Damaged {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        found: String,
    },
    /// The index is not one yet.
    #[error("{}: {found}", path.display())]
    Unfinished {
        /// The directory.
        path: PathBuf,
        /// What is missing, and what to do.
        found: &'static str,
    },
    /// The graph could not be built anew.
    #[error("{}: the index could not be built anew, and is as before: {cause}", path.display())]
    Rebuild {
        /// The directory.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The index cannot be updated at all.
    #[error("{}: {found}", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
        /// Why, and what to do.
        found: &'static str,
    },
    /// The index was closed before the operation was done.
    #[error(
        "the index was closed before the operation was done; whether it was shows when it is opened again"
    )]
    Closed,
    /// The vector does not fit the index.
    #[error("the vector of key {key} cannot be inserted: {found}")]
    Vector {
        /// Its key.
        key: u64,
        /// What it is, and what was expected.
        found: String,
    },
    /// There are as many nodes as ids.
    #[error("the index is full: 2³¹ places; compact it to free the places of deleted vectors")]
    Full,
}

impl From<WalError> for UpdateError {
    fn from(error: WalError) -> Self {
        Self::Log(Arc::new(error))
    }
}

impl From<PagesError> for UpdateError {
    fn from(error: PagesError) -> Self {
        Self::Pages(Arc::new(error))
    }
}

impl From<StorageError> for UpdateError {
    fn from(error: StorageError) -> Self {
        Self::Storage(Arc::new(error))
    }
}

impl UpdateError {
    /// The system's kind of error, where the system refused: `StorageFull`, …
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        match self {
            Self::Log(error) => error.io_kind(),
            Self::Pages(error) => error.io_kind(),
            Self::Storage(error) => error.io_kind(),
            _ => None,
        }
    }
}
