//! The threads of updates: workers that run inserts, and the one that makes checkpoints due.

use crate::executor::WallClock;
use crate::io::{BlockingPool, Device, RingIo, probe_ring};
use crate::live::stats::UpdateCpu;
use gleann_search::Turn;
use gleann_update::{InsertJob, Inserted, Live, Rewrite, Runner};
use gleann_vector::Element;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Reads a worker may have in flight.
const READS: usize = 256;
/// Threads that read for a worker where io_uring is forbidden.
const POOL_THREADS: usize = 16;
const MAX_WAIT: Duration = Duration::from_millis(1);

/// To whom the outcome of an insert goes.
pub(crate) type Reply = flume::Sender<Inserted>;
/// An insert on its way.
pub(crate) type Job<T> = InsertJob<T, Reply>;

/// What a worker needs.
pub(crate) struct WorkerSeed<T: Element> {
    pub(crate) live: Arc<Live<T>>,
    pub(crate) file: File,
    pub(crate) jobs: flume::Receiver<Job<T>>,
    /// Tells that something may be due.
    pub(crate) nudge: flume::Sender<()>,
    pub(crate) in_flight: usize,
    pub(crate) cpu: Arc<UpdateCpu>,
}

/// Starts worker `number`.
pub(crate) fn start_worker<T: Element>(number: usize, seed: WorkerSeed<T>) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("gleann-update-{number}")).spawn(move || {
        let (device, pool) = match open_device(&seed.file) {
            Ok(opened) => opened,
            Err(error) => {
                log::error!("an update worker cannot read {:?}: {error}", seed.file);
                return;
            }
        };
        run(number, seed, device);
        if let Some(pool) = pool {
            pool.join();
        }
    })
}

fn open_device(file: &File) -> io::Result<(Device, Option<BlockingPool>)> {
    if probe_ring().is_ok()
        && let Ok(ring) = RingIo::new(file.try_clone()?, READS)
    {
        return Ok((Device::Ring(ring), None));
    }
    let pool = BlockingPool::start(Arc::new(file.try_clone()?), POOL_THREADS)?;
    Ok((Device::Pool(pool.core(READS)), Some(pool)))
}

fn run<T: Element>(number: usize, seed: WorkerSeed<T>, device: Device) {
    let WorkerSeed { live, jobs, nudge, in_flight, cpu, .. } = seed;
    let mut runner = Runner::new(live.clone(), device, WallClock::start(), in_flight);
    loop {
        while runner.has_room()
            && let Ok(job) = jobs.try_recv()
        {
            start(&mut runner, job);
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
            Turn::Idle => match jobs.recv() {
                Ok(job) => start(&mut runner, job),
                Err(flume::RecvError::Disconnected) => return,
            },
        }
    }
}

fn start<T: Element>(runner: &mut Runner<T, Device, WallClock, Reply>, job: Job<T>) {
    if let Err((reply, error)) = runner.start(job) {
        let _ = reply.send(Err(error));
    }
}

/// Starts the thread that makes what is due: after a nudge, a checkpoint or a consolidation.
pub(crate) fn start_keeper<T: Element>(
    live: Arc<Live<T>>,
    nudges: flume::Receiver<()>,
    (threads, consolidate_share): (Arc<rayon::ThreadPool>, f64),
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("gleann-keeper".into()).spawn(move || {
        while nudges.recv().is_ok() {
            let rewrite = if live.dead_share() >= consolidate_share {
                Rewrite::Repaired
            } else if live.is_checkpoint_due() {
                Rewrite::Changes
            } else {
                continue;
            };
            if let Err(error) = threads.install(|| live.checkpoint(rewrite)) {
                log::error!("a checkpoint failed, and is tried again when the next is due: {error}");
            }
        }
    })
}
