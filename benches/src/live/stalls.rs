//! What searching cores did for updates in a phase, and what that is worth beside the same phase without.

use super::phase::Measured;
use super::row::{LiveRow, Setup};
use crate::row::median;
use gleann::{CoreTotals, TracePoint, TunerState};
use gleann_sim::TracePart;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Updates on searching cores in a phase.
///
/// A line without its fields has none of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StallFigures {
    /// Mean share of the budgets that updates might use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation_mean: Option<f64>,
    /// Share of the stalls' time that updates made use of.
    pub harvested_share: f64,
    /// Cores' worth of time that updates got from searching cores: slices of all kinds by the time of the phase.
    pub harvested_cores: f64,
    /// Mean time of a stall.
    pub stall_us_mean: f64,
    /// Mean time a stall was overrun by.
    pub overrun_us_mean: f64,
    /// What a bounded budget allows it to be: θ of the mean time of a stall.
    pub overrun_bound_us: f64,
    /// Seconds that the tuner spent in each of its states.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tuner_state_seconds: BTreeMap<String, f64>,
    /// Times that the tuner changed the share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjustments: Option<u64>,
    /// Mean latency of searches without updates, as the tuner last measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_us: Option<f64>,
    /// Most inserts that waited to be begun.
    pub queue_depth_max: u64,
    /// The tuner's intervals; seconds count from the opening of the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuner_trace: Vec<TracePart>,
}

impl StallFigures {
    /// None where searching cores only search.
    pub fn of(measured: &Measured, setup: &Setup) -> Option<Self> {
        let (before, after) = (measured.before.lios?, measured.after.lios?);
        let since = |of: fn(&CoreTotals) -> u64| (of(&after.totals) - of(&before.totals)) as f64;
        let (stalls, idle) = (since(|totals| totals.hops).max(1.0), since(|totals| totals.idle_ns));
        let (slices, overrun) = (since(|totals| totals.slice_ns), since(|totals| totals.overrun_ns));
        let given = slices + since(|totals| totals.floor_ns) + since(|totals| totals.spare_ns);
        let counts = after.tuner.map(|tuner| tuner.counts);
        let earlier = before.tuner.map(|tuner| tuner.counts);
        let states = counts.zip(earlier).map(|(now, then)| {
            let seconds = |state: TunerState| now.seconds(state) - then.seconds(state);
            TunerState::ALL.into_iter().map(|state| (state.name().to_owned(), seconds(state))).collect()
        });
        Some(Self {
            utilisation_mean: measured.utilisation_mean,
            harvested_share: (slices - overrun) / idle.max(1.0),
            harvested_cores: given / 1e9 / measured.counted_seconds.max(1e-9),
            stall_us_mean: idle / stalls / 1e3,
            overrun_us_mean: overrun / stalls / 1e3,
            overrun_bound_us: setup.theta.unwrap_or(0.0) * idle / stalls / 1e3,
            tuner_state_seconds: states.unwrap_or_default(),
            adjustments: counts.zip(earlier).map(|(now, then)| now.adjustments - then.adjustments),
            baseline_us: after
                .tuner
                .and_then(|tuner| tuner.baseline)
                .map(|latency| latency.mean_ns as f64 / 1e3),
            queue_depth_max: measured.queue_depth_max,
            tuner_trace: measured.trace.iter().map(trace_part).collect(),
        })
    }
}

fn trace_part(point: &TracePoint) -> TracePart {
    TracePart {
        at: point.at_ns as f64 / 1e9,
        state: point.state.name().to_owned(),
        utilisation: point.utilisation,
        degradation: point.degradation(),
    }
}

/// A phase with updates on searching cores beside the same phase without.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// How they did.
    pub lios: String,
    /// Which phase.
    pub phase: String,
    /// How many times as fast updates were.
    pub speedup: f64,
    /// By which share the mean latency grew.
    pub mean: f64,
    /// By which share the 95th percentile grew.
    pub p95: f64,
    /// By which share the 99th percentile grew.
    pub p99: f64,
    /// Searches a second by those without.
    pub qps: f64,
    /// Cores' worth of time that updates got from searching cores.
    pub harvested_cores: f64,
    /// Recall less that without.
    pub recall: f64,
}

/// Holds every way against `off` in the same run: medians over rounds. Empty where one of both is missing.
pub fn compare(rows: &[LiveRow]) -> Vec<Compared> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| row.setup.lios != "off") {
        let key = (row.setup.lios.as_str(), row.phase.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.into_iter().filter_map(|(lios, phase)| compared(rows, lios, phase)).collect()
}

/// The lines of one way of using stalls in one phase.
pub fn lines_of<'r>(rows: &'r [LiveRow], lios: &str, phase: &str) -> Vec<&'r LiveRow> {
    rows.iter().filter(|row| row.setup.lios == lios && row.phase == phase).collect()
}

/// Median of a value over lines that have it.
pub fn middle(rows: &[&LiveRow], value: impl Fn(&LiveRow) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = rows.iter().filter_map(|row| value(row)).collect();
    (!values.is_empty()).then(|| median(&mut values))
}

fn compared(rows: &[LiveRow], lios: &str, phase: &str) -> Option<Compared> {
    let of =
        |lios: &str, value: &dyn Fn(&LiveRow) -> Option<f64>| middle(&lines_of(rows, lios, phase), value);
    let ratio = |value: &dyn Fn(&LiveRow) -> Option<f64>| Some(of(lios, value)? / of("off", value)?);
    Some(Compared {
        lios: lios.to_owned(),
        phase: phase.to_owned(),
        speedup: 1.0 / ratio(&|row| Some(row.phase_seconds))?,
        mean: ratio(&|row| row.searches.latency.mean)? - 1.0,
        p95: ratio(&|row| row.searches.latency.p95)? - 1.0,
        p99: ratio(&|row| row.searches.latency.p99)? - 1.0,
        qps: ratio(&|row| row.searches.search_qps)?,
        harvested_cores: of(lios, &|row| row.stalls.as_ref().map(|stalls| stalls.harvested_cores))?,
        recall: of(lios, &|row| row.recall)? - of("off", &|row| row.recall)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Latency;

    fn row(lios: &str, seconds: f64, mean: f64) -> LiveRow {
        let mut row = LiveRow {
            phase: "insert".into(),
            phase_seconds: seconds,
            recall: Some(0.9),
            ..LiveRow::default()
        };
        row.setup.lios = lios.into();
        row.searches.search_qps = Some(1e6 / mean);
        row.searches.latency =
            Latency { mean: Some(mean), p95: Some(1.5 * mean), p99: Some(2.0 * mean), ..Latency::default() };
        row.stalls =
            (lios != "off").then(|| StallFigures { harvested_cores: 0.4, ..StallFigures::default() });
        row
    }

    #[test]
    fn medians_are_held_against_those_without() {
        let rows = [
            row("off", 10.0, 100.0),
            row("on", 5.0, 104.0),
            row("off", 12.0, 100.0),
            row("on", 5.0, 105.0),
            row("off", 9.0, 90.0),
            row("on", 6.0, 103.0),
        ];
        let [compared] = &compare(&rows)[..] else { panic!() };
        assert_eq!((compared.lios.as_str(), compared.phase.as_str()), ("on", "insert"));
        assert_eq!((compared.speedup, compared.harvested_cores, compared.recall), (2.0, 0.4, 0.0));
        assert!((compared.mean - 0.04).abs() < 1e-9 && (compared.p99 - 0.04).abs() < 1e-9, "{compared:?}");
        assert_eq!(compare(&rows[..1]), []);
        assert_eq!(compare(&rows[1..2]), []);
    }
}
