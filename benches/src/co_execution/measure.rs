//! What is compared: a name, a unit, and where it stands in a result line.

use crate::live::{Histogram, LiveRow};
use gleann_sim::Report;
use serde::Deserialize;

/// A measure of a phase of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// How many times as fast updates are as in the first arm.
    Speedup,
    /// By which share the mean latency is above that of the first arm.
    Mean,
    /// The same of the 95th percentile.
    P95,
    /// The same of the 99th percentile.
    P99,
    /// Mean latency by that of the first arm.
    LatencyRatio,
    /// By which share the mean latency is above that of the same arm while nothing is updated.
    MeanOverIdle,
    /// The same of the 99th percentile.
    P99OverIdle,
    /// Searches a second by those of the same arm while nothing is updated.
    QpsOverIdle,
    /// Searches a second by those of the first arm.
    QpsRatio,
    /// Recall less that of the first arm.
    RecallChange,
    /// Reads a search by those of the first arm.
    ReadsRatio,
    /// Mean time of a stall by that of the first arm: what overruns do to hops.
    StallRatio,
    /// Seconds of the phase.
    Seconds,
    /// Vectors changed a second.
    Rate,
    /// Searches a second.
    Qps,
    /// Mean latency.
    Latency,
    /// The 99th percentile.
    LatencyP99,
    /// Reads a search.
    Reads,
    /// Recall after the phase.
    Recall,
    /// Share of the searching cores' time in which they wait.
    Idle,
    /// Share of the searching cores' time in which they compute.
    Busy,
    /// Share of prunes in the processor time of updates.
    Prune,
    /// Processor time of updates, by vector.
    UpdateCpu,
    /// Mean time of a stall.
    Stall,
    /// Mean time by which a stall is overrun.
    Overrun,
    /// What a bounded budget allows it to be.
    OverrunBound,
    /// The overrun by its bound.
    OverrunUse,
    /// Largest distance between the distribution of waits in a quarter of the phase and in all of it (Kolmogorov, Smirnov).
    Drift,
    /// Memory of the index after the phase, in MB.
    Memory,
    /// Cores' worth of time that updates get from searching cores.
    HarvestedCores,
    /// Share of the stalls' time that updates make use of.
    HarvestedShare,
    /// Mean share of the budgets that is used.
    Utilisation,
    /// Times that the tuner changed it.
    Adjustments,
    /// Seconds that the tuner took to find it.
    Settling,
}

