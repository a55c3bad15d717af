//! What can be wrong with a data file. Every message names the file, what was found and what was expected.

use crate::{ElementType, SourceError};
use std::path::{Path, PathBuf};

/// A data file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: FileProblem,
}

impl FileError {
    pub(crate) fn new(path: &Path, problem: FileProblem) -> Self {
        Self { path: path.to_owned(), problem }
    }

    pub(crate) fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::new(path, FileProblem::Io { action, source })
    }
}

/// The kinds of trouble a data file can be in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// The operating system refused.
    #[error("{action} failed: {source}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The reason given.
        source: std::io::Error,
    },
    /// The name ends in no suffix that is known here.
    #[error("the name does not tell the format; expected a name that ends in {expected}")]
    UnknownSuffix {
        /// The suffixes that would do.
        expected: String,
    },
    /// A file of no bytes.
    #[error("the file is empty; a {expected} file starts with {needs}")]
    Empty {
        /// The format that was expected.
        expected: String,
        /// The first thing such a file holds.
        needs: &'static str,
    },
    /// A file of another kind.
    #[error("this is not a {expected} file; it looks like {looks}")]
    WrongKind {
        /// The format that was expected.
        expected: String,
        /// What it looks like.
        looks: String,
    },
    /// A header field whose value cannot be.
    #[error("{field} is {found}; expected {expected}{looks}")]
    Header {
        /// The field.
        field: &'static str,
        /// Its value.
        found: String,
        /// Values it may have.
        expected: String,
        /// "; it looks like …", or nothing.
        looks: String,
    },
    /// Fewer bytes than the header promises.
    #[error(
        "the file is cut short: {content} take {expected} bytes, the file has {found}: {} bytes are missing{looks}",
        .expected - .found
    )]
    Truncated {
        /// What the header promises.
        content: String,
        /// Bytes that takes.
        expected: u64,
        /// Bytes there are.
        found: u64,
        /// "; it looks like …", or nothing.
        looks: String,
    },
    /// More bytes than the header promises.
    #[error(
        "the file is too long: {content} take {expected} bytes, the file has {found}: {} bytes too many{looks}",
        .found - .expected
    )]
    TrailingBytes {
        /// What the header promises.
        content: String,
        /// Bytes that takes.
        expected: u64,
        /// Bytes there are.
        found: u64,
        /// "; it looks like …", or nothing.
        looks: String,
    },
    /// The caller asked for elements of another type than the file holds.
    #[error("the file holds {found} elements, {asked} were asked for; convert the file or ask for {found}")]
    WrongElement {
        /// Type asked for.
        asked: ElementType,
        /// Type of the file.
        found: ElementType,
    },
    /// Elements that a memory map cannot serve as they lie.
    #[error(
        "{element} elements start at byte {offset}, which is no multiple of {}: the file cannot be memory-mapped, \
         read it instead",
        .element.size()
    )]
    Misaligned {
        /// Element type.
        element: ElementType,
        /// Byte offset of the first element.
        offset: u64,
    },
    /// A row whose own length word contradicts the file.
    #[error("row {row} says it has {found} elements; every row of this file has {expected}{looks}")]
    Ragged {
        /// The row.
        row: u64,
        /// Its length word.
        found: u32,
        /// The dimension of the file.
        expected: u32,
        /// "; it looks like …", or nothing.
        looks: String,
    },
    /// Rows that are not there.
    #[error("rows {start}..{end} were asked for; the file has {rows}")]
    OutOfRange {
        /// First row asked for.
        start: u64,
        /// One past the last row asked for.
        end: u64,
        /// Rows of the file.
        rows: u64,
    },
    /// A value the format or the address space has no room for.
    #[error("{what} is {found}; at most {limit} fit")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The largest value allowed.
        limit: u64,
    },
    /// A format that cannot hold what is asked of it.
    #[error("{0}")]
    Unsupported(String),
    /// A value in the middle of the file that cannot be.
    #[error("{place}: {message}")]
    Content {
        /// Where: a line, a row, a query and slot.
        place: String,
        /// What is wrong there.
        message: String,
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
    /// Another number of keys, queries or rows than the data goes with.
    #[error("the file has {found} {what}; expected {expected}")]
    WrongCount {
        /// What is counted.
        what: &'static str,
        /// Number found.
        found: u64,
        /// Number expected.
        expected: u64,
    },
    /// Rows could not be read.
    #[error(transparent)]
    Rows(#[from] SourceError),
}
