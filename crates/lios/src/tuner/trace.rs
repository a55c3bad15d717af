//! What a tuner tells about itself: its states, what it counts, and a trace of its intervals.

use std::collections::VecDeque;
use std::fmt;

/// What a tuner is doing (LIOS §4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TunerState {
    /// Step 1: updates are suspended, the baseline is measured, idle times are gathered.
    Recording,
    /// Step 2: a first feasible utilisation is looked for.
    BinarySearch,
    /// Step 3: up while within the bound, down on a violation.
    Steady,
    /// A short suspension within step 3 that measures the baseline again.
    Refresh,
    /// Step 4: the baseline no longer holds; step 1 again.
    Rebaseline,
    /// Nothing was feasible: co-execution is off until the next try.
    Off,
}

impl TunerState {
    /// Every state, in the order of [`TunerCounts::state_ns`].
    pub const ALL: [TunerState; 6] = [
        TunerState::Recording,
        TunerState::BinarySearch,
        TunerState::Steady,
        TunerState::Refresh,
        TunerState::Rebaseline,
        TunerState::Off,
    ];

    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            TunerState::Recording => "recording",
            TunerState::BinarySearch => "binary_search",
            TunerState::Steady => "steady",
            TunerState::Refresh => "refresh",
            TunerState::Rebaseline => "rebaseline",
            TunerState::Off => "off",
        }
    }

    /// Whether a baseline is being measured: no update is to run, not even those that are owed.
    pub const fn is_profiling(self) -> bool {
        matches!(self, TunerState::Recording | TunerState::Refresh | TunerState::Rebaseline)
    }
}

impl fmt::Display for TunerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One interval, as it was judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TracePoint {
    /// When it ended, in nanoseconds of the clock that was handed in.
    pub at_ns: u64,
    /// What the tuner was doing.
    pub state: TunerState,
    /// Which share of the budgets was allowed.
    pub utilisation: f32,
    /// Share of the queries during which updates waited for stalls, whether or not the setting let them run.
    pub exercised_share: f32,
    /// The observed latency, in nanoseconds; of several statistics, the one that has grown most.
    pub observed_ns: u64,
    /// The baseline of the same statistic, in nanoseconds; 0 before there is one.
    pub baseline_ns: u64,
}

impl TracePoint {
    /// By which share the observed latency is above the baseline.
    pub fn degradation(&self) -> f64 {
        match self.baseline_ns {
            0 => 0.0,
            _ => crate::latency::degradation((self.observed_ns, self.baseline_ns)),
        }
    }
}

/// What a tuner counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TunerCounts {
    /// Intervals that were judged.
    pub intervals: u64,
    /// Changes of the utilisation in the steady state.
    pub adjustments: u64,
    /// Intervals of the steady state whose latency was above the bound.
    pub violations: u64,
    /// Binary searches that found a feasible utilisation.
    pub searches_succeeded: u64,
    /// Binary searches that found none.
    pub searches_failed: u64,
    /// Times that the baseline was given up.
    pub rebaselines: u64,
    /// Time in each state, in nanoseconds, in the order of [`TunerState::ALL`].
    pub state_ns: [u64; TunerState::ALL.len()],
}

impl TunerCounts {
    /// Seconds in a state.
    pub fn seconds(&self, state: TunerState) -> f64 {
        self.state_ns[state as usize] as f64 / 1e9
    }
}

/// The latest points, at most so many.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    most: usize,
    points: VecDeque<TracePoint>,
}

impl Trace {
    pub(super) fn new(most: usize) -> Self {
        Self { most, points: VecDeque::new() }
    }

    pub(super) fn push(&mut self, point: TracePoint) {
        if self.most == 0 {
            return;
        }
        if self.points.len() == self.most {
            self.points.pop_front();
        }
        self.points.push_back(point);
    }

    pub(super) fn points(&self) -> impl ExactSizeIterator<Item = &TracePoint> {
        self.points.iter()
    }
}
