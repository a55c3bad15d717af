//! Why a graph cannot be taken over.

use gleann_quant::QuantError;
use gleann_storage::StorageError;
use std::io;
use std::path::{Path, PathBuf};

/// Files of an index that another program wrote, or an index that is there already, could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A field whose value cannot be, or does not go with the others.
    #[error("{}: {field} is {found}, expected {expected}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// Its value.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// Something that is right in itself and has no counterpart here.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        what: String,
    },
    /// The system refused.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The source is an index of this project and is damaged.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Its codebook is none.
    #[error("{}: {source}", path.display())]
    Codebook {
        /// The index directory or file.
        path: PathBuf,
        /// What is wrong with it.
        source: QuantError,
    },
}

impl ImportError {
    pub(crate) fn field(
        path: &Path,
        field: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        let (found, expected) = (found.to_string(), expected.to_string());
        Self::Field { path: path.to_owned(), field, found, expected }
    }

    pub(crate) fn unsupported(path: &Path, what: impl ToString) -> Self {
        Self::Unsupported { path: path.to_owned(), what: what.to_string() }
    }

    /// For `map_err` on system calls.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
