//! What a searching core can do for updates while its searches wait: take inserts from the queue that the updating threads
//! share, and a part in checkpoints and merges.

use crate::executor::{SpareWork, WallClock};
use crate::io::Device;
use crate::live::block_cache::CachedIo;
use crate::live::board::{Board, Part};
use crate::live::disks::Disks;
use crate::live::worker::{Job, Reply};
use gleann_lios::Queue;
use gleann_search::Turn;
use gleann_update::{Inserted, Live, Runner, Worker};
use gleann_vector::Element;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What a core needs for it.
pub(crate) struct SpareSeed<T: Element> {
    pub(crate) live: Arc<Live<T>>,
    pub(crate) disks: Arc<Disks>,
    pub(crate) jobs: Arc<Queue<Job<T>>>,
    /// Tells that something may be due, as long as anybody listens.
    pub(crate) nudge: flume::WeakSender<()>,
    pub(crate) board: Arc<Board>,
    /// Inserts that a core interleaves.
    pub(crate) in_flight: usize,
}

/// The updates of one core.
pub(crate) struct SpareTime<T: Element> {
    part: Option<Part>,
    runner: Runner<T, CachedIo<Device>, WallClock, Reply>,
    seen: u64,
    seed: Arc<SpareSeed<T>>,
}

impl<T: Element> SpareTime<T> {
    /// For the calling thread.
    ///
    /// # Errors
    /// It gets no disk.
    pub(crate) fn new(seed: Arc<SpareSeed<T>>) -> io::Result<Self> {
        let disk = seed.disks.open()?;
        let runner = Runner::new(seed.live.clone(), disk, WallClock::start(), seed.in_flight.max(1));
        Ok(Self { part: None, runner, seen: 0, seed })
    }

    /// The part in what is posted.
    fn help(&mut self, spent: &mut dyn FnMut() -> bool) -> Turn {
        if self.part.is_none() {
            self.part = self.seed.board.join(&mut self.seen);
        }
        let Some(part) = &mut self.part else { return Turn::Idle };
        let turn = part.step(spent);
        if turn == Turn::Idle {
            self.part = None;
        }
        turn
    }

    fn insert(&mut self, spent: &mut dyn FnMut() -> bool) -> Turn {
        let Self { runner, seed, .. } = self;
        // What has been begun is finished, but there is no room for more: a checkpoint is under way.
        while runner.has_room()
            && seed.live.has_room()
            && let Some(job) = seed.jobs.try_take()
        {
            if let Err((reply, error)) = runner.start(job.finish()) {
                let _ = reply.send(Err(error));
            }
        }
        let mut some = false;
        let turn = runner.step(
            &mut |reply: Reply, inserted: Inserted| {
                some = true;
                // The caller may have stopped waiting.
                let _ = reply.send(inserted);
            },
            spent,
        );
        if some && seed.live.is_checkpoint_due() {
            let _ = seed.nudge.upgrade().map(|nudge| nudge.try_send(()));
        }
        turn
    }
}

impl<T: Element> SpareWork for SpareTime<T> {
    fn is_there(&self) -> bool {
        self.part.is_some()
            || self.runner.has_begun()
            || self.seed.board.is_news(self.seen)
            || (self.seed.jobs.depth() > 0 && self.seed.live.has_room())
    }
}

impl<T: Element> Worker for SpareTime<T> {
    /// [`Turn::Idle`]: there is nothing to do now.
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Turn {
        let helped = self.help(spent);
        if helped == Turn::Busy {
            return Turn::Busy;
        }
        match (helped, self.insert(spent)) {
            (_, Turn::Busy) => Turn::Busy,
            (Turn::Idle, Turn::Idle) => Turn::Idle,
            _ => Turn::Waiting,
        }
    }

    fn wait(&mut self, timeout: Duration) {
        match &mut self.part {
            Some(part) => part.wait(timeout),
            None => self.runner.wait(timeout),
        }
    }
}
