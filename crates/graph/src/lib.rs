//! The Vamana graph: pruning, one-shot and sharded build, reachability; and the order of its nodes on pages.
//!
//! Invariant: this crate knows nothing of files, codes on disk, or how a search reads; it turns rows into
//! adjacency lists. It touches no file, starts no thread of its own (parallel work runs on the caller's rayon
//! pool) and reads no clock; the same rows, parameters and seed give the same graph on any number of threads.

mod build_distance;
mod delta_prune;
mod entry;
mod graph;
mod insert;
mod lists;
mod memory;
mod order;
mod params;
mod prune;
mod prune_space;
mod reach;
mod reverse;
mod sample;
mod scratch;
mod search;
mod seen;
mod shard;
mod shuffle;
mod vamana;

pub use build_distance::{BuildDistance, Gathered};
pub use delta_prune::{DeltaPrune, Eviction, Rule};
pub use entry::nearest_to_mean;
pub use graph::Graph;
pub use lists::{AdjacencyRows, ListBlock};
pub use memory::{Rows, memory_estimate};
pub use params::{BuildParams, ParamsError, PruneParams, Saturate};
pub use prune::{Candidate, Pairs, Prune, Step};
pub use prune_space::{EmbeddedRows, PruneSpace};
pub use reach::{Reached, reachable, repair};
pub use sample::{clustered_sample, random_sample};
pub use search::{Counts, QueryTarget, RowTarget, Searcher, Target};
pub use seen::Seen;
pub use shard::{Assigner, Homes, ListMerger, PlanError, ShardPlan, partition_row, plan};
pub use shuffle::{ShuffleError, ShufflePlan, Shuffled, page_mates};
pub use vamana::build;
