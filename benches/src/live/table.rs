//! Rows of workloads with updates as lines for people.

use super::row::LiveRow;
use super::stalls::{Compared, StallFigures};
use crate::run_bench::optional;

/// The names of the columns.
pub fn header(k: u32) -> String {
    format!(
        "{:>5} {:<18} {:>9} {:>10} {:>9} {:>10} {:>9} {:>8} {:>8} {:>8} {:>7} {:>6} {:>6} {:>7} {:>9} {:>9}",
        "step",
        "phase",
        "seconds",
        "live",
        "changed/s",
        "queries/s",
        "mean µs",
        "p50 µs",
        "p95 µs",
        "p99 µs",
        "reads",
        "idle",
        "prune",
        "CPU µs",
        "MiB",
        format!("recall@{k}")
    )
}

/// A row under these columns.
pub fn line(row: &LiveRow) -> String {
    let (updates, searches) = (&row.updates, &row.searches);
    let share =
        |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", 100.0 * share));
    format!(
        "{:>5} {:<18} {:>9.2} {:>10} {:>9} {:>10} {:>9} {:>8} {:>8} {:>8} {:>7} {:>6} {:>6} {:>7} {:>9.1} {:>9}",
        row.step.map_or_else(String::new, |step| step.to_string()),
        row.phase,
        row.phase_seconds,
        row.index.live,
        optional(updates.vectors_per_second, 0),
        optional(searches.search_qps, 0),
        optional(searches.latency.mean, 0),
        optional(searches.latency.p50, 0),
        optional(searches.latency.p95, 0),
        optional(searches.latency.p99, 0),
        optional(searches.reads_per_query, 1),
        share(searches.idle_ratio),
        share(updates.prune_share),
        optional(updates.update_cpu_us_per_vector, 0),
        row.index.index_bytes as f64 / (1 << 20) as f64,
        optional(row.recall, 4),
    )
}

/// What searching cores did for updates in the phase above.
pub fn stalls_line(stalls: &StallFigures) -> String {
    let states: Vec<String> = stalls
        .tuner_state_seconds
        .iter()
        .filter(|(_, seconds)| **seconds > 0.0)
        .map(|(state, seconds)| format!("{state} {seconds:.1} s"))
        .collect();
    format!(
        "      in stalls: {:.2} cores, {:.0} % of the stalls' time; stall {:.0} µs, overrun {:.1} (bound {:.1}); utilisation {}; \
         {}",
        stalls.harvested_cores,
        100.0 * stalls.harvested_share,
        stalls.stall_us_mean,
        stalls.overrun_us_mean,
        stalls.overrun_bound_us,
        optional(stalls.utilisation_mean, 2),
        states.join(", ")
    )
}

/// The names of the columns of a comparison.
pub fn comparison_header() -> String {
    format!(
        "{:<36} {:<18} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "against off", "phase", "speed-up", "mean", "p99", "queries/s", "cores", "recall"
    )
}

/// A comparison under these columns.
pub fn comparison(compared: &Compared) -> String {
    format!(
        "{:<36} {:<18} {:>8.2} {:>+8.1}% {:>+8.1}% {:>9.2} {:>9.2} {:>+9.4}",
        compared.lios,
        compared.phase,
        compared.speedup,
        100.0 * compared.mean,
        100.0 * compared.p99,
        compared.qps,
        compared.harvested_cores,
        compared.recall
    )
}
