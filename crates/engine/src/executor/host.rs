//! What a core runs on: a glommio executor with an io_uring, or a plain thread over another disk. The work is
//! the same; only the waiting for new jobs differs.

use crate::executor::cpus::bind_thread;
use crate::executor::job::Job;
use crate::executor::stalls::{StallOptions, Stalls};
use crate::executor::worker::{Answers, Core, CoreGauge, WallClock};
use crate::io::{BlockingPool, Device, MapIo, Mapped, RingIo, probe_ring};
use crate::keys::Keys;
use gleann_search::{Driver, MAX_WIDTH, Nearest, Searched, Turn};
use gleann_storage::{BlockReader, ReadTarget};
use gleann_vector::Metric;
use glommio::{LocalExecutorBuilder, Placement};
use memmap2::Mmap;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::time::Duration;

/// Memory for read buffers a core may take.
const BUFFER_BYTES: usize = 16 << 20;
/// Most reads a core has in flight.
const MAX_READS: usize = 1024;
/// glommio registers this much memory three times; the usual RLIMIT_MEMLOCK of 8 MiB must do for many cores.
const EXECUTOR_IO_MEMORY: usize = 512 << 10;
/// A glommio executor whose preemption timer has fired before it runs its queues parks with a runnable task, and
/// sleeps on: a core that shares its processor would hang when it is not scheduled for so long. It has one task,
/// which needs no preemption.
const NEVER_PREEMPT: Duration = Duration::from_secs(1 << 30);
/// Reading threads of the blocking pool per core.
const POOL_THREADS_PER_CORE: usize = 32;

/// How cores are started.
pub(crate) struct HostOptions {
    /// The processor of each core, in order; their number is the number of cores.
    pub(crate) cpus: Vec<usize>,
    /// Whether cores are bound to them.
    pub(crate) pin: bool,
    /// Searches a core interleaves.
    pub(crate) in_flight: usize,
    /// How long a lone search looks for its reads before its core sleeps.
    pub(crate) spin: Duration,
    /// What is read.
    pub(crate) target: ReadTarget,
    /// The metric, which says how distances are shown.
    pub(crate) metric: Metric,
    /// The user's keys.
    pub(crate) keys: Arc<Keys>,
    /// How cores use the stalls of their searches; none: they sleep.
    pub(crate) stalls: Option<StallOptions>,
}

/// A core could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    #[error("io_uring cannot be used: {0}")]
    Ring(io::Error),
    #[error("a glommio executor cannot start: {0}")]
    Glommio(String),
    #[error("a thread cannot be started: {0}")]
    Thread(io::Error),
}

/// Waits for the end of a core's thread.
type Join = Box<dyn FnOnce() + Send + Sync>;

struct CoreHandle<T> {
    intake: flume::Sender<Job<T>>,
    gauge: Arc<CoreGauge>,
}

/// The cores of one index.
pub(crate) struct Executors<T> {
    cores: Vec<CoreHandle<T>>,
    joins: Vec<Join>,
    turn: AtomicUsize,
}

