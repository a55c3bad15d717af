//! What goes wrong with the files of an index: which file, which field, what was found, what was expected,
//! what to do.

use crate::block::BlockError;
use crate::header::FORMAT_VERSION;
use crate::record::RecordError;
use std::io;
use std::path::{Path, PathBuf};

/// A file of an index could not be read, written, or trusted.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused; its [`io::ErrorKind`] (disk full, no permission, …) is kept.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried, such as "writing".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// There is no manifest, so this is not an index (or not yet).
    #[error("{} is not an index directory: {found}", path.display())]
    NotAnIndex {
        /// The directory.
        path: PathBuf,
        /// What is there instead, and what to do.
        found: &'static str,
    },
    /// A member named by the manifest does not exist.
    #[error("{} is missing, but the MANIFEST beside it names it; copy it again or build the index again", path.display())]
    MissingMember {
        /// The absent file.
        path: PathBuf,
    },
    /// Written in a format this program does not know.
    #[error(
        "{} has format version {found}, this program reads version {FORMAT_VERSION}; \
         use the program that wrote it, or build the index again",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A field whose value cannot be.
    #[error("{}: {error}; {remedy}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// Which field, what it is, what it should be.
        error: FieldError,
        /// What to do.
        remedy: &'static str,
    },
    /// A block of the graph file is damaged.
    #[error("{}, block {block} at byte {offset}: {source}", path.display())]
    Block {
        /// The graph file.
        path: PathBuf,
        /// Number of the block.
        block: u32,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        source: BlockError,
    },
    /// A record of an undamaged block holds impossible values.
    #[error("{}, node {node}: {source}", path.display())]
    Record {
        /// The graph file.
        path: PathBuf,
        /// The node.
        node: u32,
        /// What is wrong with it.
        source: RecordError,
    },
    /// [`Progress::cancelled`](gleann_vector::Progress::cancelled) said so.
    #[error("cancelled")]
    Cancelled,
}

/// A field that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {found}, expected {expected}")]
pub struct FieldError {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub found: String,
    /// What it should be.
    pub expected: String,
}

impl FieldError {
    pub(crate) fn new(field: &'static str, found: impl ToString, expected: impl ToString) -> Self {
        Self { field, found: found.to_string(), expected: expected.to_string() }
    }

    /// Names the file the field stands in.
    pub(crate) fn at(self, path: &Path, remedy: &'static str) -> StorageError {
        StorageError::Field { path: path.to_owned(), error: self, remedy }
    }
}

impl StorageError {
    /// For `map_err` on system calls.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// The system's kind of error, where the system refused: `StorageFull`, `QuotaExceeded`, `FileTooLarge`, …
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}
