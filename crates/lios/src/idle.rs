//! The latest idle times of one kind of stall, and the longest slice they allow (LIOS §4.3).
//!
//! A slice of length t overruns a stall of length τ by max(0, t − τ). The *overrun-bounded* budget is the largest t whose
//! expected overrun is at most a share θ of the mean idle time. Over the last N samples:
//!
//! ```text
//!     Σ over scheduled i of max(0, t − τ_i)   ≤   θ · Σ over all i of τ_i
//! ```
//!
//! Scheduled are the stalls that may carry work: all of them in BeamSearch, every K-th in PipeSearch, where the cost is
//! so spread over the others. The left side is piecewise linear in t, so the bound is met exactly by one division, once it
//! is known how many samples are shorter than t; the samples are kept sorted to find that in one walk.

/// An idle time as it is kept, in nanoseconds.
type Nanos = u32;

/// How a history is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryShape {
    /// Samples that count: the latest so many (N in the paper).
    pub samples: usize,
    /// Samples before there is an estimate.
    pub least: usize,
    /// Longer idle times count as this long, in nanoseconds; at most 4.29 s.
    pub longest_ns: u64,
    /// New samples between two estimates.
    pub refresh: usize,
    /// Expected overrun, as a share of the mean idle time (θ).
    pub theta: f64,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    idle: Nanos,
    scheduled: bool,
}

/// The latest idle times of one kind of stall. Memory is taken when it is made, never later.
#[derive(Debug)]
pub struct IdleHistory {
    shape: HistoryShape,
    /// In the order they came, as a ring.
    ring: Vec<Sample>,
    oldest: usize,
    /// The scheduled ones, shortest first.
    sorted: Vec<Nanos>,
    /// Sum of all.
    total_ns: u64,
    since_estimate: usize,
    estimate_ns: Option<u64>,
}

impl IdleHistory {
    /// A history without samples.
    ///
    /// # Panics
    /// If it is to keep no samples, or θ is negative or not a number.
    pub fn new(shape: HistoryShape) -> Self {
        assert!(shape.samples > 0, "a history keeps at least one sample");
        assert!(shape.theta >= 0.0, "the share of overrun is at least 0");
        Self {
            shape,
            ring: Vec::with_capacity(shape.samples),
            oldest: 0,
            sorted: Vec::with_capacity(shape.samples),
            total_ns: 0,
            since_estimate: 0,
            estimate_ns: None,
        }
    }

    /// Takes in the idle time of a stall, and whether that stall was one that may carry work. About 100 ns; every
    /// `refresh` samples the estimate is made anew, which is one walk over the samples.
    pub fn record(&mut self, idle_ns: u64, scheduled: bool) {
        let idle_ns = idle_ns.min(self.shape.longest_ns);
        let sample = Sample { idle: Nanos::try_from(idle_ns).unwrap_or(Nanos::MAX), scheduled };
        if self.ring.len() < self.shape.samples {
            self.ring.push(sample);
        } else {
            let old = std::mem::replace(&mut self.ring[self.oldest], sample);
            self.oldest = (self.oldest + 1) % self.shape.samples;
            self.forget(old);
        }
        self.total_ns += u64::from(sample.idle);
        if scheduled {
            let at = self.sorted.partition_point(|&idle| idle < sample.idle);
            self.sorted.insert(at, sample.idle);
        }
        self.refresh();
    }

    /// The longest slice whose expected overrun is bounded, in nanoseconds, as of the last refresh. None before
    /// there are enough samples.
    pub fn estimate_ns(&self) -> Option<u64> {
        self.estimate_ns
    }

    /// Samples it holds.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether it holds no sample.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Mean of the idle times, in nanoseconds; 0 without samples.
    pub fn mean_ns(&self) -> u64 {
        self.total_ns / self.ring.len().max(1) as u64
    }

    fn forget(&mut self, old: Sample) {
        self.total_ns -= u64::from(old.idle);
        if old.scheduled {
            let at = self.sorted.partition_point(|&idle| idle < old.idle);
            assert_eq!(self.sorted[at], old.idle, "a sample left the ring that was not among the sorted");
            self.sorted.remove(at);
        }
    }

    fn refresh(&mut self) {
        self.since_estimate += 1;
        let due = self.estimate_ns.is_none() || self.since_estimate >= self.shape.refresh;
        if due && self.ring.len() >= self.shape.least.min(self.shape.samples) {
            let overrun_ns = (self.shape.theta * self.total_ns as f64) as u64;
            self.estimate_ns = longest_slice(&self.sorted, overrun_ns);
            self.since_estimate = 0;
        }
    }
}

/// The largest t for which Σ max(0, t − τ) over the sorted `idle` is at most `overrun_ns`. None without samples: nothing
/// would bound it.
pub(crate) fn longest_slice(idle: &[Nanos], overrun_ns: u64) -> Option<u64> {
    let mut shorter_ns = 0;
    for (shorter, &next) in (0u64..).zip(idle) {
        let next = u64::from(next);
        if shorter * next - shorter_ns > overrun_ns {
            return Some((overrun_ns + shorter_ns) / shorter);
        }
        shorter_ns += next;
    }
    (overrun_ns + shorter_ns).checked_div(idle.len() as u64)
}
