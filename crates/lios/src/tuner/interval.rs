//! One interval of observation: when it is long enough, and which queries belong to it.

use crate::latency::{Latency, LatencyHistogram};

/// What was seen since the interval began.
#[derive(Debug, Clone, Default)]
pub(super) struct Interval {
    began_ns: u64,
    /// When the utilisation was last changed: a query from before has seen both settings, and is left out.
    changed_ns: u64,
    /// Queries that ended, and those before which updates had waited for stalls.
    queries: u32,
    exercised: u32,
    latencies: LatencyHistogram,
}

/// What it takes to judge an interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    pub(super) time_ns: u64,
    pub(super) queries: u64,
    /// Standard error of the mean, as a share of it, until `longest_ns` have passed.
    pub(super) error: f64,
    pub(super) longest_ns: u64,
    /// What the mean is to be held against, if only the mean is. Far from it, less precision will do.
    pub(super) bound_ns: Option<u64>,
}

/// Standard errors that are far: by chance, one time in a few hundred.
const FAR: f64 = 3.0;

impl Need {
    fn is_met(&self, time_ns: u64, latencies: &LatencyHistogram) -> bool {
        let (error, mean_ns) = (latencies.standard_error(), latencies.mean_ns());
        let is_far = |bound_ns: u64| bound_ns.abs_diff(mean_ns) as f64 > FAR * error * mean_ns as f64;
        error <= self.error || time_ns >= self.longest_ns || self.bound_ns.is_some_and(is_far)
    }
}

/// What an interval came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    pub(super) at_ns: u64,
    pub(super) latency: Latency,
    pub(super) exercised_share: f32,
}

impl Observation {
    /// Whether there was nothing to do in stalls: the baseline was measured.
    pub(super) fn is_baseline(&self) -> bool {
        self.exercised_share == 0.0
    }

    /// Whether there was something to do most of the time: if latency stays within the bound, that is to the setting's credit.
    pub(super) fn is_proof(&self) -> bool {
        self.exercised_share >= 0.5
    }
}

impl Interval {
    /// Begins anew. `changed`: the utilisation is another one from now on.
    pub(super) fn begin(&mut self, now_ns: u64, changed: bool) {
        self.began_ns = now_ns;
        if changed {
            self.changed_ns = now_ns;
        }
        (self.queries, self.exercised) = (0, 0);
        self.latencies.clear();
    }

    /// A query ended that took `latency_ns`. `exercised`: the setting was in force since the one before.
    pub(super) fn add(&mut self, now_ns: u64, latency_ns: u64, exercised: bool) {
        self.queries += 1;
        self.exercised += u32::from(exercised);
        if now_ns.saturating_sub(latency_ns) >= self.changed_ns {
            self.latencies.add(latency_ns);
        }
    }

    /// What it came to, if that is enough.
    pub(super) fn observed(&self, now_ns: u64, need: &Need) -> Option<Observation> {
        let time_ns = now_ns.saturating_sub(self.began_ns);
        if time_ns < need.time_ns || self.latencies.count() < need.queries {
            return None;
        }
        need.is_met(time_ns, &self.latencies).then(|| Observation {
            at_ns: now_ns,
            latency: self.latencies.summary(),
            exercised_share: self.exercised as f32 / self.queries.max(1) as f32,
        })
    }
}
