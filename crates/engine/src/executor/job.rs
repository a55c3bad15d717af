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
    /// Nothing to search for, but there may be updates to work on.
    Wake,
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
    pub(crate) fn new(
        queries: Vec<T>,
        dim: usize,
        k: usize,
        options: SearchOptions,
    ) -> (Self, flume::Receiver<()>) {
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
    pub(crate) fn take_outcomes(&self) -> Vec<Outcome> {
        let mut outcomes = self.outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcomes.drain(..).map(|outcome| outcome.unwrap_or(Err(SearchError::Closed))).collect()
    }
}

/// To whom the answer of a running search goes. Dropped without an answer (the core has ended), it tells its
/// caller that the index was closed.
pub(crate) struct Reply<T>(Option<Caller<T>>);

enum Caller<T> {
    Single(flume::Sender<Outcome>),
    Batch(Arc<Batch<T>>, usize),
}

impl<T> Reply<T> {
    /// To the caller of one search.
    pub(crate) fn single(sender: flume::Sender<Outcome>) -> Self {
        Self(Some(Caller::Single(sender)))
    }

    /// To a place in a batch.
    pub(crate) fn batch(batch: Arc<Batch<T>>, index: usize) -> Self {
        Self(Some(Caller::Batch(batch, index)))
    }

    /// Whether the search is a job of its own.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.0, Some(Caller::Single(_)))
    }

    /// Answers.
    pub(crate) fn send(mut self, outcome: Outcome) {
        self.deliver(outcome);
    }

    fn deliver(&mut self, outcome: Outcome) {
        match self.0.take() {
            // The caller may have stopped waiting.
            Some(Caller::Single(sender)) => drop(sender.send(outcome)),
            Some(Caller::Batch(batch, index)) => batch.answer(index, outcome),
            None => {}
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        self.deliver(Err(SearchError::Closed));
    }
}
