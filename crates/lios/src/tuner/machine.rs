//! The state machine.
//!
//! ```text
//! Recording ──► BinarySearch ──feasible──► Steady ◄──► Refresh      (a short suspension, now and then)
//!     ▲              │                        │
//!     │           nothing                     │ three violations in a row
//!     │              ▼                        │
//! Rebaseline ◄───── Off                       │
//!     ▲                                       │
//!     └───────────────────────────────────────┘
//! ```

use super::interval::{Interval, Need, Observation};
use super::pace::{Pace, Verdict};
use super::search::{BinarySearch, Found};
use super::trace::{Trace, TracePoint, TunerCounts, TunerState};
use crate::latency::{Latency, Statistic, degradation};
use crate::options::{TunerOptions, nanos};

/// The tuner. It is handed the latency of every search, and answers the utilisation.
///
/// It judges *intervals*. An interval without anything to do in stalls says nothing of the utilisation; it is one more
/// measurement of the baseline, and costs nothing, unless somebody else works on updates ([`TunerOptions::alone`]). One with something to do now and then can violate the bound, but is no
/// proof that more could be used. Queries that began before the last change of the utilisation are not counted.
#[derive(Debug, Clone)]
pub struct Tuner {
    theta: f64,
    options: TunerOptions,
    state: TunerState,
    utilisation: f32,
    interval: Interval,
    baseline: Option<Latency>,
    baseline_at_ns: u64,
    search: BinarySearch,
    /// What the next search tries first: the share that was used last.
    guess: Option<f32>,
    pace: Pace,
    retry_at_ns: u64,
    retry_ns: u64,
    /// Whether there was nothing to do in the interval before.
    quiet: bool,
    last_ns: Option<u64>,
    counts: TunerCounts,
    trace: Trace,
}

impl Tuner {
    /// A tuner that keeps latency within 1 + `theta` times the baseline. It begins with a recording.
    pub fn new(theta: f64, options: TunerOptions) -> Self {
        Self {
            theta,
            state: TunerState::Recording,
            utilisation: 0.0,
            interval: Interval::default(),
            baseline: None,
            baseline_at_ns: 0,
            search: BinarySearch::new(None),
            guess: options.first_probe,
            pace: Pace::new(0.0),
            retry_at_ns: 0,
            retry_ns: nanos(options.retry),
            quiet: false,
            last_ns: None,
            counts: TunerCounts::default(),
            trace: Trace::new(options.trace),
            options,
        }
    }

    /// A search ended at `now_ns` after `latency_ns`. `exercised`: since the last call, updates have waited for stalls,
    /// whether or not the setting let them run. Times of several cores may be out of order by a little.
    pub fn observe(&mut self, now_ns: u64, latency_ns: u64, exercised: bool) {
        self.account(now_ns);
        self.interval.add(now_ns, latency_ns, exercised);
        if let Some(seen) = self.interval.observed(now_ns, &self.need()) {
            self.close(seen);
        }
    }

    /// Which share of the budgets updates may use, in [0, 1].
    pub fn utilisation(&self) -> f32 {
        self.utilisation
    }

    /// What it is doing.
    pub fn state(&self) -> TunerState {
        self.state
    }

    /// Latency without updates, as last measured.
    pub fn baseline(&self) -> Option<Latency> {
        self.baseline
    }

    /// What it has counted.
    pub fn counts(&self) -> TunerCounts {
        self.counts
    }

    /// The latest intervals, oldest first.
    pub fn trace(&self) -> impl ExactSizeIterator<Item = &TracePoint> {
        self.trace.points()
    }

    /// What it takes to judge the interval that is under way. A recording takes several times as much of everything.
    fn need(&self) -> Need {
        let intervals = match self.state {
            TunerState::Recording | TunerState::Rebaseline => self.options.recording_intervals,
            _ => 1,
        };
        let times = |one: u64| one.saturating_mul(u64::from(intervals));
        Need {
            time_ns: times(nanos(self.options.interval)),
            queries: times(self.options.statistic.least_queries()),
            error: self.options.precision * self.theta / f64::from(intervals).sqrt(),
            longest_ns: times(nanos(self.options.longest_interval)),
            bound_ns: self.bound_ns(),
        }
    }

    /// The mean latency that is just allowed, where the interval is judged by that and nothing else.
    fn bound_ns(&self) -> Option<u64> {
        let judged = matches!(self.state, TunerState::BinarySearch | TunerState::Steady);
        if !judged || self.options.statistic != Statistic::Mean {
            return None;
        }
        self.baseline.map(|baseline| (baseline.mean_ns as f64 * (1.0 + self.theta)) as u64)
    }

    /// Adds the time since the last call to the state it was spent in.
    fn account(&mut self, now_ns: u64) {
        let Some(last_ns) = self.last_ns else {
            self.last_ns = Some(now_ns);
            self.interval.begin(now_ns, true);
            return;
        };
        self.counts.state_ns[self.state as usize] += now_ns.saturating_sub(last_ns);
        self.last_ns = Some(last_ns.max(now_ns));
    }

