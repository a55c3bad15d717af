//! Simulated phases as lines for people.

use super::line::{Line, Measured};
use gleann_sim::Compared;

/// The names of the columns.
pub fn header() -> String {
    format!(
        "{:<8} {:>4} {:<5} {:<30} {:<7} {:>8} {:>10} {:>10} {:>8} {:>8} {:>5} {:>7} {:>6} {:>6} {:>13} {:>8} {:>7} {:>7}",
        "threads",
        "R",
        "",
        "simulated",
        "phase",
        "seconds",
        "changed/s",
        "queries/s",
        "mean µs",
        "p99 µs",
        "idle",
        "stall",
        "cores",
        "u",
        "overrun/bound",
        "speed-up",
        "mean",
        "p99"
    )
}

/// A line under these columns.
pub fn line(line: &Line) -> String {
    let report = &line.report;
    format!(
        "{:<8} {:>4} {:<5} {:<30} {:<7} {:>7.1}{} {:>10.0} {:>10.0} {:>8.0} {:>8.0} {:>3.0} % {:>7.1} {:>6.2} {:>6.2} {:>13} {}",
        format!("{}/{}", line.threads_search, line.threads_update),
        line.degree,
        line.search,
        line.lios,
        report.phase,
        report.seconds,
        if report.cut_short { "+" } else { " " },
        report.vectors_per_second,
        report.search_qps,
        report.latency_us_mean,
        report.latency_us_p99,
        100.0 * report.idle_ratio,
        report.stall_us_mean,
        report.harvested_cores,
        report.utilisation_mean,
        format!("{:.1}/{:.1}", report.overrun_us_mean, report.overrun_bound_us),
        line.compared.as_ref().map_or_else(String::new, comparison)
    )
}

fn comparison(compared: &Compared) -> String {
    format!("{:>8.2} {:>+6.1}% {:>+6.1}%", compared.speedup, 100.0 * compared.mean, 100.0 * compared.p99)
}

/// The names of the columns of a validation.
pub fn validation_header() -> String {
    format!(
        "{:<30} {:<7} {:>18} {:>7} {:>20} {:>7} {:>18} {:>17}",
        "predicted (measured)",
        "phase",
        "speed-up",
        "error",
        "mean µs",
        "error",
        "mean against off",
        "p99 µs"
    )
}

/// A prediction under these columns.
pub fn validation(line: &Line, measured: &Measured) -> String {
    let report = &line.report;
    let speedup = line.compared.map_or(1.0, |compared| compared.speedup);
    let mean = line.compared.map_or(0.0, |compared| compared.mean);
    let error = |predicted: f64, measured: f64| format!("{:+.1}%", 100.0 * (predicted / measured - 1.0));
    format!(
        "{:<30} {:<7} {:>18} {:>7} {:>20} {:>7} {:>18} {:>17}",
        line.lios,
        report.phase,
        format!("{speedup:.2} ({:.2})", measured.speedup),
        error(speedup, measured.speedup),
        format!("{:.0} ({:.0})", report.latency_us_mean, measured.latency_us_mean),
        error(report.latency_us_mean, measured.latency_us_mean),
        format!("{:+.1}% ({:+.1}%)", 100.0 * mean, 100.0 * measured.mean),
        format!("{:.0} ({:.0})", report.latency_us_p99, measured.latency_us_p99)
    )
}
