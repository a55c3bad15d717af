//! One result of a workload with updates: a JSON line a phase, step or round.

use super::histogram::Histogram;
use super::phase::{Bench, Measured};
use super::quiet::Quiet;
use super::searchers::Sample;
use super::stalls::StallFigures;
use super::target::Gauges;
use crate::row::{Environment, Latency};
use crate::sweep::width_form;
use gleann::{Element, Width};
use serde::{Deserialize, Serialize};

/// Most parts that the time of a phase is cut into for its curves.
const PARTS: f64 = 100.0;
/// The shortest of them, in seconds.
const PART_SECONDS: f64 = 0.5;

/// A measured phase, step or round. What is not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveRow {
    /// `updates`, `churn` or `runbook`.
    pub workload: String,
    /// What was run and how; the same in every line of a run.
    #[serde(flatten)]
    pub setup: Setup,
    /// What went on: `idle`, `delete`, `insert`, or the operation of a step.
    pub phase: String,
    /// Number of the step in its runbook, or of the round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Its wall-clock time.
    pub phase_seconds: f64,
    /// What changes did.
    #[serde(flatten)]
    pub updates: UpdateFigures,
    /// What searches beside them did.
    #[serde(flatten)]
    pub searches: SearchFigures,
    /// What searching cores did for updates; absent where they do nothing.
    #[serde(flatten)]
    pub stalls: Option<StallFigures>,
    /// Recall of a pass over all queries after the phase, while nothing changed, against the exact neighbours in the set
    /// of that moment; by ids, ties counted as found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f64>,
    /// The same by distances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall_distance: Option<f64>,
    /// Answers of that pass with fewer neighbours than there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_answers: Option<u64>,
    /// The index after the phase.
    #[serde(flatten)]
    pub index: IndexFigures,
    /// Curves over the time of the phase.
    #[serde(skip_serializing_if = "Timeline::is_empty")]
    pub timeline: Timeline,
    /// Where it ran and on what.
    #[serde(flatten)]
    pub environment: Environment,
}

/// What a run is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// How inserts reach the graph.
    pub backend: String,
    /// When an update is acknowledged.
    pub durability: String,
    /// What runs in the waits of searches: `off`, or how updates do.
    pub lios: String,
    /// θ: by which share the latency of searches may grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// How slices of updates are bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// The statistic of latency that is tuned by, or the share of the budgets that is always used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuner: Option<String>,
    /// Whether what searches need next is prefetched after a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch: Option<bool>,
    /// Traversal.
    pub search: String,
    /// Reads in flight of one search.
    #[serde(with = "width_form", skip_serializing_if = "Option::is_none")]
    pub width: Option<Width>,
    /// Candidate list length, L.
    pub list: u32,
    /// Neighbours asked for.
    pub k: u32,
    /// Searching threads.
    pub threads_search: u32,
    /// Updating threads.
    pub threads_update: u32,
    /// Searches interleaved per searching thread.
    pub in_flight: u32,
    /// Searches offered a second; absent where they come without a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// By which that is multiplied in bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// Clients that make changes, each waiting for its answer.
    pub update_clients: u32,
    /// R: the most neighbours a vector has.
    pub degree: u32,
    /// Rounds the numbers are taken over; 1: nothing is repeated, a run changes what it runs on.
    pub rounds: u32,
}

/// Changes of a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateFigures {
    /// Vectors changed.
    pub vectors: u64,
    /// Vectors changed by the seconds of the phase: repairs and merges count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors_per_second: Option<f64>,
    /// Seconds until the last change was acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_seconds: Option<f64>,
    /// Microseconds from a client's call to its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_latency_us_mean: Option<f64>,
    /// The median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_latency_us_p50: Option<f64>,
    /// The 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_latency_us_p95: Option<f64>,
    /// The 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_latency_us_p99: Option<f64>,
    /// Share of prunes in the processor time of updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune_share: Option<f64>,
    /// Processor time of updates by vectors changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_cpu_us_per_vector: Option<f64>,
    /// Bytes written.
    pub bytes_written: u64,
    /// Those by the bytes of the vectors changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Most changes that were acknowledged and not in the graph on disk.
    pub backlog: u64,
    /// Merges that ended in the phase.
    pub merges: u64,
    /// Distribution of the time from a client's call to its answer.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub update_time: Histogram,
}

