//! Why a search gave no result.

use crate::options::OptionsError;
use gleann_storage::{PostingError, ReadError, RecordError};
use gleann_vector::NotFinite;

/// Why a search gave no result. A failed search never harms another one.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SearchError {
    /// A block could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record is damaged although its checksum holds.
    #[error("search failed: record of node {node} is damaged: {cause}; run check-index")]
    Record {
        /// The node.
        node: u32,
        /// What is wrong with it.
        cause: RecordError,
    },
    /// A posting is damaged although its checksum holds.
    #[error("search failed: posting {posting} is damaged: {cause}; run check-index")]
    Posting {
        /// The posting.
        posting: u32,
        /// What is wrong with it.
        cause: PostingError,
    },
    /// The options make no search.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The query has another number of elements than the indexed vectors.
    #[error("the query has {found} elements, the index has vectors of {expected}")]
    Dimension {
        /// Elements given.
        found: usize,
        /// Elements a vector of the index.
        expected: usize,
    },
    /// A batch is no whole number of queries.
    #[error("the queries have {found} elements, which is no whole number of vectors of {dim}")]
    Batch {
        /// Elements given.
        found: usize,
        /// Elements a vector of the index.
        dim: usize,
    },
    /// The query has other elements than the indexed vectors.
    #[error("the query has elements of type {found}, the index holds {expected}")]
    Element {
        /// Type given.
        found: gleann_vector::ElementType,
        /// Type of the index.
        expected: gleann_vector::ElementType,
    },
    /// The query holds NaN or infinity.
    #[error("the query is not usable: {0}")]
    NotFinite(#[from] NotFinite),
    /// The deadline passed first.
    #[error("the deadline of {0:?} passed before the search ended")]
    Deadline(std::time::Duration),
    /// The caller cancelled it.
    #[error("the search was cancelled")]
    Cancelled,
    /// The device takes no reads any more.
    #[error("search failed: {0}")]
    Device(String),
    /// The index was closed while the search waited or ran.
    #[error("the index was closed")]
    Closed,
}
