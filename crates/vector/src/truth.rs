//! Exact ground truth.
