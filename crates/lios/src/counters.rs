//! What one core counts, for other threads to read.

use std::iter::Sum;
use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one core. Only that core writes; anyone may read, each number being a moment old. On cache lines of
/// their own, so that cores do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CoreCounters {
    hops: AtomicU64,
    idle_ns: AtomicU64,
    slices: AtomicU64,
    slice_ns: AtomicU64,
    overruns: AtomicU64,
    overrun_ns: AtomicU64,
    floor_ns: AtomicU64,
    spare_ns: AtomicU64,
    tasks_finished: AtomicU64,
}

/// What one core, or all of them, have counted. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreTotals {
    /// Stalls: times that no search on the core could go on before a read came.
    pub hops: u64,
    /// How long they lasted, with or without updates in them (Σ τ).
    pub idle_ns: u64,
    /// Slices: times that a task was worked on, in stalls and out of them.
    pub slices: u64,
    /// Time of slices in stalls, what they overran included.
    pub slice_ns: u64,
    /// Stalls whose slices went on after a read had come.
    pub overruns: u64,
    /// By how long, in sum.
    pub overrun_ns: u64,
    /// Time of slices outside of stalls, given because the core owed it.
    pub floor_ns: u64,
    /// Time of slices while the core had no search at all.
    pub spare_ns: u64,
    /// Tasks that were finished.
    pub tasks_finished: u64,
}

impl CoreTotals {
    /// Time of stalls that updates made use of.
    pub fn harvested_ns(&self) -> u64 {
        self.slice_ns.saturating_sub(self.overrun_ns)
    }

    /// Share of the stalls' time that updates made use of, in [0, 1].
    pub fn harvested_share(&self) -> f64 {
        self.harvested_ns() as f64 / self.idle_ns.max(1) as f64
    }

    /// Overrun as a share of the stalls' time: what the bounded budget holds to θ in expectation.
    pub fn overrun_share(&self) -> f64 {
        self.overrun_ns as f64 / self.idle_ns.max(1) as f64
    }
}

impl Add for CoreTotals {
    type Output = CoreTotals;

    fn add(self, other: CoreTotals) -> CoreTotals {
        CoreTotals {
            hops: self.hops + other.hops,
            idle_ns: self.idle_ns + other.idle_ns,
            slices: self.slices + other.slices,
            slice_ns: self.slice_ns + other.slice_ns,
            overruns: self.overruns + other.overruns,
            overrun_ns: self.overrun_ns + other.overrun_ns,
            floor_ns: self.floor_ns + other.floor_ns,
            spare_ns: self.spare_ns + other.spare_ns,
            tasks_finished: self.tasks_finished + other.tasks_finished,
        }
    }
}

impl Sum for CoreTotals {
    fn sum<I: Iterator<Item = CoreTotals>>(totals: I) -> CoreTotals {
        totals.fold(CoreTotals::default(), Add::add)
    }
}

impl CoreCounters {
    /// What was counted so far.
    pub fn totals(&self) -> CoreTotals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CoreTotals {
            hops: read(&self.hops),
            idle_ns: read(&self.idle_ns),
            slices: read(&self.slices),
            slice_ns: read(&self.slice_ns),
            overruns: read(&self.overruns),
            overrun_ns: read(&self.overrun_ns),
            floor_ns: read(&self.floor_ns),
            spare_ns: read(&self.spare_ns),
            tasks_finished: read(&self.tasks_finished),
        }
    }

    /// Adds what is new. To be called by one thread only: it loads and stores.
    pub(crate) fn add(&self, new: CoreTotals) {
        let add = |counter: &AtomicU64, new: u64| {
            if new > 0 {
                counter.store(counter.load(Ordering::Relaxed).wrapping_add(new), Ordering::Relaxed);
            }
        };
        add(&self.hops, new.hops);
        add(&self.idle_ns, new.idle_ns);
        add(&self.slices, new.slices);
        add(&self.slice_ns, new.slice_ns);
        add(&self.overruns, new.overruns);
        add(&self.overrun_ns, new.overrun_ns);
        add(&self.floor_ns, new.floor_ns);
        add(&self.spare_ns, new.spare_ns);
        add(&self.tasks_finished, new.tasks_finished);
    }
}
