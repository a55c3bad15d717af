//! Options. Only θ has to be chosen (LIOS §4.5); everything else has a default, and says why.

use crate::budget::{Bucketing, BudgetKind};
use crate::idle::HistoryShape;
use crate::latency::Statistic;
use std::time::Duration;

/// θ for buffered inserts and merges (FreshDiskANN): 5 % (LIOS §6.1).
pub const THETA_FRESH: f64 = 0.05;
/// θ for direct inserts (OdinANN): 8 %. Their user-space cache makes a slice cost more, so a speed-up worth having takes
/// a wider bound (LIOS §6.1).
pub const THETA_ODIN: f64 = 0.08;

/// Everything that can be set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiosOptions {
    /// By which share the latency of searches may grow while updates run (θ), and the expected overrun of a slice as a
    /// share of the mean idle time. Above 0, at most 10. A target, not a limit on any single search.
    pub theta: f64,
    /// How long a slice may be. Bounded, as in the paper.
    pub budget: BudgetKind,
    /// Which stalls share their idle times. By the number of reads, up to 32: the paper has a bucket for each width of
    /// its beam, and several searches on a core add theirs up. [`LiosOptions::sparse`] is for PipeSearch.
    pub bucketing: Bucketing,
    /// Idle times kept for each kind of stall (N). 512: recent enough to follow a device within half a second of
    /// searching, enough to know the short stalls that decide the bound; 4 KB of sorted and plain samples stay in cache.
    pub samples: usize,
    /// Idle times before there is a budget. 32: below, one long stall is most of the mean.
    pub least_samples: usize,
    /// Longer idle times count as this long. 10 ms: a device that halts for a second would else rule the mean of 512
    /// stalls, and grant each a hundred times its length.
    pub longest_idle: Duration,
    /// Idle times between two estimates. 32: the walk over 512 samples, under 1 µs, comes to some 20 ns a stall.
    pub refresh_samples: usize,
    /// Slices that would be shorter are not begun. 2 µs: what taking a task and putting it back costs at most, with the
    /// cache lines it moves.
    pub least_slice: Duration,
    /// Who says how much of a budget is used.
    pub utilisation: Utilisation,
    /// What drains the queue where there are no stalls.
    pub floor: FloorOptions,
}

/// Who says how much of a budget is used (u here, α in the paper).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Utilisation {
    /// The tuner, by the latency of searches (LIOS §4.4).
    Tuned(TunerOptions),
    /// Always the same share, in [0, 1]: the paper's ablation of the tuner (§6.4). 0 is *no co-execution*.
    Fixed(f32),
}

