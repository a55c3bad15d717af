//! Product quantisation: k-means, training, encoding and per-query distance tables.
//!
//! Invariant: this crate knows nothing of graphs, pages or searches; it is given rows and gives codes.
