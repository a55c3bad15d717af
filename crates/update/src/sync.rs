//! What the log, the page store and the temporary index keep threads apart with. All of it comes from here, because the
//! tests compile those modules once more with what hands control over at every step (`tests/interleavings`).

pub(crate) use arc_swap::ArcSwap;
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
