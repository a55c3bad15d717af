//! How queries come: one after the other as fast as they are answered, or at moments of their own.

use crate::live::{Arrivals, Schedule};
use anyhow::{Context, Result};
use gleann::{Element, Index, SearchOptions, SearchResult};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// An answer that has not come for so long will not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// How queries come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Closed loop: every core has as many searches running as it interleaves, until all are answered.
    Closed,
    /// Open loop: Poisson arrivals, whether the system keeps up or not.
    Open {
        /// Arrivals a second.
        rate: f64,
    },
}

/// The answers to a run of queries.
#[derive(Debug)]
pub struct Answers {
    /// In the order of the queries.
    pub results: Vec<SearchResult>,
    /// Microseconds of each.
    pub latencies_us: Vec<f64>,
    /// From the first query to the last answer.
    pub elapsed: Duration,
}

/// Queries, row-major, and what is asked of each.
#[derive(Debug, Clone, Copy)]
pub struct Questions<'a, T> {
    /// The queries.
    pub queries: &'a [T],
    /// Neighbours of each.
    pub k: usize,
    /// How they are searched.
    pub options: &'a SearchOptions,
}

impl Load {
    /// Asks `questions` of `index`.
    ///
    /// # Errors
    /// A query fails.
    pub fn run<T: Element>(self, index: &Index, questions: Questions<'_, T>) -> Result<Answers> {
        match self {
            Load::Closed => closed(index, questions),
            Load::Open { rate } => open(index, questions, rate),
        }
    }

    /// The rate offered, if any is.
    pub fn rate(self) -> Option<f64> {
        match self {
            Load::Closed => None,
            Load::Open { rate } => Some(rate),
        }
    }
}

fn closed<T: Element>(index: &Index, questions: Questions<'_, T>) -> Result<Answers> {
    let begun = Instant::now();
    let outcomes = index.search_batch(questions.queries, questions.k, questions.options);
    let elapsed = begun.elapsed();
    let named =
        outcomes.into_iter().enumerate().map(|(at, outcome)| outcome.with_context(|| format!("query {at}")));
    let results = named.collect::<Result<Vec<_>>>()?;
    let latencies_us = results.iter().map(|result| result.stats.latency_ns as f64 / 1e3).collect();
    Ok(Answers { results, latencies_us, elapsed })
}

/// Notes when an answer was ready: the searching core calls it, so nobody has to watch.
#[derive(Debug, Default)]
struct Ready(OnceLock<Instant>);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        let _ = self.0.set(Instant::now());
    }
}

/// A query on its way.
struct Pending<'a> {
    intended: Instant,
    ready: Arc<Ready>,
    search: Pin<Box<dyn Future<Output = Result<SearchResult, gleann::SearchError>> + 'a>>,
    outcome: Option<Result<SearchResult, gleann::SearchError>>,
}

impl Pending<'_> {
    fn poll(&mut self) {
        let waker = Waker::from(self.ready.clone());
        if let Poll::Ready(outcome) = self.search.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            let _ = self.ready.0.set(Instant::now());
            self.outcome = Some(outcome);
        }
    }
}

fn open<T: Element>(index: &Index, questions: Questions<'_, T>, rate: f64) -> Result<Answers> {
    let dim = index.info().layout.dim();
    wake_punctually();
    let schedule = Schedule::new(Arrivals::Open { rate, burst: 1.0 });
    let mut pending = Vec::with_capacity(questions.queries.len() / dim);
    let begun = Instant::now();
    let mut intended = begun;
    for query in questions.queries.chunks_exact(dim) {
        intended = schedule.next().map_or(intended, |seconds| begun + Duration::from_secs_f64(seconds));
        std::thread::sleep(intended.saturating_duration_since(Instant::now()));
        let search = Box::pin(index.search_async(query, questions.k, questions.options));
        let mut query = Pending { intended, ready: Arc::default(), search, outcome: None };
        query.poll();
        pending.push(query);
    }
    collect(pending, begun)
}

fn collect(pending: Vec<Pending<'_>>, begun: Instant) -> Result<Answers> {
    let mut answers = Answers {
        results: Vec::with_capacity(pending.len()),
        latencies_us: Vec::with_capacity(pending.len()),
        elapsed: Duration::ZERO,
    };
    let patient_until = Instant::now() + PATIENCE;
    for (at, mut query) in pending.into_iter().enumerate() {
        while query.outcome.is_none() {
            let ready = query.ready.0.get().is_some();
            if ready {
                query.poll();
            } else {
                anyhow::ensure!(Instant::now() < patient_until, "query {at}: no answer after {PATIENCE:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let outcome = query.outcome.expect("the loop ends with an outcome");
        answers.results.push(outcome.with_context(|| format!("query {at}"))?);
        let ready = *query.ready.0.get().expect("an outcome sets it");
        answers.latencies_us.push(ready.saturating_duration_since(query.intended).as_secs_f64() * 1e6);
        answers.elapsed = answers.elapsed.max(ready - begun);
    }
    Ok(answers)
}

/// Sleeps of this thread end when they should, not up to 50 µs later: that would be counted as latency.
pub fn wake_punctually() {
    // SAFETY: sets the timer slack of the calling thread to a nanosecond; takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
