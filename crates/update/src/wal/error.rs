//! What can be wrong with a log.

use super::record::{Lsn, MAX_PAYLOAD};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The log could not be read, written, or trusted.
#[derive(Debug, thiserror::Error)]
pub enum WalError {
    /// The system refused. The log stands as before.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried, such as "reading".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// There is no room for another segment. Nothing was appended; the log goes on when there is.
    #[error("{} needs {bytes} bytes: {source}; nothing was logged, free some room and try again", path.display())]
    Full {
        /// The segment that was to be made.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// Writing failed before, and nobody can know what of it is on the disk. Only opening the log again can tell.
    #[error(
        "the log takes no more, because {action} {} failed ({source}); \
         see to the disk, then close the index and open it again",
        path.display()
    )]
    Poisoned {
        /// What failed first.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: Arc<io::Error>,
    },
    /// A payload that is too long for a record.
    #[error("a log record of {found} bytes, expected at most {MAX_PAYLOAD}; split it")]
    TooLong {
        /// Its length.
        found: usize,
    },
    /// A commit of a record that this log has not given out.
    #[error("a commit of log record {lsn}, but the last one appended is {last}; commit what append returned")]
    NeverAppended {
        /// The record.
        lsn: Lsn,
        /// The last one there is.
        last: Lsn,
    },
    /// Bytes that cannot be, where they had been durable.
    #[error(
        "{} is damaged at byte {offset}: found {found}, expected {expected}; \
         copy the file again, or restore the whole index from a backup",
        path.display()
    )]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is there.
        found: String,
        /// What should be.
        expected: String,
    },
    /// A segment is not there.
    #[error(
        "{} is missing, expected because {reason}; copy it again, or restore the whole index from a backup",
        path.display()
    )]
    MissingSegment {
        /// The segment.
        path: PathBuf,
        /// How one knows that it existed.
        reason: String,
    },
    /// A segment that this program does not know how to read, or that belongs elsewhere.
    #[error("{}: {field} is {found}, expected {expected}; {remedy}", path.display())]
    Foreign {
        /// The segment.
        path: PathBuf,
        /// Which field of the header tells.
        field: &'static str,
        /// Its value.
        found: String,
        /// What it should be.
        expected: String,
        /// What to do.
        remedy: &'static str,
    },
}

impl WalError {
    /// For `map_err` on system calls.
    pub(super) fn io(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path, source }
    }

    /// The file it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::Full { path, .. }
            | Self::Poisoned { path, .. }
            | Self::Damaged { path, .. }
            | Self::MissingSegment { path, .. }
            | Self::Foreign { path, .. } => Some(path),
            Self::TooLong { .. } | Self::NeverAppended { .. } => None,
        }
    }

    /// The system's kind of error, where the system refused: `StorageFull`, `QuotaExceeded`, …
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } | Self::Full { source, .. } => Some(source.kind()),
            Self::Poisoned { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

/// The failure after which a log takes no more.
#[derive(Debug, Clone)]
pub(super) struct Poison {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: Arc<io::Error>,
}

impl Poison {
    /// For `map_err` on system calls.
    pub fn of(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path, source: Arc::new(source) }
    }
}

impl From<Poison> for WalError {
    fn from(poison: Poison) -> Self {
        let Poison { action, path, source } = poison;
        Self::Poisoned { action, path, source }
    }
}
