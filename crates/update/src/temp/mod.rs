//! The temporary index (FreshDiskANN): a Vamana graph in memory that takes inserts from many threads while as many
//! search it.
//!
//! - `index` is what callers use;
//! - `insert` and `walk` are the two things done to the graph;
//! - `rows` holds vectors, keys and marks, each written once and then published;
//! - `lists` holds the adjacency, words that change under a lock a node and are read without one;
//! - `scratch` is the memory of one thread.
//!
//! **Order of publication.** A slot is claimed; its vector and key are written; its mark says so; its own list is
//! written; only then do other lists, or the entry, name it. Whoever finds an id in a list finds everything of it.
//!
//! **Locks.** A thread holds the lock of at most one list, and takes no other lock under it.
//!
//! **Reach.** Every node is *anchored* in the list of another: that edge is never pruned. Anchors form a tree from the
//! entry, so every node can be reached, also a thousand equal ones that all lists would rather do without.

mod index;
mod insert;
mod lists;
mod rows;
mod scratch;
#[cfg(test)]
mod tests;
mod walk;

pub use index::{Full, TempIndex, TempParams};
pub use scratch::TempScratch;
