//! Rows of workloads with updates as lines for people.

use super::row::LiveRow;
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