impl<T: Send + Sync + 'static> Executors<T> {
    /// Starts a glommio executor per core, each with a ring of its own.
    pub(crate) fn start_glommio<X: Searched<Element = T, Found = Nearest>>(
        index: &Arc<X>,
        file: &File,
        options: &HostOptions,
    ) -> Result<Self, HostError> {
        probe_ring().map_err(HostError::Ring)?;
        Self::start(index, options, |core| {
            let file = file.try_clone().map_err(HostError::Ring)?;
            spawn_glommio(core, file, options)
        })
    }

    /// Starts plain threads over a pool of blocking reads.
    pub(crate) fn start_pool<X: Searched<Element = T, Found = Nearest>>(
        index: &Arc<X>,
        file: &Arc<File>,
        options: &HostOptions,
    ) -> Result<Self, HostError> {
        let readers =
            (POOL_THREADS_PER_CORE * options.cpus.len()).min(read_capacity(options) * options.cpus.len());
        let pool = BlockingPool::start(file.clone(), readers).map_err(HostError::Thread)?;
        let capacity = read_capacity(options);
        let mut started = Self::start(index, options, |core| {
            spawn_thread(core, Device::Pool(pool.core(capacity)), options)
        })?;
        // Joined after the cores, whose ends of the pool keep its threads alive.
        started.joins.push(Box::new(move || pool.join()));
        Ok(started)
    }

    /// Starts plain threads over a memory map.
    pub(crate) fn start_mapped<X: Searched<Element = T, Found = Nearest>>(
        index: &Arc<X>,
        map: &Arc<Mmap>,
        options: &HostOptions,
    ) -> Result<Self, HostError> {
        let capacity = read_capacity(options);
        Self::start(index, options, |core| {
            spawn_thread(core, Device::Map(MapIo::new(Mapped(map.clone()), capacity)), options)
        })
    }

    fn start<X: Searched<Element = T, Found = Nearest>>(
        index: &Arc<X>,
        options: &HostOptions,
        mut spawn: impl FnMut(Seed<X>) -> Result<Join, HostError>,
    ) -> Result<Self, HostError> {
        let mut started = Self { cores: Vec::new(), joins: Vec::new(), turn: AtomicUsize::new(0) };
        for (number, &cpu) in options.cpus.iter().enumerate() {
            let (intake, jobs) = flume::unbounded();
            let gauge = Arc::new(CoreGauge::default());
            let seed = Seed {
                number,
                cpu,
                jobs,
                answers: Answers { metric: options.metric, keys: options.keys.clone(), gauge: gauge.clone() },
                index: index.clone(),
                target: options.target.clone(),
                in_flight: options.in_flight,
                spin: options.spin,
                stalls: options.stalls.clone(),
            };
            // A failure drops what was started, which ends it.
            started.joins.push(spawn(seed)?);
            started.cores.push(CoreHandle { intake, gauge });
        }
        Ok(started)
    }

    /// Hands a job to the core with the fewest unanswered ones.
    pub(crate) fn send(&self, job: Job<T>) {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let count = self.cores.len();
        let least = (0..count)
            .map(|offset| (first + offset) % count)
            .min_by_key(|&core| self.cores[core].gauge.load.load(Ordering::Relaxed))
            .unwrap_or(0);
        self.send_to(least, job);
    }

    /// Hands a job to every core.
    pub(crate) fn send_all(&self, job: impl Fn() -> Job<T>) {
        for core in 0..self.cores.len() {
            self.send_to(core, job());
        }
    }

    /// What wakes every core that has no search.
    pub(crate) fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let cores: Vec<_> =
            self.cores.iter().map(|core| (core.intake.downgrade(), core.gauge.clone())).collect();
        move || {
            // Whoever finds nothing to do has said that it is idle before it looked (`Stalls::use_idleness`).
            fence(Ordering::SeqCst);
            for (intake, gauge) in &cores {
                let Some(intake) = intake.upgrade() else { continue };
                // Whoever has jobs is awake.
                let idle = gauge.load.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
                if idle {
                    let _ = intake.send(Job::Wake);
                }
            }
        }
    }

    /// Nanoseconds each core has spent waiting for reads with nothing else to do.
    pub(crate) fn idle_ns(&self) -> Vec<u64> {
        self.cores.iter().map(|core| core.gauge.idle_ns.load(Ordering::Relaxed)).collect()
    }

    /// Whether every core has ended, which only a fault of ours can bring about while the index is open.
    pub(crate) fn have_ended(&self) -> bool {
        self.cores.iter().all(|core| core.intake.is_disconnected())
    }

    fn send_to(&self, core: usize, job: Job<T>) {
        let CoreHandle { intake, gauge } = &self.cores[core];
        gauge.load.fetch_add(1, Ordering::Relaxed);
        // A core that has ended drops the job, whose reply channel then tells its caller so.
        let _ = intake.send(job);
    }
}

impl<T> Drop for Executors<T> {
    fn drop(&mut self) {
        self.cores.clear(); // closes the intakes: each core answers what it has and ends
        for join in self.joins.drain(..) {
            join();
        }
    }
}

