//! The threads of updates: workers that run inserts, and the one that makes checkpoints due.

use crate::executor::WallClock;
use crate::io::Device;
use crate::live::block_cache::CachedIo;
use crate::live::disks::Disks;
use crate::live::stats::UpdateCpu;
use gleann_lios::Queue;
use gleann_search::Turn;
use gleann_storage::PageIo;
use gleann_update::{InsertJob, Inserted, Live, Rewrite, Runner, UpdateError};
use gleann_vector::Element;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

const MAX_WAIT: Duration = Duration::from_millis(1);

/// To whom the outcome of an insert goes.
pub(crate) type Reply = flume::Sender<Inserted>;
/// An insert on its way.
pub(crate) type Job<T> = InsertJob<T, Reply>;

/// What a worker needs.
pub(crate) struct WorkerSeed<T: Element> {
    pub(crate) live: Arc<Live<T>>,
    pub(crate) disks: Arc<Disks>,
    pub(crate) jobs: Arc<Queue<Job<T>>>,
    /// Tells that something may be due.
    pub(crate) nudge: flume::Sender<()>,
    pub(crate) in_flight: usize,
    pub(crate) cpu: Arc<UpdateCpu>,
}

/// Starts worker `number`.
pub(crate) fn start_worker<T: Element>(number: usize, seed: WorkerSeed<T>) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("gleann-update-{number}")).spawn(move || {
        match seed.disks.open() {
            Ok(disk) => run(number, &seed, disk),
            Err(error) => log::error!("an update worker has no disk: {error}"),
        }
    })
}

fn run<T: Element>(number: usize, seed: &WorkerSeed<T>, disk: CachedIo<Device>) {
    let WorkerSeed { live, jobs, nudge, in_flight, cpu, .. } = seed;
    let mut runner = Runner::new(live.clone(), disk, WallClock::start(), *in_flight);
    loop {
        while runner.has_room()
            && let Some(job) = jobs.try_take()
        {
            start(&mut runner, job.finish());
        }
        let turn = runner.turn(&mut |reply: Reply, inserted| {
            // The caller may have stopped waiting.
            let _ = reply.send(inserted);
            cpu.note(number);
        });
        if live.is_checkpoint_due() {
            let _ = nudge.try_send(());
            live.wait_for_room();
        }
        match turn {
            Turn::Busy => {}
            Turn::Waiting => runner.wait(MAX_WAIT),
            Turn::Idle => match jobs.take() {
                Some(job) => start(&mut runner, job.finish()),
                None => return,
            },
        }
    }
}

fn start<T: Element, Io: PageIo>(runner: &mut Runner<T, Io, WallClock, Reply>, job: Job<T>) {
    if let Err((reply, error)) = runner.start(job) {
        let _ = reply.send(Err(error));
    }
}

/// Writes changes out, and what is buffered into the graph.
pub(crate) struct Keeper<T: Element> {
    pub(crate) live: Arc<Live<T>>,
    pub(crate) disks: Arc<Disks>,
    pub(crate) threads: rayon::ThreadPool,
    pub(crate) consolidate_share: f64,
    pub(crate) cpu: Arc<UpdateCpu>,
    /// Threads that run inserts, which come first among those whose time is noted.
    pub(crate) workers: usize,
    /// Why the last thing that was due could not be done; none if it was.
    pub(crate) failure: Mutex<Option<String>>,
}

impl<T: Element> Keeper<T> {
    /// Makes a checkpoint; a buffered index merges.
    pub(crate) fn rewrite(&self, rewrite: Rewrite) -> Result<(), UpdateError> {
        let rewritten = self.threads.install(|| {
            // What is buffered in an index of direct inserts came while it was built anew.
            if self.live.is_buffered() || self.live.has_buffers() {
                self.live.merge(&|| self.disks.open(), &WallClock::start())
            } else {
                self.live.checkpoint(rewrite)
            }
        });
        self.threads.broadcast(|thread| self.cpu.note(self.workers + thread.index()));
        rewritten
    }

    /// What is due.
    fn due(&self) -> Option<Rewrite> {
        if self.live.is_unbuilt() {
            None
        } else if self.live.dead_share() >= self.consolidate_share {
            Some(Rewrite::Repaired)
        } else {
            self.live.is_checkpoint_due().then_some(Rewrite::Changes)
        }
    }

    /// Whether anything is due.
    pub(crate) fn is_due(&self) -> bool {
        self.due().is_some()
    }

    /// Starts the thread that does what is due, after every nudge.
    pub(crate) fn start(self: &Arc<Self>, nudges: flume::Receiver<()>) -> io::Result<JoinHandle<()>> {
        let keeper = self.clone();
        std::thread::Builder::new().name("gleann-keeper".into()).spawn(move || {
            while nudges.recv().is_ok() {
                let Some(due) = keeper.due() else { continue };
                let failure = keeper.rewrite(due).err().map(|error| error.to_string());
                if let Some(error) = &failure {
                    log::error!("a checkpoint failed, and is tried again when the next is due: {error}");
                }
                *keeper.failure.lock() = failure;
            }
        })
    }
}