/// Searches of a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchFigures {
    /// Searches answered.
    pub queries: u64,
    /// Searches answered a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_qps: Option<f64>,
    /// Latency from the start on a core to the end.
    #[serde(flatten)]
    pub latency: Latency,
    /// Reads of the average search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_per_query: Option<f64>,
    /// Share of the searching cores' time in which they waited for reads with nothing else to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ratio: Option<f64>,
    /// Mean wait of searches per round of reads, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_per_hop_us: Option<f64>,
    /// Distribution over searches of the wait per hop: a search's waits by its hops.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub idle_per_hop: Histogram,
    /// The same in each quarter of the phase (LIOS Figure 6).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idle_per_hop_quarters: Vec<Histogram>,
}

/// An index after a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexFigures {
    /// Live vectors.
    pub live: u64,
    /// Deleted vectors whose places are not free.
    pub dead: u64,
    /// Bytes of its files.
    pub index_bytes: u64,
    /// Memory that it takes.
    pub memory_bytes: u64,
    /// Most memory of the process in the phase that is not of files; queries and exact neighbours count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// OR(G) of the I/O model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_ratio: Option<f64>,
    /// Mean number of neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_degree: Option<f64>,
    /// Vectors that cannot be reached from the entry point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<u64>,
}

/// Curves over the time of a phase, in equal parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// Seconds of a part.
    pub part_seconds: f64,
    /// Searches a second.
    pub search_qps: Vec<f64>,
    /// Mean latency of the searches that ended in it; absent where none did.
    pub latency_us: Vec<Option<f64>>,
    /// Changes acknowledged a second.
    pub vectors_per_second: Vec<f64>,
}

impl LiveRow {
    /// The line of a phase; `vector_bytes` is the size of a vector.
    pub fn of_phase(setup: &Setup, phase: &str, measured: &Measured, vector_bytes: u64) -> Self {
        Self {
            setup: setup.clone(),
            phase: phase.to_owned(),
            phase_seconds: measured.seconds,
            updates: UpdateFigures::of(measured, vector_bytes),
            searches: SearchFigures::of(measured, setup.threads_search),
            stalls: StallFigures::of(measured, setup),
            index: IndexFigures {
                peak_memory_bytes: Some(measured.peak_memory_bytes),
                ..IndexFigures::of(&measured.after)
            },
            timeline: Timeline::of(measured),
            ..Self::default()
        }
    }

    /// The line of the build that a run begins with, which took so many seconds.
    pub fn of_build<T: Element>(setup: &Setup, bench: &Bench<'_, T>, seconds: f64) -> Self {
        let gauges = bench.target.gauges();
        let updates = UpdateFigures {
            vectors: gauges.live,
            vectors_per_second: Some(gauges.live as f64 / seconds.max(1e-9)),
            ..UpdateFigures::default()
        };
        Self {
            workload: "runbook".to_owned(),
            setup: setup.clone(),
            phase: "build".to_owned(),
            step: Some(1),
            phase_seconds: seconds,
            updates,
            index: IndexFigures::of(&gauges),
            ..Self::default()
        }
    }

    /// Adds what a quiet pass after the phase has found. Where nothing was searched beside the changes, its figures of
    /// searches are those of that pass.
    #[must_use]
    pub fn with_quiet(mut self, quiet: &Quiet) -> Self {
        self.recall = quiet.recall.map(|recall| recall.official);
        self.recall_distance = quiet.recall.and_then(|recall| recall.distance);
        self.short_answers = Some(quiet.short);
        if self.searches.queries == 0 {
            let count = quiet.latencies_us.len();
            self.searches = SearchFigures {
                queries: count as u64,
                search_qps: Some(count as f64 / quiet.seconds.max(1e-9)),
                latency: Latency::of(&mut quiet.latencies_us.clone()),
                reads_per_query: (count > 0).then(|| quiet.reads as f64 / count as f64),
                ..SearchFigures::default()
            };
        }
        self
    }
}