/// What the tuner does when. Times are of the clock it is handed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TunerOptions {
    /// Whether nobody else works on updates. Then latency while there are none is a baseline for when there are some. If
    /// somebody does, it is not: a baseline is measured each time that updates begin, with whatever else they cost.
    pub alone: bool,
    /// What of the latency has to stay within the bound. The mean, as in the paper.
    pub statistic: Statistic,
    /// Each setting is observed for at least this long. 1 s: the paper is in its steady state 20 s after updates begin
    /// (Exp 3), which leaves its probes one to three seconds each.
    pub interval: Duration,
    /// How well the mean has to be known before an interval is judged: its standard error, as a share of θ. 0.1: what
    /// is judged to be at the bound is then within 0.8 and 1.2 θ nineteen times in twenty. At a coefficient of variation
    /// of 0.3 that takes 3600 queries; less where the mean is far from the bound.
    pub precision: f64,
    /// An interval is judged after this long, however well the mean is known, if there are as many queries as the
    /// statistic needs at all. 10 s: where queries are rare, slow decisions beat none.
    pub longest_interval: Duration,
    /// Intervals a first baseline takes. 2: everything is judged by it, so it is to be known better than the rest.
    pub recording_intervals: u32,
    /// How much more is used after an interval within the bound, and how much less at least after a violation. 0.02,
    /// the paper's *small fixed increment*.
    pub step: f32,
    /// Share of θ below the bound where the utilisation is left as it is. 0.1: about what one step up costs where
    /// latency reacts strongly. With 0 it would climb until it violates the bound, again and again.
    pub band: f64,
    /// Intervals within the bound before a step up: twice as many after each violation, one less after each step up
    /// that was none, at most so many. 8: with noise it violates the bound in a tenth of the intervals and uses five
    /// sixths of what would be feasible without; 1, as published, violates it in a quarter (`docs/design/lios.md`).
    pub most_patience: u32,
    /// What the first search for a share tries first; a search after that tries the share that was used before. 1: a bounded
    /// budget holds overruns within θ already, so that all of it is feasible unless caches or the device object, and then one
    /// interval tells where about the bound is. None: every search goes by halves from the beginning, as published.
    pub first_probe: Option<f32>,
    /// Where the binary search ends. 1/16: four probes; steps up do the rest.
    pub resolution: f32,
    /// Violations in a row that mean that the baseline no longer holds. 3 (LIOS §4.4, step 4).
    pub violations: u32,
    /// Between two short suspensions of updates that measure the baseline again. 60 s: under 2 % of the time where a
    /// second of queries is enough to know it, under 10 % with a few hundred noisy queries a second; a baseline that
    /// drifts by a percent a minute is followed.
    pub refresh: Duration,
    /// How long co-execution stays off when nothing was feasible, at first; doubled each time in a row. 10 s: about as
    /// long as recording and search take.
    pub retry: Duration,
    /// The longest it stays off between two tries. 160 s.
    pub longest_retry: Duration,
    /// Points of the trace that are kept, the latest ones. 8192: two hours and more of intervals in 400 KB.
    pub trace: usize,
}

impl Default for TunerOptions {
    fn default() -> Self {
        Self {
            alone: true,
            statistic: Statistic::Mean,
            interval: Duration::from_secs(1),
            precision: 0.1,
            longest_interval: Duration::from_secs(10),
            recording_intervals: 2,
            step: 0.02,
            band: 0.1,
            most_patience: 8,
            first_probe: Some(1.0),
            resolution: 1.0 / 16.0,
            violations: 3,
            refresh: Duration::from_secs(60),
            retry: Duration::from_secs(10),
            longest_retry: Duration::from_secs(160),
            trace: 8192,
        }
    }
}

/// The share of a core's time that updates get where stalls do not give it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloorOptions {
    /// Share of the core's time, below 1; 0 is *none*. Half of θ, at most 5 %: where everything is cached there are no
    /// stalls, and without this an update would wait for ever. As half of θ it cannot break the bound by itself.
    pub share: f64,
    /// Length of a slice. 50 µs: about one read, the least that a search is used to waiting.
    pub slice: Duration,
    /// The most that may be owed at once, in slices. 4: a queue that was empty for an hour gives no right to a burst.
    pub most_owed: u32,
}

impl Default for FloorOptions {
    fn default() -> Self {
        Self { share: 0.025, slice: Duration::from_micros(50), most_owed: 4 }
    }
}

/// An option that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name} is {found}; expected {expected}")]
pub struct BadOption {
    name: &'static str,
    found: String,
    expected: &'static str,
}

impl LiosOptions {
    /// The defaults for a bound θ, [`THETA_FRESH`] or [`THETA_ODIN`] for instance.
    pub fn new(theta: f64) -> Self {
        Self {
            theta,
            budget: BudgetKind::Bounded,
            bucketing: Bucketing::ByReads { most: 32 },
            samples: 512,
            least_samples: 32,
            longest_idle: Duration::from_millis(10),
            refresh_samples: 32,
            least_slice: Duration::from_micros(2),
            utilisation: Utilisation::Tuned(TunerOptions::default()),
            floor: FloorOptions { share: (theta / 2.0).clamp(0.0, 0.05), ..FloorOptions::default() },
        }
    }

