//! The Vamana graph: pruning, one-shot and sharded build, reachability.
//!
//! Invariant: this crate knows nothing of pages, codes on disk, or how a search reads; it turns rows into
//! adjacency lists.
