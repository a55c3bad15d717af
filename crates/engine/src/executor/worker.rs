//! The work of one core, the same under every host: take searches in, drive them, answer.

use crate::executor::job::{Batch, Job, Reply, Single};
use crate::executor::stalls::Stalls;
use crate::io::Device;
use crate::keys::Keys;
use gleann_search::{Driver, Found, Hit, Nearest, Query, QueryStats, SearchError, Searched, Turn};
use gleann_storage::Clock;
use gleann_vector::Metric;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longest a core blocks in its disk before it looks at its intake again.
const MAX_WAIT: Duration = Duration::from_millis(1);

/// Longest a core without searches blocks over the reads of updates: a search that comes has to wait for it.
const IDLE_WAIT: Duration = Duration::from_micros(100);

/// The wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallClock(Instant);

impl WallClock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for WallClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// What a core tells the world about itself.
#[derive(Debug, Default)]
pub(crate) struct CoreGauge {
    /// Jobs sent to the core and not answered.
    pub(crate) load: AtomicUsize,
    /// Nanoseconds spent waiting for reads with nothing else to do.
    pub(crate) idle_ns: AtomicU64,
}

/// One core at work.
pub(crate) struct Core<X: Searched<Found = Nearest>> {
    pub(crate) intake: flume::Receiver<Job<X::Element>>,
    pub(crate) driver: Driver<X, Device, WallClock, Reply<X::Element>>,
    pub(crate) answers: Answers,
    pub(crate) batches: VecDeque<Arc<Batch<X::Element>>>,
    /// Whether a batch came first the last time.
    pub(crate) batch_first: bool,
    /// What is done while no search can go on, beside waiting.
    pub(crate) stalls: Option<Stalls>,
    /// Latencies of the searches that have ended in this turn, where stalls are used.
    pub(crate) ended: Vec<u64>,
    pub(crate) clock: WallClock,
}

/// How results become answers.
pub(crate) struct Answers {
    pub(crate) metric: Metric,
    pub(crate) keys: Arc<Keys>,
    pub(crate) gauge: Arc<CoreGauge>,
}

impl<X: Searched<Found = Nearest>> Core<X> {
    /// Takes in what fits and makes one turn. Never blocks.
    pub(crate) fn work(&mut self) -> Turn {
        let running = self.driver.running();
        self.take_in();
        if let Some(stalls) = &mut self.stalls
            && self.driver.running() != running
        {
            stalls.interrupted(self.clock.now_ns());
        }
        let Self { answers, ended, stalls, .. } = self;
        let turn = self.driver.turn(&mut |reply, outcome| {
            if stalls.is_some() {
                ended.extend(outcome.as_ref().ok().map(|found| found.stats.latency_ns));
            }
            answers.send(reply, outcome);
        });
        if let Some(stalls) = stalls {
            ended.drain(..).for_each(|latency_ns| stalls.search_ended(&self.clock, latency_ns));
        }
        match turn {
            // The last search ended, but a batch may hold more of them.
            Turn::Idle if !self.batches.is_empty() => Turn::Busy,
            turn => turn,
        }
    }

    /// Works on updates if it may, then blocks until a read has come.
    pub(crate) fn wait(&mut self) {
        let Self { stalls, driver, .. } = self;
        if stalls.as_mut().is_none_or(|stalls| !stalls.use_stall(driver)) {
            driver.wait(MAX_WAIT);
            if let Some(stalls) = stalls {
                stalls.waited(driver);
            }
        }
        self.answers.gauge.idle_ns.store(self.driver.idle_ns(), Ordering::Relaxed);
    }

    /// There is no search: works on updates, then blocks until there is a job. Whether there will be more.
    pub(crate) fn rest(&mut self) -> bool {
        if let Some(stalls) = &mut self.stalls {
            let intake = &self.intake;
            match stalls.use_idleness(&self.clock, || !intake.is_empty() || intake.is_disconnected()) {
                Turn::Idle => {}
                _ if !intake.is_empty() || intake.is_disconnected() => {}
                Turn::Busy => return true,
                Turn::Waiting => {
                    stalls.wait_for_updates(IDLE_WAIT);
                    return true;
                }
            }
        }
        match self.intake.recv() {
            Ok(job) => self.accept(job),
            Err(flume::RecvError::Disconnected) => return false,
        }
        true
    }

    /// Takes one job in.
    pub(crate) fn accept(&mut self, job: Job<X::Element>) {
        match job {
            Job::Batch(batch) => self.batches.push_back(batch),
            Job::Wake => {
                self.answers.gauge.load.fetch_sub(1, Ordering::Relaxed);
            }
            Job::Single(Single { query, k, options, cancel, reply }) => {
                let query = Query { vector: &query, k, options, cancel: Some(cancel) };
                if let Err((reply, error)) = self.driver.start(Reply::single(reply), query) {
                    self.answers.send(reply, Err(error));
                }
            }
        }
    }

    fn take_in(&mut self) {
        while self.driver.has_room() {
            // In turns, so that neither kind of work keeps the other waiting for ever.
            self.batch_first = !self.batch_first;
            if self.batch_first && self.start_from_batch() {
                continue;
            }
            if !self.start_from_intake() && !self.start_from_batch() {
                return;
            }
        }
    }

    fn start_from_intake(&mut self) -> bool {
        self.intake.try_recv().map(|job| self.accept(job)).is_ok()
    }

    fn start_from_batch(&mut self) -> bool {
        let Some(batch) = self.batches.front().cloned() else { return false };
        let Some(index) = batch.take() else {
            self.batches.pop_front();
            self.answers.gauge.load.fetch_sub(1, Ordering::Relaxed);
            return true;
        };
        let query = Query { vector: batch.query(index), k: batch.k, options: batch.options, cancel: None };
        if let Err((reply, error)) = self.driver.start(Reply::batch(batch.clone(), index), query) {
            self.answers.send(reply, Err(error));
        }
        true
    }
}

impl<X: Searched<Found = Nearest>> Drop for Core<X> {
    fn drop(&mut self) {
        // The channel outlives its receiver: jobs left in it would never be answered.
        drop(self.intake.drain());
    }
}

impl Answers {
    fn send<T>(&self, reply: Reply<T>, outcome: Result<Found, SearchError>) {
        if reply.is_single() {
            self.gauge.load.fetch_sub(1, Ordering::Relaxed);
        }
        reply.send(outcome.map(|found| self.by_key(found)));
    }

    fn by_key(&self, found: Found) -> (Vec<Hit>, QueryStats) {
        let hit = |&(id, ordering): &(u64, f32)| Hit {
            key: self.keys.key(id),
            distance: self.metric.user_distance(ordering),
        };
        (found.nearest.iter().map(hit).collect(), found.stats)
    }
}
