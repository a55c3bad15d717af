//! What a live index says of its state.

use gleann_lios::{CoreTotals, Lios, TunerReport};
use gleann_update::{Backend, LiveFigures};
use std::sync::atomic::{AtomicU64, Ordering};

/// A live index at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveStats {
    /// How inserts reach the graph.
    pub backend: Backend,
    /// Counts, sizes and costs.
    pub figures: LiveFigures,
    /// Processor time that updates have used, on threads of their own and on searching cores, in nanoseconds.
    pub update_cpu_ns: u64,
    /// Inserts that wait to be begun.
    pub queued: u64,
    /// What searching cores have done for updates; none where they do nothing.
    pub lios: Option<LiosStats>,
    /// Why the last checkpoint, merge or first build of the graph that was due could not be done, which is tried again; none
    /// if it was done.
    pub failure: Option<String>,
}

/// What searching cores have done for updates since the index was opened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiosStats {
    /// Stalls and slices of all cores.
    pub totals: CoreTotals,
    /// Share of the budgets that updates may use now.
    pub utilisation: f32,
    /// The tuner; none where the utilisation is fixed.
    pub tuner: Option<TunerReport>,
}

impl LiosStats {
    /// Time that cores have worked on updates, in nanoseconds.
    pub fn update_ns(&self) -> u64 {
        self.totals.slice_ns + self.totals.floor_ns + self.totals.spare_ns
    }

    pub(crate) fn of(lios: &Lios) -> Self {
        let tuner = lios.tuner();
        Self { totals: lios.totals(), utilisation: tuner.utilisation(), tuner: tuner.report() }
    }
}

/// The processor time of the threads of updates, as each has last said.
#[derive(Debug, Default)]
pub(crate) struct UpdateCpu(Vec<AtomicU64>);

impl UpdateCpu {
    /// For so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| AtomicU64::new(0)).collect())
    }

    /// Notes what the calling thread, which is number `thread`, has used so far.
    pub(crate) fn note(&self, thread: usize) {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock exists on every Linux, and `time` is ours to be written.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } == 0 {
            let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            self.0[thread].store(ns, Ordering::Relaxed);
        }
    }

    pub(crate) fn total_ns(&self) -> u64 {
        self.0.iter().map(|ns| ns.load(Ordering::Relaxed)).sum()
    }
}