impl UpdateFigures {
    fn of(measured: &Measured, vector_bytes: u64) -> Self {
        let Measured { made, before, after, seconds, .. } = measured;
        let vectors = made.acknowledged.len() as u64 - made.refused;
        let per_vector = |value: u64| (vectors > 0).then(|| value as f64 / vectors as f64);
        let mut took: Vec<f64> = made.acknowledged.iter().map(|change| change.took_us).collect();
        let latency = Latency::of(&mut took);
        let cpu = after.update_cpu_ns.saturating_sub(before.update_cpu_ns);
        let prune = after.prune_cpu_ns.map(|ns| ns.saturating_sub(before.prune_cpu_ns.unwrap_or(0)));
        let bytes_written = after.bytes_written.saturating_sub(before.bytes_written);
        Self {
            vectors,
            vectors_per_second: (vectors > 0).then(|| vectors as f64 / seconds.max(1e-9)),
            acknowledged_seconds: (vectors > 0).then_some(measured.acknowledged_seconds),
            update_latency_us_mean: latency.mean,
            update_latency_us_p50: latency.p50,
            update_latency_us_p95: latency.p95,
            update_latency_us_p99: latency.p99,
            prune_share: prune.filter(|_| vectors > 0 && cpu > 0).map(|prune| prune as f64 / cpu as f64),
            update_cpu_us_per_vector: per_vector(cpu).map(|ns| ns / 1e3),
            bytes_written,
            write_amplification: per_vector(bytes_written).map(|bytes| bytes / vector_bytes as f64),
            backlog: measured.peak_backlog,
            merges: after.merges.saturating_sub(before.merges),
            update_time: Histogram::of(took.into_iter()),
        }
    }
}

impl SearchFigures {
    fn of(measured: &Measured, threads: u32) -> Self {
        let (samples, seconds) = (&measured.searches, measured.seconds.max(1e-9));
        if samples.is_empty() {
            return Self::default();
        }
        let count = samples.len() as f64;
        let idle = measured.after.idle_ns.saturating_sub(measured.before.idle_ns) as f64 / 1e9;
        let hops: f64 = samples.iter().map(|sample| f64::from(sample.hops)).sum();
        let waited: f64 = samples.iter().map(|sample| sample.stall_us).sum();
        let per_hop = |sample: &Sample| (sample.hops > 0).then(|| sample.stall_us / f64::from(sample.hops));
        Self {
            queries: samples.len() as u64,
            search_qps: Some(samples.iter().filter(|sample| sample.at <= seconds).count() as f64 / seconds),
            latency: Latency::of(&mut samples.iter().map(|sample| sample.latency_us).collect::<Vec<_>>()),
            reads_per_query: Some(samples.iter().map(|sample| f64::from(sample.reads)).sum::<f64>() / count),
            idle_ratio: Some(idle / measured.counted_seconds.max(1e-9) / f64::from(threads.max(1))),
            wait_per_hop_us: (hops > 0.0).then(|| waited / hops),
            idle_per_hop: Histogram::of(samples.iter().filter_map(per_hop)),
            idle_per_hop_quarters: (0..4)
                .map(|quarter| {
                    let during = |sample: &&Sample| (4.0 * sample.at / seconds) as usize == quarter;
                    Histogram::of(samples.iter().filter(during).filter_map(per_hop))
                })
                .collect(),
        }
    }
}

impl IndexFigures {
    fn of(after: &Gauges) -> Self {
        Self {
            live: after.live,
            dead: after.dead,
            index_bytes: after.index_bytes,
            memory_bytes: after.memory_bytes,
            overlap_ratio: after.overlap_ratio,
            ..Self::default()
        }
    }
}

impl Timeline {
    fn of(measured: &Measured) -> Self {
        let part = (measured.seconds / PARTS).max(PART_SECONDS);
        let parts = (measured.seconds / part).ceil().max(1.0) as usize;
        let at = |seconds: f64| ((seconds / part) as usize).min(parts - 1);
        let (mut searches, mut latency, mut changes) = (vec![0.0; parts], vec![0.0; parts], vec![0.0; parts]);
        for sample in &measured.searches {
            searches[at(sample.at)] += 1.0;
            latency[at(sample.at)] += sample.latency_us;
        }
        measured.made.acknowledged.iter().for_each(|change| changes[at(change.at)] += 1.0);
        // The last part may be shorter than the others.
        let length = |index: usize| (measured.seconds - part * index as f64).clamp(1e-9, part);
        let rates = |counts: &[f64]| counts.iter().enumerate().map(|(i, n)| n / length(i)).collect();
        Self {
            part_seconds: part,
            latency_us: latency.iter().zip(&searches).map(|(sum, n)| (*n > 0.0).then(|| sum / n)).collect(),
            search_qps: rates(&searches),
            vectors_per_second: rates(&changes),
        }
    }

