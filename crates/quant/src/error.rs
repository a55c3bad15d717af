//! What can go wrong in this crate.

use gleann_vector::{Cancelled, NotFinite};

/// Training, encoding or reading a codebook failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantError {
    /// A vector cannot be split into that many chunks.
    #[error(
        "{chunks} PQ bytes a vector for {dim} dimensions; expected 1 to {dim} (a chunk holds at least one)"
    )]
    Chunks {
        /// Chunks, that is bytes a vector, asked for.
        chunks: usize,
        /// Dimensions of the vectors.
        dim: usize,
    },
    /// The dimension lies outside what indexes allow.
    #[error("vectors of {dim} dimensions; expected 1 to {max}", max = gleann_vector::MAX_DIM)]
    Dim {
        /// The dimension found.
        dim: usize,
    },
    /// The training sample holds NaN or an infinity.
    #[error("PQ training sample: {0}")]
    NotFinite(#[from] NotFinite),
    /// The training sample holds a component whose square leaves no room in f32.
    #[error("PQ training sample: row {row}, component {component} is {value}; expected at most {limit:e} in magnitude, beyond which squared distances overflow f32: scale the data down", limit = crate::rows::LIMIT)]
    TooLarge {
        /// Row of the sample.
        row: usize,
        /// Position inside the row.
        component: usize,
        /// The offending value.
        value: f32,
    },
    /// The parts of a codebook do not fit together.
    #[error("codebook: {field} is {found}; expected {expected}")]
    Parts {
        /// The part that is wrong.
        field: &'static str,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: String,
    },
    /// Codes name a centroid that the codebook does not have, or are no whole number of codes.
    #[error("codes: {found}; expected {expected}")]
    Codes {
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The work was told to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl QuantError {
    /// A codebook part that is not what it should be.
    pub(crate) fn parts(field: &'static str, found: impl ToString, expected: impl ToString) -> Self {
        Self::Parts { field, found: found.to_string(), expected: expected.to_string() }
    }
}
