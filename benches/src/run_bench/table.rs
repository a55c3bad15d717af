//! Results as lines for people.

use crate::row::Row;

/// The names of the columns.
pub fn header(k: u32) -> String {
    let recall = format!("recall@{k}");
    format!(
        "{:<11} {:<7} {:<6} {:>12} {:<14} {:<8} {:<9} {:<9} {:>2}×{:<4} {:>6} {recall:>10} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>6} {:>6}",
        "name",
        "engine",
        "search",
        "width",
        "entry",
        "uses",
        "stop",
        "cache",
        "th",
        "fly",
        "list",
        "queries/s",
        "mean µs",
        "p50 µs",
        "p99 µs",
        "reads",
        "CPU µs",
        "stall",
        "idle"
    )
}

/// A row under these columns.
pub fn line(row: &Row) -> String {
    let (latency, cost) = (&row.latency, &row.cost);
    format!(
        "{:<11} {:<7} {:<6} {:>12} {:<14} {:<8} {:<9} {:<9} {:>2}×{:<4} {:>6} {:>10.4} {:>9.0} {:>9} {:>9} {:>9} {:>7} {:>7} {:>6} {:>6}",
        row.preset,
        row.engine,
        row.search,
        row.width_name(),
        row.entry,
        row.expansion,
        row.stop,
        row.cache,
        row.threads,
        row.in_flight,
        row.list,
        row.recall,
        row.qps,
        optional(latency.mean, 0),
        optional(latency.p50, 0),
        optional(latency.p99, 0),
        optional(cost.reads_per_query, 1),
        optional(cost.cpu_us_per_query, 0),
        share(cost.stall_share),
        share(cost.idle_share),
    )
}

/// Says on the error stream that one round of a point is over: the table holds medians only.
pub fn tell_round(round: u32, rows: &[Row]) {
    let Some(row) = rows.last() else { return };
    eprintln!(
        "round {round}: {} width {} list {} on {} × {}: recall {:.4}, {:.0} queries/s",
        row.search,
        row.width_name(),
        row.list,
        row.threads,
        row.in_flight,
        row.recall,
        row.qps
    );
}

/// A number with so many decimals, or a dash.
pub fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{:.0} %", 100.0 * value))
}
