//! What a phase came to.

use gleann_lios::{CoreTotals, SharedTuner, TunerState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One phase. Times are virtual.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// `idle`, `delete` or `insert`.
    pub phase: String,
    /// Vectors changed.
    pub vectors: u64,
    /// Seconds until they all were.
    pub seconds: f64,
    /// One by the other.
    pub vectors_per_second: f64,
    /// Whether the phase ran out of time.
    pub cut_short: bool,
    /// Searches that ended.
    pub queries: u64,
    /// Searches a second.
    pub search_qps: f64,
    /// Mean latency of searches, in microseconds.
    pub latency_us_mean: f64,
    /// The median.
    pub latency_us_p50: f64,
    /// The 95th percentile.
    pub latency_us_p95: f64,
    /// The 99th percentile.
    pub latency_us_p99: f64,
    /// Operations a second that the device served.
    pub device_iops: f64,
    /// Share of the searching cores' time in which they slept.
    pub idle_ratio: f64,
    /// Mean time of a stall, whether or not updates made use of it, in microseconds.
    pub stall_us_mean: f64,
    /// Share of the stalls' time that updates made use of.
    pub harvested_share: f64,
    /// Cores' worth of time that updates got from searching cores.
    pub harvested_cores: f64,
    /// Mean time by which a stall was overrun, in microseconds.
    pub overrun_us_mean: f64,
    /// What a bounded budget allows it to be: θ of the mean time of a stall.
    pub overrun_bound_us: f64,
    /// Mean share of the budgets that was allowed.
    pub utilisation_mean: f64,
    /// Seconds that the tuner spent in each of its states.
    pub tuner_state_seconds: BTreeMap<String, f64>,
    /// The tuner's intervals.
    pub trace: Vec<TracePart>,
}

/// An interval of the tuner.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TracePart {
    /// When it ended, in seconds from the beginning of the run.
    pub at: f64,
    /// What the tuner was doing.
    pub state: String,
    /// Which share of the budgets was allowed.
    pub utilisation: f32,
    /// By which share latency was above its baseline.
    pub degradation: f64,
}

/// A phase beside the same phase with other use of the stalls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// How many times as fast updates were.
    pub speedup: f64,
    /// By which share the mean latency grew.
    #[serde(rename = "latency_mean_growth")]
    pub mean: f64,
    /// By which share the 95th percentile grew.
    #[serde(rename = "latency_p95_growth")]
    pub p95: f64,
    /// By which share the 99th percentile grew.
    #[serde(rename = "latency_p99_growth")]
    pub p99: f64,
    /// By which share searches a second grew.
    #[serde(rename = "search_qps_growth")]
    pub qps: f64,
}

impl Report {
    /// Beside `off`.
    pub fn beside(&self, off: &Report) -> Compared {
        let growth = |own: f64, other: f64| own / other.max(1e-9) - 1.0;
        Compared {
            speedup: self.vectors_per_second / off.vectors_per_second.max(1e-9),
            mean: growth(self.latency_us_mean, off.latency_us_mean),
            p95: growth(self.latency_us_p95, off.latency_us_p95),
            p99: growth(self.latency_us_p99, off.latency_us_p99),
            qps: growth(self.search_qps, off.search_qps),
        }
    }

    /// Puts down the latencies of all searches that ended in the phase.
    pub(crate) fn put_latencies(&mut self, latencies_ns: &mut [u64]) {
        latencies_ns.sort_unstable();
        let count = latencies_ns.len();
        let at = |share: f64| {
            let rank = ((share * count as f64).ceil() as usize).clamp(1, count.max(1));
            latencies_ns.get(rank - 1).map_or(0.0, |&ns| ns as f64 / 1e3)
        };
        let sum: u64 = latencies_ns.iter().sum();
        self.queries = count as u64;
        self.search_qps = count as f64 / self.seconds.max(1e-9);
        self.latency_us_mean = sum as f64 / 1e3 / count.max(1) as f64;
        (self.latency_us_p50, self.latency_us_p95, self.latency_us_p99) = (at(0.5), at(0.95), at(0.99));
    }

    /// Puts down what cores counted in the phase.
    pub(crate) fn put_totals(&mut self, before: &CoreTotals, now: &CoreTotals, theta: f64) {
        let since = |of: fn(&CoreTotals) -> u64| (of(now) - of(before)) as f64;
        let (stalls, idle) = (since(|totals| totals.hops).max(1.0), since(|totals| totals.idle_ns));
        let (slices, overrun) = (since(|totals| totals.slice_ns), since(|totals| totals.overrun_ns));
        self.stall_us_mean = idle / stalls / 1e3;
        self.harvested_share = (slices - overrun) / idle.max(1.0);
        self.harvested_cores = (slices + since(|totals| totals.floor_ns)) / 1e9 / self.seconds.max(1e-9);
        self.overrun_us_mean = overrun / stalls / 1e3;
        self.overrun_bound_us = theta * self.stall_us_mean;
    }

    /// Puts down what the tuner did since `since_ns`.
    pub(crate) fn put_trace(&mut self, tuner: &SharedTuner, since_ns: u64) {
        let points = tuner.trace();
        self.trace = points
            .iter()
            .filter(|point| point.at_ns > since_ns)
            .map(|point| TracePart {
                at: point.at_ns as f64 / 1e9,
                state: point.state.name().to_owned(),
                utilisation: point.utilisation,
                degradation: point.degradation(),
            })
            .collect();
    }
}

/// Seconds in each state, less those before.
pub(crate) fn state_seconds(tuner: &SharedTuner, before: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let Some(report) = tuner.report() else { return BTreeMap::new() };
    let of = |state: TunerState| {
        let name = state.name().to_owned();
        let earlier = before.get(&name).copied().unwrap_or(0.0);
        (name, report.counts.seconds(state) - earlier)
    };
    TunerState::ALL.into_iter().map(of).collect()
}
