//! The one loop that drives searches, generic over the disk: it interleaves the searches of a core, so that
//! one is computed while the reads of the others are in flight, and batches their reads into one submission.

use crate::error::SearchError;
use crate::options::{OptionsError, SearchOptions};
use crate::plan::{Next, Plan, Searched};
use crate::stats::Found;
use gleann_storage::{BlockId, BlockRead, BlockReader, Clock, PageIo, ReadError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A search to be run. The vector has been checked against the index.
#[derive(Debug, Clone)]
pub struct Query<'a, T> {
    /// What to search for.
    pub vector: &'a [T],
    /// Number of results wanted.
    pub k: usize,
    /// Parameters.
    pub options: SearchOptions,
    /// Set by the caller to give the search up.
    pub cancel: Option<Arc<AtomicBool>>,
}

/// Takes a search that has ended.
pub type Finished<'a, X, J> = dyn FnMut(J, Result<Found<<X as Searched>::Found>, SearchError>) + 'a;

/// What the driver can do after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Some search can go on at once.
    Busy,
    /// Every search waits for a read: call [`Driver::wait`].
    Waiting,
    /// There is no search.
    Idle,
}

/// Runs up to `slots` searches of an index at a time over one reader. `J` names a search to the caller.
pub struct Driver<X: Searched, Io: PageIo, C: Clock, J> {
    index: Arc<X>,
    reader: BlockReader<Io>,
    clock: C,
    slots: Vec<Slot<X, J>>,
    vacant: Vec<u32>,
    runnable: VecDeque<u32>,
    limited: usize,
    reads: Vec<BlockId>,
    batch: Vec<BlockRead>,
    idle_ns: u64,
    spin: Duration,
}

struct Slot<X: Searched, J> {
    job: Option<J>,
    generation: u32,
    plan: X::Plan,
    query: Vec<X::Element>,
    failure: Option<SearchError>,
    limits: Limits,
    queued: bool,
    started: u64,
    stalled: u64,
}

#[derive(Default)]
struct Limits {
    deadline: Option<(u64, Duration)>,
    cancel: Option<Arc<AtomicBool>>,
}

impl Limits {
    fn any(&self) -> bool {
        self.deadline.is_some() || self.cancel.is_some()
    }

    fn exceeded(&self, now: u64) -> Option<SearchError> {
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Some(SearchError::Cancelled);
        }
        self.deadline.filter(|(at, _)| now >= *at).map(|(_, after)| SearchError::Deadline(after))
    }
}

impl<X: Searched, Io: PageIo, C: Clock, J> Driver<X, Io, C, J> {
    /// A driver of at most `slots` (≥ 1) searches at a time.
    pub fn new(index: Arc<X>, reader: BlockReader<Io>, clock: C, slots: usize) -> Self {
        let slots = slots.max(1);
        Self {
            index,
            reader,
            clock,
            slots: (0..slots).map(|_| Slot::new()).collect(),
            vacant: (0..slots as u32).rev().collect(),
            runnable: VecDeque::with_capacity(slots),
            limited: 0,
            reads: Vec::new(),
            batch: Vec::new(),
            idle_ns: 0,
            spin: Duration::ZERO,
        }
    }

