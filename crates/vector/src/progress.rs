//! How long work tells what it has done, and learns that it should stop.

/// Receiver of the progress of a phase. Calls may come from any thread of the pool that does the work.
pub trait Progress: Sync {
    /// A phase begins; `total` counts the units of [`Progress::advance`] that will come (0: unknown).
    fn phase(&self, name: &str, total: u64);

    /// `done` more units are finished.
    fn advance(&self, done: u64);

    /// Whether the work should stop at its next safe point.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn phase(&self, _name: &str, _total: u64) {}

    fn advance(&self, _done: u64) {}
}

/// The work stopped because [`Progress::cancelled`] said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;
