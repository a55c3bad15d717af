//! Work that can stop at any step and go on later.
//!
//! Updates are such work: whatever runs them (a worker that has nothing else to do, or the stalls of searches) gives
//! them time in pieces of its choosing, and the result does not depend on the pieces (LIOS §4.2).
//!
//! Invariant: this crate knows no graph, page, vector, clock or runtime.

mod resumable;

pub use resumable::{Resumable, Step, run_to_end};
