//! Graph traversal on disk as a state machine without I/O, and the one loop that drives it.
//!
//! Invariant: this crate opens no file, starts no thread and reads no wall clock.
