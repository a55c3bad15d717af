//! What callers hand to a core, and how the answer comes back.

use gleann_search::{Hit, QueryStats, SearchError, SearchOptions};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Neighbours and cost of one search, by user key.
pub(crate) type Outcome = Result<(Vec<Hit>, QueryStats), SearchError>;

/// Work for one core.
pub(crate) enum Job<T> {
    /// One search.
    Single(Single<T>),
    /// A share in many searches: every core takes the next one when it has room.
    Batch(Arc<Batch<T>>),
}

/// One search.
pub(crate) struct Single<T> {
    pub(crate) query: Vec<T>,
    pub(crate) k: usize,
    pub(crate) options: SearchOptions,
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) reply: flume::Sender<Outcome>,
}

/// Many searches, shared by all cores.
pub(crate) struct Batch<T> {
    queries: Vec<T>,
    dim: usize,
    pub(crate) k: usize,
    pub(crate) options: SearchOptions,
    next: AtomicUsize,
    outcomes: Mutex<Vec<Option<Outcome>>>,
    left: AtomicUsize,
    done: flume::Sender<()>,
}

impl<T> Batch<T> {
    /// A batch of row-major queries, and what tells that all of them have been answered.
    pub(crate) fn new(queries: Vec<T>, dim: usize, k: usize, options: SearchOptions) -> (Self, flume::Receiver<()>) {
        let count = queries.len() / dim;
        let (done, finished) = flume::bounded(1);
        let outcomes = Mutex::new((0..count).map(|_| None).collect());
        let (next, left) = (AtomicUsize::new(0), AtomicUsize::new(count));
        (Self { queries, dim, k, options, next, outcomes, left, done }, finished)
    }

    /// Takes the next query that nobody has taken.
    pub(crate) fn take(&self) -> Option<usize> {
        let taken = self.next.fetch_add(1, Ordering::Relaxed);
        (taken < self.queries.len() / self.dim).then_some(taken)
    }

    /// Query number `index`.
    pub(crate) fn query(&self, index: usize) -> &[T] {
        &self.queries[index * self.dim..(index + 1) * self.dim]
    }

    /// Keeps the answer of query `index`.
    pub(crate) fn answer(&self, index: usize, outcome: Outcome) {
        self.outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[index] = Some(outcome);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            // The caller may have gone.
            let _ = self.done.send(());
        }
    }

    /// The answers, in the order of the queries; a query whose core ended without answering was closed.
    pub(crate) fn into_outcomes(&self) -> Vec<Outcome> {
        let mut outcomes = self.outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcomes.drain(..).map(|outcome| outcome.unwrap_or(Err(SearchError::Closed))).collect()
    }
}

/// To whom the answer of a running search goes.
pub(crate) enum Reply<T> {
    /// The caller of one search.
    Single(flume::Sender<Outcome>),
    /// A place in a batch.
    Batch(Arc<Batch<T>>, usize),
}

impl<T> Reply<T> {
    pub(crate) fn send(self, outcome: Outcome) {
        match self {
            // The caller may have stopped waiting.
            Reply::Single(sender) => drop(sender.send(outcome)),
            Reply::Batch(batch, index) => batch.answer(index, outcome),
        }
    }
}
