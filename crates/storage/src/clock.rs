//! Time is passed in, so that deadlines, budgets and fault tests can run in virtual time.

/// A monotonic clock.
pub trait Clock {
    /// Nanoseconds since an arbitrary start.
    fn now_ns(&self) -> u64;
}