    fn is_empty(&self) -> bool {
        self.search_qps.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::changes::{Acknowledged, Made};

    fn measured() -> Measured {
        let sample = |at: f64| Sample { at, latency_us: 100.0 * at, stall_us: 60.0, hops: 3, reads: 10 };
        Measured {
            seconds: 2.0,
            counted_seconds: 2.0,
            acknowledged_seconds: 1.5,
            made: Made {
                acknowledged: (1..=10)
                    .map(|i| Acknowledged { at: 0.1 * f64::from(i), took_us: 8.0 })
                    .collect(),
                refused: 2,
            },
            searches: (1..=8).map(|i| sample(0.25 * f64::from(i))).collect(),
            before: Gauges { update_cpu_ns: 5_000, bytes_written: 100, ..Gauges::default() },
            after: Gauges {
                live: 7,
                update_cpu_ns: 21_000,
                prune_cpu_ns: Some(4_000),
                bytes_written: 1_700,
                merges: 1,
                idle_ns: 1_000_000_000,
                ..Gauges::default()
            },
            peak_memory_bytes: 9,
            peak_backlog: 3,
            queue_depth_max: 2,
            utilisation_mean: None,
            trace: Vec::new(),
        }
    }

    #[test]
    fn a_phase_becomes_the_line_that_is_asked_for() {
        let setup = Setup { backend: "odin".into(), threads_search: 2, rounds: 1, ..Setup::default() };
        let row = LiveRow::of_phase(&setup, "delete", &measured(), 100);
        assert_eq!((row.updates.vectors, row.updates.vectors_per_second), (8, Some(4.0)));
        assert_eq!((row.updates.prune_share, row.updates.update_cpu_us_per_vector), (Some(0.25), Some(2.0)));
        assert_eq!((row.updates.bytes_written, row.updates.write_amplification), (1600, Some(2.0)));
        assert_eq!((row.searches.search_qps, row.searches.idle_ratio), (Some(4.0), Some(0.25)));
        assert_eq!((row.searches.latency.p50, row.searches.reads_per_query), (Some(100.0), Some(10.0)));
        assert_eq!(row.timeline.search_qps, [2.0, 4.0, 4.0, 6.0]);
        assert_eq!(row.timeline.vectors_per_second.iter().sum::<f64>() * 0.5, 10.0);

        let text = serde_json::to_string(&LiveRow { recall: Some(0.9), ..row.clone() }).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        for field in [
            "backend",
            "search",
            "lios",
            "phase",
            "phase_seconds",
            "vectors_per_second",
            "search_qps",
            "latency_us_mean",
            "latency_us_p50",
            "latency_us_p95",
            "latency_us_p99",
            "recall",
            "reads_per_query",
            "idle_ratio",
            "prune_share",
            "update_cpu_us_per_vector",
            "bytes_written",
            "index_bytes",
            "threads_search",
            "threads_update",
            "in_flight",
            "degree",
            "rounds",
        ] {
            assert!(line.get(field).is_some(), "{field} is missing in {text}");
        }
        assert_eq!(serde_json::from_str::<LiveRow>(&text).unwrap(), LiveRow { recall: Some(0.9), ..row });
    }

    #[test]
    fn a_phase_without_searches_shows_those_of_the_quiet_pass() {
        let mut measured = measured();
        measured.searches.clear();
        let row = LiveRow::of_phase(&Setup::default(), "insert", &measured, 100);
        assert_eq!((row.searches.queries, row.searches.idle_ratio), (0, None));
        let quiet = Quiet { recall: None, latencies_us: vec![3.0, 5.0], reads: 8, seconds: 0.5, short: 1 };
        let row = row.with_quiet(&quiet);
        assert_eq!((row.searches.search_qps, row.searches.latency.mean), (Some(4.0), Some(4.0)));
        assert_eq!((row.searches.reads_per_query, row.recall, row.short_answers), (Some(4.0), None, Some(1)));
    }
}