    /// Lets a lone search look for its reads so long before the core goes to sleep over them: waking up costs a
    /// good part of a read's own latency. Needs a clock that runs by itself.
    #[must_use]
    pub fn spinning(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// Whether another search can be started.
    pub fn has_room(&self) -> bool {
        !self.vacant.is_empty()
    }

    /// Searches under way.
    pub fn running(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// Nanoseconds, by the clock it was given.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Time spent in [`Driver::wait`], in nanoseconds.
    pub fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    /// Reads that have come and were not taken in. Cheap enough to ask every 2 µs.
    pub fn arrived(&self) -> usize {
        self.reader.arrived()
    }

    /// Asks the processor for what the searches under way will need next, after other work on this core.
    pub fn prefetch(&self) {
        for slot in self.slots.iter().filter(|slot| slot.job.is_some()) {
            slot.plan.prefetch(&slot.query);
        }
    }

    /// Starts a search; it makes its first reads in the next turn.
    ///
    /// # Errors
    /// The options make no search, or ask for more reads at a time than the reader has room for.
    ///
    /// # Panics
    /// If there is no room, or the vector has not the dimension of the index.
    pub fn start(&mut self, job: J, query: Query<'_, X::Element>) -> Result<(), (J, SearchError)> {
        assert_eq!(query.vector.len(), self.index.dim(), "query of another dimension");
        if query.options.width.max() as usize > self.reader.capacity() {
            return Err((job, OptionsError::Width(query.options.width).into()));
        }
        let now = self.clock.now_ns();
        let number = *self.vacant.last().expect("has_room was checked");
        let slot = &mut self.slots[number as usize];
        slot.query.clear();
        slot.query.extend_from_slice(query.vector);
        if let Err(problem) = slot.plan.begin(&self.index, &slot.query, &query.options, query.k) {
            return Err((job, problem.into()));
        }
        self.vacant.pop();
        slot.job = Some(job);
        slot.failure = None;
        let deadline = query.options.deadline.map(|after| {
            let ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
            (now.saturating_add(ns), after)
        });
        slot.limits = Limits { deadline, cancel: query.cancel };
        self.limited += usize::from(slot.limits.any());
        (slot.started, slot.stalled, slot.queued) = (now, now, true);
        slot.plan.stats().cpu_ns = self.clock.now_ns() - now;
        self.runnable.push_back(number);
        Ok(())
    }

    /// Takes in what has come, lets every search that can go on do so once, and submits their reads. Calls
    /// `finished` for every search that ended. Never blocks.
    pub fn turn(&mut self, finished: &mut Finished<'_, X, J>) -> Turn {
        self.take_in();
        if self.limited > 0 {
            self.enforce_limits();
        }
        let mut now = self.clock.now_ns();
        let mut blocked = 0;
        for _ in 0..self.runnable.len() {
            let Some(number) = self.runnable.pop_front() else { break };
            let slot = &mut self.slots[number as usize];
            if slot.failure.is_none() && self.reader.room() < slot.plan.wanted() {
                self.runnable.push_back(number);
                blocked += 1;
                continue;
            }
            slot.queued = false;
            let step = match slot.failure {
                Some(_) => Next::Done,
                None => slot.plan.step(&self.index, &slot.query, &mut self.reads).unwrap_or_else(|error| {
                    slot.failure = Some(error);
                    Next::Done
                }),
            };
            let after = self.clock.now_ns();
            slot.plan.stats().cpu_ns += after - now;
            slot.stalled = after;
            now = after;
            self.batch.extend(self.reads.drain(..).map(|block| {
                let place = slot.plan.place(block);
                BlockRead { tag: tag(number, slot.generation), block, place }
            }));
            self.reader.submit(&self.batch);
            self.batch.clear();
            match step {
                Next::Again => self.enqueue(number),
                Next::Wait => {}
                Next::Done => self.finish(number, now, finished),
            }
        }
        self.settle(blocked, finished)
    }

    /// Blocks until so many reads have come that a search can go on, or `timeout` has passed. Only useful after
    /// [`Turn::Waiting`].
    pub fn wait(&mut self, timeout: Duration) {
        let before = self.clock.now_ns();
        if self.running() == 1 {
            let limit = before.saturating_add(self.spin.as_nanos() as u64);
            while !self.reader.ready() && self.clock.now_ns() < limit {
                std::hint::spin_loop();
            }
            if self.reader.ready() {
                self.idle_ns += self.clock.now_ns() - before;
                return;
            }
        }
        // A failing wait shows again as a failing flush in the next turn, where it ends the searches.
        let _ = self.reader.wait(self.wanted(), timeout);
        self.idle_ns += self.clock.now_ns() - before;
    }

    /// The fewest reads that must come before any search can go on.
    pub fn wanted(&self) -> usize {
        let running = self.slots.iter().filter(|slot| slot.job.is_some());
        let missing = |slot: &Slot<X, J>| if slot.queued { 1 } else { slot.plan.missing() };
        running.map(missing).min().unwrap_or(1).max(1)
    }

    /// Ends every search with an error.
    pub fn abort(&mut self, error: &SearchError, finished: &mut Finished<'_, X, J>) {
        let now = self.clock.now_ns();
        self.runnable.clear();
        for number in 0..self.slots.len() as u32 {
            if self.slots[number as usize].job.is_some() {
                self.slots[number as usize].failure = Some(error.clone());
                self.finish(number, now, finished);
            }
        }
    }

    /// Submits what was queued; `blocked` searches could go on if there were room for their reads.
    fn settle(&mut self, blocked: usize, finished: &mut Finished<'_, X, J>) -> Turn {
        if let Err(refused) = self.reader.flush() {
            self.abort(&SearchError::Device(refused.to_string()), finished);
        }
        if self.runnable.len() > blocked || self.reader.ready() {
            Turn::Busy
        } else if self.running() == 0 {
            Turn::Idle
        } else {
            Turn::Waiting
        }
    }

    fn take_in(&mut self) {
        let Self { reader, slots, runnable, index, clock, .. } = self;
        reader.poll(&mut |read: BlockRead, outcome: Result<&[u8], ReadError>| {
            let (number, generation) = (read.tag as u32, (read.tag >> 32) as u32);
            let slot = &mut slots[number as usize];
            if slot.generation != generation || slot.failure.is_some() {
                return; // a read whose search has ended
            }
            let before = clock.now_ns();
            let taken = outcome
                .map_err(SearchError::from)
                .and_then(|bytes| slot.plan.arrive(index, &slot.query, read.block, bytes));
            slot.failure = taken.err();
            slot.plan.stats().cpu_ns += clock.now_ns() - before;
            if !slot.queued && (slot.failure.is_some() || slot.plan.can_step()) {
                slot.plan.stats().stall_ns += before.saturating_sub(slot.stalled);
                slot.queued = true;
                runnable.push_back(number);
            }
        });
    }

    fn enforce_limits(&mut self) {
        let now = self.clock.now_ns();
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if slot.job.is_some() && slot.failure.is_none() {
                slot.failure = slot.limits.exceeded(now);
                if slot.failure.is_some() && !slot.queued {
                    slot.queued = true;
                    self.runnable.push_back(number as u32);
                }
            }
        }
    }

    fn enqueue(&mut self, number: u32) {
        self.slots[number as usize].queued = true;
        self.runnable.push_back(number);
    }

    fn finish(&mut self, number: u32, now: u64, finished: &mut Finished<'_, X, J>) {
        let slot = &mut self.slots[number as usize];
        let Some(job) = slot.job.take() else { return };
        slot.generation = slot.generation.wrapping_add(1);
        slot.queued = false;
        self.limited -= usize::from(slot.limits.any());
        slot.limits = Limits::default();
        self.vacant.push(number);
        let nearest = slot.plan.finish(&self.index);
        let outcome = match slot.failure.take() {
            Some(failure) => Err(failure),
            None => {
                let mut stats = *slot.plan.stats();
                let blocks = self.index.blocks();
                stats.pages = stats.reads * blocks.pages_per_block() as u32;
                stats.bytes = u64::from(stats.reads) * blocks.block_bytes() as u64;
                stats.latency_ns = now - slot.started;
                Ok(Found { nearest, stats })
            }
        };
        finished(job, outcome);
    }
}

impl<X: Searched, J> Slot<X, J> {
    fn new() -> Self {
        Self {
            job: None,
            generation: 0,
            plan: X::Plan::default(),
            query: Vec::new(),
            failure: None,
            limits: Limits::default(),
            queued: false,
            started: 0,
            stalled: 0,
        }
    }
}

fn tag(number: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(number)
}