impl Measure {
    /// What it is called in tables, with its unit.
    pub fn title(self) -> &'static str {
        match self {
            Measure::Speedup => "speed-up",
            Measure::Mean => "mean latency",
            Measure::P95 => "P95",
            Measure::P99 => "P99",
            Measure::LatencyRatio => "mean latency, ×",
            Measure::MeanOverIdle => "mean over idle",
            Measure::P99OverIdle => "P99 over idle",
            Measure::QpsOverIdle => "queries/s over idle, ×",
            Measure::OverrunUse => "overrun by bound",
            Measure::Drift => "drift",
            Measure::Memory => "memory, MB",
            Measure::QpsRatio => "queries/s, ×",
            Measure::RecallChange => "recall, change",
            Measure::ReadsRatio => "reads/search, ×",
            Measure::StallRatio => "stall, ×",
            Measure::Seconds => "seconds",
            Measure::Rate => "changed/s",
            Measure::Qps => "queries/s",
            Measure::Latency => "latency, µs",
            Measure::LatencyP99 => "P99, µs",
            Measure::Reads => "reads/search",
            Measure::Recall => "recall",
            Measure::Idle => "idle",
            Measure::Busy => "busy",
            Measure::Prune => "prune share",
            Measure::UpdateCpu => "CPU µs/vector",
            Measure::Stall => "stall, µs",
            Measure::Overrun => "overrun, µs",
            Measure::OverrunBound => "its bound, µs",
            Measure::HarvestedCores => "cores harvested",
            Measure::HarvestedShare => "stalls harvested",
            Measure::Utilisation => "utilisation",
            Measure::Adjustments => "adjustments",
            Measure::Settling => "tuner searches, s",
        }
    }

    /// Its value for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Measure::Speedup
            | Measure::LatencyRatio
            | Measure::QpsRatio
            | Measure::QpsOverIdle
            | Measure::ReadsRatio
            | Measure::StallRatio => format!("{value:.2} ×"),
            Measure::Mean | Measure::P95 | Measure::P99 | Measure::MeanOverIdle | Measure::P99OverIdle => {
                format!("{:+.1} %", 100.0 * value)
            }
            Measure::Idle | Measure::Busy | Measure::Prune | Measure::HarvestedShare => {
                format!("{:.0} %", 100.0 * value)
            }
            Measure::RecallChange => format!("{value:+.4}"),
            Measure::Recall => format!("{value:.4}"),
            Measure::HarvestedCores | Measure::Utilisation | Measure::OverrunUse | Measure::Drift => {
                format!("{value:.2}")
            }
            _ => crate::plot::number(value),
        }
    }

    /// Its value for a phase.
    pub fn of(self, phase: Phase<'_>) -> Option<f64> {
        let Phase { own, first, idle } = phase;
        let ratio = |measure: Measure, other: Source<'_>| Some(measure.alone(own)? / measure.alone(other)?);
        let growth = |measure: Measure, other: Source<'_>| Some(ratio(measure, other)? - 1.0);
        match self {
            Measure::Speedup => ratio(Measure::Rate, first),
            Measure::LatencyRatio => ratio(Measure::Latency, first),
            Measure::QpsRatio => ratio(Measure::Qps, first),
            Measure::ReadsRatio => ratio(Measure::Reads, first),
            Measure::QpsOverIdle => ratio(Measure::Qps, idle?),
            Measure::Mean => growth(Measure::Latency, first),
            Measure::P99 => growth(Measure::LatencyP99, first),
            Measure::MeanOverIdle => growth(Measure::Latency, idle?),
            Measure::P99OverIdle => growth(Measure::LatencyP99, idle?),
            Measure::P95 => Some(own.p95()? / first.p95()? - 1.0),
            Measure::StallRatio => Some(own.hop_wait()? / first.hop_wait()?),
            Measure::RecallChange => Some(Measure::Recall.alone(own)? - Measure::Recall.alone(first)?),
            Measure::OverrunUse => Some(Measure::Overrun.alone(own)? / Measure::OverrunBound.alone(own)?),
            _ => self.alone(own),
        }
    }

    fn alone(self, source: Source<'_>) -> Option<f64> {
        match source {
            Source::Measured(row) => self.measured(row),
            Source::Simulated(report) => self.simulated(report),
        }
    }

    fn measured(self, row: &LiveRow) -> Option<f64> {
        let (searches, updates, stalls) = (&row.searches, &row.updates, row.stalls.as_ref());
        match self {
            Measure::Seconds => Some(row.phase_seconds),
            Measure::Rate => updates.vectors_per_second,
            Measure::Qps => searches.search_qps,
            Measure::Latency => searches.latency.mean,
            Measure::LatencyP99 => searches.latency.p99,
            Measure::Reads => searches.reads_per_query,
            Measure::Recall => row.recall,
            Measure::Idle => searches.idle_ratio,
            Measure::Busy => searches.idle_ratio.map(|idle| 1.0 - idle),
            Measure::Prune => updates.prune_share,
            Measure::UpdateCpu => updates.update_cpu_us_per_vector,
            Measure::Stall => stalls.map(|stalls| stalls.stall_us_mean),
            Measure::Overrun => stalls.map(|stalls| stalls.overrun_us_mean),
            Measure::OverrunBound => stalls.map(|stalls| stalls.overrun_bound_us),
            Measure::HarvestedCores => stalls.map(|stalls| stalls.harvested_cores),
            Measure::HarvestedShare => stalls.map(|stalls| stalls.harvested_share),
            Measure::Utilisation => stalls?.utilisation_mean,
            Measure::Adjustments => stalls?.adjustments.map(|count| count as f64),
            Measure::Settling => settling(&stalls?.tuner_state_seconds),
            Measure::Drift => drift(&searches.idle_per_hop, &searches.idle_per_hop_quarters),
            Measure::Memory => Some(row.index.memory_bytes as f64 / 1e6),
            _ => None,
        }
    }

    fn simulated(self, report: &Report) -> Option<f64> {
        let with_lios = |value: f64| (report.stall_us_mean > 0.0).then_some(value);
        match self {
            Measure::Seconds => Some(report.seconds),
            Measure::Rate => (report.vectors > 0).then_some(report.vectors_per_second),
            Measure::Qps => Some(report.search_qps),
            Measure::Latency => Some(report.latency_us_mean),
            Measure::LatencyP99 => Some(report.latency_us_p99),
            Measure::Idle => Some(report.idle_ratio),
            Measure::Busy => Some(1.0 - report.idle_ratio),
            Measure::Stall => with_lios(report.stall_us_mean),
            Measure::Overrun => with_lios(report.overrun_us_mean),
            Measure::OverrunBound => with_lios(report.overrun_bound_us),
            Measure::HarvestedCores => with_lios(report.harvested_cores),
            Measure::HarvestedShare => with_lios(report.harvested_share),
            Measure::Utilisation => with_lios(report.utilisation_mean),
            Measure::Settling => settling(&report.tuner_state_seconds),
            _ => None,
        }
    }
}

