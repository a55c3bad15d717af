//! Why a build does not begin, or stops.

use super::phase::Phase;
use crate::import::ImportError;
use gleann_graph::ParamsError;
use gleann_quant::QuantError;
use gleann_storage::{LayoutError, StorageError};
use gleann_vector::{FileError, SourceError};
use std::io;
use std::path::{Path, PathBuf};

/// A build that was refused, or that stopped. Unless it says otherwise, what is finished is kept, and the same
/// build continues it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// An option that does not go with the data.
    #[error("{option} is {found}; expected {expected}")]
    Option {
        /// The option.
        option: &'static str,
        /// Its value.
        found: String,
        /// Values that work.
        expected: String,
    },
    /// The geometry of the records is impossible.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The graph's parameters are impossible.
    #[error(transparent)]
    Graph(#[from] ParamsError),
    /// The codebook cannot be trained so.
    #[error(transparent)]
    Quant(#[from] QuantError),
    /// No way of building fits the memory budget.
    #[error(
        "a memory budget of {budget} bytes is too small to {phase}; it takes at least {minimum} bytes \
         ({} MiB)", .minimum.div_ceil(1 << 20)
    )]
    Budget {
        /// The budget given.
        budget: u64,
        /// The smallest budget that works.
        minimum: u64,
        /// What does not fit.
        phase: &'static str,
    },
    /// The output directory cannot take an index.
    #[error("{}: {found}", path.display())]
    Output {
        /// The directory.
        path: PathBuf,
        /// What is there, and what to do.
        found: String,
    },
    /// An interrupted build of other data or with other options is in the way.
    #[error(
        "{} holds an interrupted build of something else ({differences}); continue it with its own data and \
         options, or throw it away with `restart`",
        path.display()
    )]
    Different {
        /// The output directory.
        path: PathBuf,
        /// What differs.
        differences: String,
    },
    /// The disk has not enough room.
    #[error(
        "{}: the build needs {needed} bytes of disk at its peak, index included; {free} are free",
        path.display()
    )]
    NoRoom {
        /// The output directory.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free, those that an interrupted build holds already included.
        free: u64,
    },
    /// The disk is full.
    #[error(
        "{action} {}: the disk is full ({source}); make room, then the same build continues after its last \
         finished phase",
        path.display()
    )]
    DiskFull {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A component that no distance can be taken of.
    #[error("{file}: row {row}, component {component} is {value}; {expected}")]
    Component {
        /// The data.
        file: String,
        /// Row number.
        row: u64,
        /// Position inside the row.
        component: usize,
        /// The value.
        value: f32,
        /// What is accepted.
        expected: &'static str,
    },
    /// Two rows with one key.
    #[error("rows {first} and {second} have the same key {key}; keys must be unique")]
    DuplicateKey {
        /// The key.
        key: u64,
        /// First row that has it.
        first: u64,
        /// Second row that has it.
        second: u64,
    },
    /// The data file is at fault.
    #[error(transparent)]
    File(#[from] FileError),
    /// Rows could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A file of the index or its state could not be written or read.
    #[error(transparent)]
    Storage(StorageError),
    /// A graph that should be taken over is at fault.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The system refused work on a file of the build.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file that an interrupted build has left is not what it was.
    #[error("{}: {found}; throw the interrupted build away with `restart`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// The threads could not be started.
    #[error("starting {threads} threads: {message}; give fewer threads")]
    Threads {
        /// How many.
        threads: usize,
        /// The reason given.
        message: String,
    },
    /// [`Progress::cancelled`](gleann_vector::Progress::cancelled) said so.
    #[error("{}", cancelled(*.finished, .path))]
    Cancelled {
        /// The output directory.
        path: PathBuf,
        /// The last finished phase.
        finished: Option<Phase>,
    },
}

fn cancelled(finished: Option<Phase>, path: &Path) -> String {
    let place = path.display();
    match finished {
        Some(phase) => {
            format!("stopped; the same build into {place} continues after its phase `{}`", phase.name())
        }
        None => format!("stopped before the first phase was finished; {place} holds nothing worth keeping"),
    }
}

impl BuildError {
    pub(crate) fn option(option: &'static str, found: impl ToString, expected: impl ToString) -> Self {
        Self::Option { option, found: found.to_string(), expected: expected.to_string() }
    }

    pub(crate) fn output(path: &Path, found: impl ToString) -> Self {
        Self::Output { path: path.to_owned(), found: found.to_string() }
    }

    pub(crate) fn damaged(path: &Path, found: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), found: found.to_string() }
    }

    /// For `map_err` on system calls.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let path = path.to_owned();
            match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Self::DiskFull { action, path, source }
                }
                _ => Self::Io { action, path, source },
            }
        }
    }
}

impl From<StorageError> for BuildError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Io { action, path, source } => Self::io(action, &path)(source),
            error => Self::Storage(error),
        }
    }
}