    /// The same for PipeSearch: one history, and work in every K-th stall, for which LIOS §4.3 gives no number. K = 1: of the
    /// same overrun in all, many slices that end early make more of the stalls than few that end late, as long as a stall is
    /// long beside what a slice costs to begin. A lone pipe's are 80 to 110 µs here; with 8, a twentieth of a core was harvested.
    pub fn sparse(mut self) -> Self {
        self.bucketing = Bucketing::Sparse { every: 1 };
        self
    }

    /// Whether every option makes sense; the first one that does not.
    pub fn validate(&self) -> Result<(), BadOption> {
        require(
            ("theta", self.theta),
            self.theta > 0.0 && self.theta <= 10.0,
            "a share above 0, at most 10",
        )?;
        require(("samples", self.samples), (1..=1 << 20).contains(&self.samples), "1 to 1048576")?;
        require(("refresh_samples", self.refresh_samples), self.refresh_samples > 0, "at least 1")?;
        let share = self.floor.share;
        require(("floor.share", share), (0.0..1.0).contains(&share), "a share from 0 to below 1")?;
        let slice_ns = self.floor.slice.as_nanos();
        require(("floor.slice", slice_ns), slice_ns > 0, "more than no time")?;
        self.validate_bucketing()?;
        match &self.utilisation {
            Utilisation::Tuned(tuner) => tuner.validate(),
            Utilisation::Fixed(share) => {
                require(("utilisation", share), (0.0..=1.0).contains(share), "a share from 0 to 1")
            }
        }
    }

    fn validate_bucketing(&self) -> Result<(), BadOption> {
        match self.bucketing {
            Bucketing::ByReads { most } => {
                require(("buckets", most), (1..=1024).contains(&most), "1 to 1024")
            }
            Bucketing::Sparse { every } => require(("sparse", every), every > 0, "at least 1"),
        }
    }

    pub(crate) fn history(&self) -> HistoryShape {
        HistoryShape {
            samples: self.samples,
            least: self.least_samples,
            longest_ns: nanos(self.longest_idle),
            refresh: self.refresh_samples,
            theta: self.theta,
        }
    }
}

impl TunerOptions {
    fn validate(&self) -> Result<(), BadOption> {
        let probe = self.first_probe.map(|share| ("first_probe", share));
        let steps = [("step", self.step), ("resolution", self.resolution)];
        for (name, share) in steps.into_iter().chain(probe) {
            require((name, share), share > 0.0 && share <= 1.0, "a share above 0, at most 1")?;
        }
        require(("band", self.band), (0.0..1.0).contains(&self.band), "a share from 0 to below 1")?;
        require(("precision", self.precision), self.precision > 0.0, "a share of theta above 0")?;
        let counts = [
            ("recording_intervals", self.recording_intervals),
            ("most_patience", self.most_patience),
            ("violations", self.violations),
        ];
        for (name, count) in counts {
            require((name, count), count > 0, "at least 1")?;
        }
        Ok(())
    }
}

/// A time in nanoseconds.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn require<T: ToString>(
    (name, found): (&'static str, T),
    holds: bool,
    expected: &'static str,
) -> Result<(), BadOption> {
    if holds { Ok(()) } else { Err(BadOption { name, found: found.to_string(), expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid() {
        for theta in [THETA_FRESH, THETA_ODIN, 0.01, 0.2] {
            LiosOptions::new(theta).validate().unwrap();
            LiosOptions::new(theta).sparse().validate().unwrap();
        }
    }

    #[test]
    fn nonsense_is_named() {
        for theta in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            let error = LiosOptions::new(theta).validate().unwrap_err();
            assert!(error.to_string().starts_with("theta is "), "{error}");
        }
        let fixed = Utilisation::Fixed(1.5);
        let error = LiosOptions { utilisation: fixed, ..LiosOptions::new(0.05) }.validate().unwrap_err();
        assert_eq!(error.to_string(), "utilisation is 1.5; expected a share from 0 to 1");
        let tuner = TunerOptions { step: 0.0, ..TunerOptions::default() };
        let options = LiosOptions { utilisation: Utilisation::Tuned(tuner), ..LiosOptions::new(0.05) };
        assert!(options.validate().is_err());
    }
}