/// Seconds of the states in which the tuner looks for its share.
fn settling(states: &std::collections::BTreeMap<String, f64>) -> Option<f64> {
    let of = |state: gleann::TunerState| states.get(state.name()).copied().unwrap_or(0.0);
    let profiling = gleann::TunerState::ALL.into_iter().filter(|state| state.is_profiling());
    (!states.is_empty()).then(|| profiling.map(of).sum())
}

/// The largest distance of a part from the whole.
fn drift(whole: &Histogram, parts: &[Histogram]) -> Option<f64> {
    parts.iter().filter(|part| !part.is_empty()).map(|part| part.distance(whole)).reduce(f64::max)
}

/// A phase of an arm, and what it is held against.
#[derive(Debug, Clone, Copy)]
pub struct Phase<'a> {
    /// The phase.
    pub own: Source<'a>,
    /// The same phase of the first arm.
    pub first: Source<'a>,
    /// The phase of the same arm in which nothing is updated.
    pub idle: Option<Source<'a>>,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// On this machine.
    Measured(&'a LiveRow),
    /// In virtual time.
    Simulated(&'a Report),
}

impl Source<'_> {
    fn p95(self) -> Option<f64> {
        match self {
            Source::Measured(row) => row.searches.latency.p95,
            Source::Simulated(report) => Some(report.latency_us_p95),
        }
    }

    /// Mean wait of searches per hop, of all hops, in microseconds.
    fn hop_wait(self) -> Option<f64> {
        match self {
            Source::Measured(row) => row.searches.wait_per_hop_us,
            Source::Simulated(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Latency;

    fn row(rate: f64, mean: f64) -> LiveRow {
        let mut row = LiveRow { recall: Some(0.98), ..LiveRow::default() };
        row.updates.vectors_per_second = Some(rate);
        row.searches.latency = Latency { mean: Some(mean), p95: Some(2.0 * mean), ..Latency::default() };
        row
    }

    #[test]
    fn arms_are_held_against_the_first() {
        let (own, first) = (row(300.0, 110.0), row(200.0, 100.0));
        let sources = [&own, &first].map(Source::Measured);
        let of = |measure: Measure| measure.of(Phase { own: sources[0], first: sources[1], idle: None });
        assert_eq!(
            (of(Measure::Speedup), of(Measure::Rate), of(Measure::P99)),
            (Some(1.5), Some(300.0), None)
        );
        let near = |measure: Measure, value: f64| (of(measure).unwrap() - value).abs() < 1e-9;
        assert!(near(Measure::Mean, 0.1) && near(Measure::P95, 0.1) && near(Measure::LatencyRatio, 1.1));
        assert_eq!(
            (of(Measure::RecallChange), of(Measure::Stall), of(Measure::MeanOverIdle)),
            (Some(0.0), None, None)
        );
        let report = Report { latency_us_mean: 50.0, ..Report::default() };
        let source = Source::Simulated(&report);
        let phase = Phase { own: source, first: source, idle: Some(source) };
        assert_eq!((Measure::MeanOverIdle.of(phase), Measure::Stall.of(phase)), (Some(0.0), None));
        assert_eq!(Measure::Mean.show(0.0512), "+5.1 %");
    }
}
