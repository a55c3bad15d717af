//! SPANN (Chen et al., NeurIPS 2021), the inverted index of the design space: balanced clusters whose vectors are
//! replicated at their borders, one block on disk a cluster, and a graph in memory over the centroids that says which
//! blocks a query reads.
//!
//! Invariant: this crate opens no file, starts no thread of its own (parallel work runs on the caller's rayon pool)
//! and reads no clock. The same rows, parameters and seed give the same postings on any number of threads.

mod closure;
mod clusters;
mod index;
mod memory;
mod params;
mod partition;
mod placement;
mod probe;

pub use clusters::{Clusters, cluster};
pub use index::PostingIndex;
pub use memory::memory_estimate;
pub use params::{ClusterParams, ParamsError};
pub use probe::Probe;