    /// An interval is over: judges it, and begins the next one.
    fn close(&mut self, seen: Observation) {
        self.counts.intervals += 1;
        self.note(&seen);
        let before = self.utilisation;
        let begun = std::mem::replace(&mut self.quiet, seen.is_baseline()) && !seen.is_baseline();
        match self.state {
            // Updates have begun, and whoever else works on them with them: what was measured before says nothing of that.
            _ if begun && !self.options.alone => self.enter(TunerState::Rebaseline, 0.0),
            TunerState::Recording | TunerState::Rebaseline => {
                self.baseline = Some(seen.latency);
                self.baseline_at_ns = seen.at_ns;
                self.begin_search();
            }
            TunerState::Refresh => {
                self.measured_again(&seen);
                self.enter(TunerState::Steady, self.pace.utilisation());
            }
            TunerState::Off if seen.at_ns >= self.retry_at_ns => self.enter(TunerState::Rebaseline, 0.0),
            TunerState::Off => {}
            TunerState::BinarySearch | TunerState::Steady if seen.is_baseline() => {
                if self.options.alone {
                    self.measured_again(&seen);
                }
            }
            TunerState::BinarySearch => self.probed(&seen),
            TunerState::Steady => self.steady(&seen),
        }
        assert!((0.0..=1.0).contains(&self.utilisation), "a share that is none: {}", self.utilisation);
        self.interval.begin(seen.at_ns, self.utilisation != before);
    }

    fn note(&mut self, seen: &Observation) {
        let (observed_ns, baseline_ns) =
            self.options.statistic.worst(seen.latency, self.baseline.unwrap_or_default());
        self.trace.push(TracePoint {
            at_ns: seen.at_ns,
            state: self.state,
            utilisation: self.utilisation,
            exercised_share: seen.exercised_share,
            observed_ns,
            baseline_ns,
        });
    }

    fn enter(&mut self, state: TunerState, utilisation: f32) {
        if state == TunerState::Rebaseline && self.state == TunerState::Steady {
            self.guess = self.options.first_probe.map(|_| self.pace.utilisation());
        }
        self.state = state;
        self.utilisation = utilisation;
    }

    /// Degradation in shares of θ: above 1 is a violation.
    fn of_theta(&self, latency: Latency) -> f64 {
        let baseline = self.baseline.expect("a baseline is recorded before anything is judged by it");
        degradation(self.options.statistic.worst(latency, baseline)) / self.theta
    }

    /// The baseline was measured once more. A difference within θ is noise as likely as not, so it goes half way.
    fn measured_again(&mut self, seen: &Observation) {
        let drifted = self.of_theta(seen.latency).abs() > 1.0;
        self.baseline = match self.baseline {
            Some(old) if !drifted => Some(old.midpoint(seen.latency)),
            _ => Some(seen.latency),
        };
        self.baseline_at_ns = seen.at_ns;
    }

    fn begin_search(&mut self) {
        self.search = BinarySearch::new(self.guess);
        self.enter(TunerState::BinarySearch, self.search.probe());
    }

    fn probed(&mut self, seen: &Observation) {
        let of_theta = self.of_theta(seen.latency);
        if of_theta <= 1.0 && !seen.is_proof() {
            return;
        }
        match self.search.tried(of_theta, self.options.resolution) {
            Found::Probe(utilisation) => self.enter(TunerState::BinarySearch, utilisation),
            Found::Feasible(utilisation) => {
                self.counts.searches_succeeded += 1;
                self.retry_ns = nanos(self.options.retry);
                self.pace = Pace::new(utilisation);
                self.enter(TunerState::Steady, utilisation);
            }
            Found::Nothing => {
                self.counts.searches_failed += 1;
                self.guess = None;
                self.retry_at_ns = seen.at_ns.saturating_add(self.retry_ns);
                self.retry_ns = self.retry_ns.saturating_mul(2).min(nanos(self.options.longest_retry));
                self.enter(TunerState::Off, 0.0);
            }
        }
    }

    fn steady(&mut self, seen: &Observation) {
        let mut of_theta = self.of_theta(seen.latency);
        if !seen.is_proof() && of_theta <= 1.0 {
            // Within the bound, but with little to show for it: no reason to go up.
            of_theta = 1.0;
        }
        self.counts.violations += u64::from(of_theta > 1.0);
        match self.pace.judge(of_theta, &self.options) {
            Verdict::Rebaseline => {
                self.counts.rebaselines += 1;
                self.enter(TunerState::Rebaseline, 0.0);
                return;
            }
            Verdict::Use(utilisation) => {
                self.counts.adjustments += u64::from(utilisation != self.utilisation);
                self.utilisation = utilisation;
            }
        }
        if seen.at_ns.saturating_sub(self.baseline_at_ns) >= nanos(self.options.refresh) {
            self.enter(TunerState::Refresh, 0.0);
        }
    }
}
