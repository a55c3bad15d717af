//! Pictures of a run: throughput and latency over time, latency by phase, and where the time goes.

use super::histogram::Histogram;
use super::row::{LiveRow, Timeline};
use crate::plot::{BarChart, BarGroup, Chart, Line, Point, Sheet, number, write_bars, write_sheet};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Draws the rows of a run into `folder`; the files that were written.
///
/// # Errors
/// A file cannot be written.
pub fn write_figures(rows: &[LiveRow], title: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let path = |name: &str| folder.join(name);
    let written = [path("over-time.svg"), path("latency.svg"), path("times.svg")];
    let shared = rows.first().map(shared).unwrap_or_default();
    let labels: Vec<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
    let (over_time, times) = (over_time(rows), times(rows));
    let sheet = |charts| Sheet { title, shared: &shared, labels: &labels, charts };
    write_sheet(sheet(&over_time), &written[0])?;
    write_bars(&latency(rows, title), &written[1])?;
    write_sheet(sheet(&times), &written[2])?;
    Ok(written.into())
}

/// What the rows of a run have in common.
fn shared(row: &LiveRow) -> String {
    let setup = &row.setup;
    format!(
        "{} · {} · L {} · {} searching and {} updating threads · {} in flight · durability {} · R {}",
        setup.backend,
        setup.search,
        setup.list,
        setup.threads_search,
        setup.threads_update,
        setup.in_flight,
        setup.durability,
        setup.degree
    )
}

/// A curve of a phase: a value for every part of its time.
type Curve = fn(&Timeline, usize) -> Option<f64>;

/// Searches, their latency, and changes over the time of all phases.
fn over_time(rows: &[LiveRow]) -> Vec<Chart> {
    let curves: [(&str, &str, Curve); 3] = [
        ("Searches (higher is better)", "searches a second", |line, part| line.search_qps.get(part).copied()),
        ("Mean latency of searches (lower is better)", "milliseconds", |line, part| {
            line.latency_us.get(part).copied().flatten().map(|us| us / 1e3)
        }),
        ("Changes acknowledged", "vectors a second", |line, part| line.vectors_per_second.get(part).copied()),
    ];
    let charts = curves.map(|(title, y_title, curve)| {
        let mut begun = 0.0;
        let mut lines = Vec::new();
        for (series, row) in rows.iter().enumerate() {
            let points = curve_points(row, begun, curve);
            begun += row.phase_seconds;
            // A phase without changes has no line of them.
            if points.iter().any(|point| point.y > 0.0) {
                lines.push(Line { series, dashed: false, points });
            }
        }
        Chart::linear((title, y_title, "seconds"), lines)
    });
    charts.into_iter().filter(|chart| !chart.lines.is_empty()).collect()
}

fn curve_points(row: &LiveRow, begun: f64, curve: Curve) -> Vec<Point> {
    let line = &row.timeline;
    let point = |part: usize| {
        let (x, y) = (begun + line.part_seconds * (part as f64 + 0.5), curve(line, part)?);
        Some(Point { x, y, tip: format!("{}\nsecond {}\n{}", row.phase, number(x), number(y)) })
    };
    (0..line.search_qps.len()).filter_map(point).collect()
}

/// Latency of searches by phase.
fn latency(rows: &[LiveRow], title: &str) -> BarChart {
    let group = |label: &str, value: fn(&LiveRow) -> Option<f64>| BarGroup {
        label: label.to_owned(),
        values: rows.iter().map(|row| value(row).map(|us| us / 1e3)).collect(),
        paper: Vec::new(),
    };
    BarChart {
        title: title.to_owned(),
        y_title: "latency of a search, ms".to_owned(),
        series: rows.iter().map(|row| row.phase.clone()).collect(),
        groups: vec![
            group("mean", |row| row.searches.latency.mean),
            group("median", |row| row.searches.latency.p50),
            group("P95", |row| row.searches.latency.p95),
            group("P99", |row| row.searches.latency.p99),
        ],
    }
}

/// The axes of a distribution.
pub const SHARE: &str = "share of all, %";
/// The axes of a distribution.
pub const POWERS: &str = "microseconds, as a power of 2";

/// The points of a distribution.
pub fn distribution(histogram: &Histogram, label: &str) -> Vec<Point> {
    let point = |(us, share): (f64, f64)| Point {
        x: us.log2(),
        y: 100.0 * share,
        tip: format!("{label}\n{} µs\n{} %", number(us), number(100.0 * share)),
    };
    histogram.shares().into_iter().map(point).collect()
}

/// Distributions of the wait of a hop and of the time of a change.
fn times(rows: &[LiveRow]) -> Vec<Chart> {
    let of = |title, histogram: fn(&LiveRow) -> &Histogram| {
        let lines = rows.iter().enumerate().map(|(series, row)| Line {
            series,
            dashed: false,
            points: distribution(histogram(row), &row.phase),
        });
        let lines = lines.filter(|line| !line.points.is_empty()).collect();
        Chart::linear((title, SHARE, POWERS), lines)
    };
    let charts = [
        of("Wait of searches per hop", |row| &row.searches.idle_per_hop),
        of("Time of a change, from call to answer", |row| &row.updates.update_time),
    ];
    charts.into_iter().filter(|chart| !chart.lines.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_that_did_something_has_a_line() {
        let mut rows: Vec<LiveRow> = ["idle", "delete", "insert"]
            .map(|phase| LiveRow { phase: phase.into(), phase_seconds: 1.0, ..LiveRow::default() })
            .into();
        for row in &mut rows {
            row.timeline = Timeline {
                part_seconds: 0.5,
                search_qps: vec![100.0, 90.0],
                latency_us: vec![Some(500.0), None],
                vectors_per_second: vec![if row.phase == "idle" { 0.0 } else { 30.0 }; 2],
            };
            row.searches.latency.mean = Some(500.0);
            row.searches.idle_per_hop = Histogram::of([10.0, 20.0].into_iter());
        }
        let charts = over_time(&rows);
        assert_eq!(charts.iter().map(|chart| chart.lines.len()).collect::<Vec<_>>(), [3, 3, 2]);
        assert!((charts[0].lines[1].points[0].x - 1.25).abs() < 1e-9);
        let folder = tempfile::tempdir().unwrap();
        let written = write_figures(&rows, "Updates", &folder.path().join("new")).unwrap();
        assert_eq!(written.len(), 3);
        for path in written {
            let svg = std::fs::read_to_string(&path).unwrap();
            assert!(svg.contains("insert") && !svg.contains("NaN"), "{}", path.display());
        }
    }
}
