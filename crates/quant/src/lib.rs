//! Product quantisation: k-means, training, encoding and per-query distance tables.
//!
//! Invariant: this crate knows nothing of graphs, pages or searches; it is given rows and gives codes.
//! It starts no thread of its own (parallel work runs on the caller's rayon pool), and what it returns depends
//! on its input and the seed alone: not on the number of threads, not on the processor.

mod bytes;
mod codebook;
mod codes;
mod encode;
mod error;
mod kernels;
mod kmeans;
mod nearest;
mod rows;
mod seeding;
mod simd;
mod table;
mod train;

pub use codebook::{Codebook, CodebookParts};
pub use codes::Codes;
pub use encode::Encoder;
pub use error::QuantError;
pub use kmeans::{KMeansParams, kmeans};
pub use nearest::{nearest, nearest_two, nearest_two_rows};
pub use table::DistanceTable;
pub use train::{PqParams, TRAINING_ROWS, training_sample};
