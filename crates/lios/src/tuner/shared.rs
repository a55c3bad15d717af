//! A tuner that all cores share: what a stall needs of it is an atomic, what a query tells it goes through a lock.

use super::machine::Tuner;
use super::trace::{TracePoint, TunerCounts, TunerState};
use crate::latency::Latency;
use crate::options::Utilisation;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What a tuner has come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TunerReport {
    /// What it is doing.
    pub state: TunerState,
    /// Which share of the budgets updates may use.
    pub utilisation: f32,
    /// Latency without updates, as last measured.
    pub baseline: Option<Latency>,
    /// What it has counted.
    pub counts: TunerCounts,
}

/// The utilisation of all cores, tuned or fixed.
#[derive(Debug)]
pub struct SharedTuner {
    /// The bits of an `f32`.
    utilisation: AtomicU32,
    profiling: AtomicBool,
    /// Whether updates have waited for stalls since the tuner was last told.
    exercised: AtomicBool,
    /// None where the utilisation is fixed.
    tuner: Option<Mutex<Tuner>>,
}

impl SharedTuner {
    /// For a bound θ, where it is tuned.
    pub fn new(theta: f64, utilisation: &Utilisation) -> Self {
        let (share, tuner) = match utilisation {
            Utilisation::Fixed(share) => (share.clamp(0.0, 1.0), None),
            Utilisation::Tuned(options) => (0.0, Some(Tuner::new(theta, *options))),
        };
        Self {
            utilisation: AtomicU32::new(share.to_bits()),
            profiling: AtomicBool::new(tuner.is_some()),
            exercised: AtomicBool::new(false),
            tuner: tuner.map(Mutex::new),
        }
    }

    /// Which share of the budgets updates may use, in [0, 1]. One load.
    pub fn utilisation(&self) -> f32 {
        f32::from_bits(self.utilisation.load(Ordering::Relaxed))
    }

    /// Whether a baseline is being measured, so that no update may run beside searches. One load.
    pub fn is_profiling(&self) -> bool {
        self.profiling.load(Ordering::Relaxed)
    }

    /// A stall began while there were updates to do: the utilisation is in force, whatever it allows.
    pub fn exercised(&self) {
        if !self.exercised.load(Ordering::Relaxed) {
            self.exercised.store(true, Ordering::Relaxed);
        }
    }

    /// A search ended at `now_ns` after `latency_ns`.
    pub fn observe(&self, now_ns: u64, latency_ns: u64) {
        let Some(tuner) = &self.tuner else { return };
        let exercised =
            self.exercised.load(Ordering::Relaxed) && self.exercised.swap(false, Ordering::Relaxed);
        let mut tuner = tuner.lock();
        tuner.observe(now_ns, latency_ns, exercised);
        self.utilisation.store(tuner.utilisation().to_bits(), Ordering::Relaxed);
        self.profiling.store(tuner.state().is_profiling(), Ordering::Relaxed);
    }

    /// What it has come to. None where the utilisation is fixed.
    pub fn report(&self) -> Option<TunerReport> {
        let tuner = self.tuner.as_ref()?.lock();
        Some(TunerReport {
            state: tuner.state(),
            utilisation: tuner.utilisation(),
            baseline: tuner.baseline(),
            counts: tuner.counts(),
        })
    }

    /// The latest intervals, oldest first. Empty where the utilisation is fixed.
    pub fn trace(&self) -> Vec<TracePoint> {
        self.tuner.as_ref().map_or_else(Vec::new, |tuner| tuner.lock().trace().copied().collect())
    }
}