/// What a core is made of, before it has a disk.
struct Seed<X: Searched<Found = Nearest>> {
    number: usize,
    cpu: usize,
    jobs: flume::Receiver<Job<X::Element>>,
    answers: Answers,
    index: Arc<X>,
    target: ReadTarget,
    in_flight: usize,
    spin: Duration,
    stalls: Option<StallOptions>,
}

impl<X: Searched<Found = Nearest>> Seed<X> {
    fn grow(self, device: Device) -> Core<X> {
        let reader = BlockReader::new(device, self.target);
        let clock = WallClock::start();
        let driver = Driver::new(self.index, reader, clock, self.in_flight).spinning(self.spin);
        let stalls = self.stalls.and_then(|options| match Stalls::new(&options) {
            Ok(stalls) => Some(stalls),
            Err(error) => {
                log::error!(
                    "core {} takes no part in updates, it has no disk for them: {error}",
                    self.number
                );
                None
            }
        });
        Core {
            stalls,
            ended: Vec::new(),
            clock,
            intake: self.jobs,
            driver,
            answers: self.answers,
            batches: VecDeque::new(),
            batch_first: false,
        }
    }
}

/// Reads a core may have in flight: enough for its searches, within its buffer memory.
fn read_capacity(options: &HostOptions) -> usize {
    let wanted = (options.in_flight * 32).clamp(MAX_WIDTH as usize, MAX_READS);
    wanted.min(BUFFER_BYTES / options.target.layout.block_bytes()).max(MAX_WIDTH as usize)
}

fn spawn_thread<X: Searched<Found = Nearest>>(
    seed: Seed<X>,
    device: Device,
    options: &HostOptions,
) -> Result<Join, HostError> {
    let pin = options.pin;
    let thread = std::thread::Builder::new()
        .name(format!("gleann-core-{}", seed.number))
        .spawn(move || {
            if pin {
                bind_thread(seed.cpu);
            }
            run_to_the_end(seed.grow(device));
        })
        .map_err(HostError::Thread)?;
    Ok(Box::new(move || drop(thread.join())))
}

fn run_to_the_end<X: Searched<Found = Nearest>>(mut core: Core<X>) {
    loop {
        match core.work() {
            Turn::Busy => {}
            Turn::Waiting => core.wait(),
            Turn::Idle if core.rest() => {}
            Turn::Idle => return,
        }
    }
}

fn spawn_glommio<X: Searched<Found = Nearest>>(
    seed: Seed<X>,
    file: File,
    options: &HostOptions,
) -> Result<Join, HostError> {
    let pin = options.pin;
    let capacity = read_capacity(options);
    let (ready, started) = flume::bounded(1);
    let name = format!("gleann-core-{}", seed.number);
    // Bound by hand: glommio's own binding reads the topology from /sys, and panics where it cannot.
    let executor = LocalExecutorBuilder::new(Placement::Unbound)
        .name(&name)
        .io_memory(EXECUTOR_IO_MEMORY)
        .preempt_timer(NEVER_PREEMPT)
        .spawn(move || async move {
            if pin {
                bind_thread(seed.cpu);
            }
            match RingIo::new(file, capacity) {
                Ok(ring) => {
                    let _ = ready.send(Ok(()));
                    // Never returns to glommio's loop before the end, so that no wake-up can get lost in it.
                    run_to_the_end(seed.grow(Device::Ring(ring)));
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        })
        .map_err(|error| HostError::Glommio(error.to_string()))?;
    match started.recv() {
        Ok(Ok(())) => Ok(Box::new(move || drop(executor.join()))),
        Ok(Err(error)) => {
            let _ = executor.join();
            Err(HostError::Ring(error))
        }
        // The executor ended before it ran anything: its thread knows why.
        Err(flume::RecvError::Disconnected) => {
            let cause = executor.join().err().map_or("it ended at once".into(), |error| error.to_string());
            Err(HostError::Glommio(cause))
        }
    }
}
