//! The verb `plot`: results in, figure out.

use super::axis::{Axis, number};
use super::chart::{Chart, Line, Point};
use super::document::Figure;
use super::series::{Better, Series, front, group};
use crate::row::{Row, read_rows};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Arguments of `plot`.
#[derive(Debug, clap::Args)]
pub struct PlotArgs {
    /// Result files, one JSON object a line, as `run-bench --out` writes them
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// File to write; its ending decides: `.svg` for a picture, `.html` for a page with hover and a data table
    #[arg(long)]
    out: PathBuf,
    /// Heading of the figure
    #[arg(long, default_value = "Recall against throughput, latency and reads")]
    title: String,
}

/// Draws the figure and says where it is.
///
/// # Errors
/// A file cannot be read or written, or holds nothing to draw.
pub fn run(args: PlotArgs) -> Result<()> {
    let mut rows = Vec::new();
    for path in &args.results {
        rows.extend(read_rows(path)?);
    }
    write_figure(&rows, &args.title, &args.out)?;
    println!("wrote {} ({} results)", args.out.display(), rows.len());
    Ok(())
}

/// Draws `rows` into `out`, as SVG or HTML by its ending.
///
/// # Errors
/// There are no rows, the ending is another, or the file cannot be written.
pub fn write_figure(rows: &[Row], title: &str, out: &Path) -> Result<()> {
    if rows.is_empty() {
        bail!("nothing to plot: the result files hold no lines");
    }
    let figure = figure(rows, title);
    let text = match out.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => figure.to_svg(),
        Some("html") => figure.to_html(),
        _ => bail!("--out {}: expected a file name that ends in .svg or .html", out.display()),
    };
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make folder {}", folder.display()))?;
    }
    std::fs::write(out, text).with_context(|| format!("cannot write {}", out.display()))
}

/// A measure drawn against recall: its value in a row, and whether it is the tail of a distribution.
type Measure = (fn(&Row) -> Option<f64>, bool);

struct Panel {
    title: &'static str,
    y_title: &'static str,
    better: Better,
    log: bool,
    measures: &'static [Measure],
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "Throughput at a recall (higher and further right is better)",
        y_title: "queries a second (log scale)",
        better: Better::Higher,
        log: true,
        measures: &[(|row| Some(row.qps), false)],
    },
    Panel {
        title: "Latency at a recall (lower is better): mean solid, 99th percentile dashed",
        y_title: "latency of a query, ms (log scale)",
        better: Better::Lower,
        log: true,
        measures: &[
            (|row| row.latency.mean.map(|us| us / 1e3), false),
            (|row| row.latency.p99.map(|us| us / 1e3), true),
        ],
    },
    Panel {
        title: "Reads at a recall (lower is better)",
        y_title: "reads a query",
        better: Better::Lower,
        log: false,
        measures: &[(|row| row.cost.reads_per_query, false)],
    },
];

fn figure(rows: &[Row], title: &str) -> Figure {
    let (series, shared) = group(rows);
    let k = shared_k(rows);
    let x_title = k.map_or_else(|| "recall@k".to_owned(), |k| format!("recall@{k}"));
    let mut panels: Vec<(&Panel, Vec<Line>)> =
        PANELS.iter().map(|panel| (panel, lines(&series, panel))).collect();
    // A measure that no system reports (reads of in-memory peers) gets no empty frame.
    panels.retain(|(_, lines)| !lines.is_empty());
    // One recall axis for all, so that a point is found again by looking straight down.
    let recalls =
        panels.iter().flat_map(|(_, lines)| lines.iter().flat_map(|l| l.points.iter().map(|p| p.x)));
    let x = Axis::linear(recalls, 10);
    let charts = panels
        .iter()
        .map(|(panel, lines)| {
            let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.y));
            let y = if panel.log { Axis::log(values) } else { Axis::linear(values.chain([0.0]), 6) };
            Chart {
                title: panel.title.to_owned(),
                y_title: panel.y_title.to_owned(),
                x_title: x_title.clone(),
                x: x.clone(),
                y,
                lines: lines.clone(),
            }
        })
        .collect();
    Figure { title: title.to_owned(), shared, series, charts }
}

fn shared_k(rows: &[Row]) -> Option<u32> {
    let k = rows.first()?.k;
    rows.iter().all(|row| row.k == k).then_some(k)
}

fn lines(series: &[Series], panel: &Panel) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, series) in series.iter().enumerate() {
        for (measure, dashed) in panel.measures {
            let points: Vec<Point> = front(&series.rows, measure, panel.better)
                .into_iter()
                .map(|(row, y)| Point { x: row.recall, y, tip: tip(&series.label, row) })
                .collect();
            if !points.is_empty() {
                lines.push(Line { series: index, dashed: *dashed, points });
            }
        }
    }
    lines
}

fn tip(label: &str, row: &Row) -> String {
    let mut text =
        format!("{label}\nL {} · recall {:.4}\n{} queries/s", row.list, row.recall, number(row.qps));
    let milliseconds = |us: f64| number(us / 1e3);
    if let Some(mean) = row.latency.mean {
        text += &format!("\nlatency {} ms", milliseconds(mean));
    }
    if let Some(p99) = row.latency.p99 {
        text += &format!(", p99 {} ms", milliseconds(p99));
    }
    if let Some(reads) = row.cost.reads_per_query {
        text += &format!("\n{} reads", number(reads));
    }
    if let Some(cpu) = row.cost.cpu_us_per_query {
        text += &format!("\n{} µs of CPU", number(cpu));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Cost, Latency};

    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for (system, speed) in [("gleann <1>", 3000.0), ("diskannpy", 1900.0)] {
            for (step, recall) in [0.81, 0.92, 0.97, 0.99].into_iter().enumerate() {
                let cost = f64::from(step as u32 + 1);
                rows.push(Row {
                    preset: system.to_owned(),
                    search: "beam".to_owned(),
                    list: 10 * (step as u32 + 1),
                    k: 10,
                    recall,
                    qps: speed / cost,
                    latency: Latency {
                        mean: Some(900.0 * cost),
                        p99: Some(1800.0 * cost),
                        ..Latency::default()
                    },
                    cost: Cost { reads_per_query: Some(12.0 * cost), ..Cost::default() },
                    ..Row::default()
                });
            }
        }
        rows
    }

    #[test]
    fn the_figure_holds_every_point() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("deep/figure.svg");
        write_figure(&rows(), "A & B", &out).unwrap();
        let svg = std::fs::read_to_string(&out).unwrap();
        // Throughput, mean, p99 and reads of eight rows, and two legend entries.
        assert_eq!(svg.matches("<circle").count(), 4 * 8 + 2);
        assert_eq!(svg.matches("<title>").count(), 4 * 8);
        assert!(svg.contains("A &amp; B") && svg.contains("gleann &lt;1&gt;") && svg.contains("recall@10"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));

        let page = out.with_extension("html");
        write_figure(&rows(), "t", &page).unwrap();
        let html = std::fs::read_to_string(&page).unwrap();
        assert_eq!(html.matches("<tr>").count(), 1 + 8);
        assert!(!html.replace("http://www.w3.org/2000/svg", "").contains("http"));
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_figure(&rows(), "t", &folder.path().join("a.png")).unwrap_err();
        assert!(error.to_string().contains(".svg or .html"));
        assert!(write_figure(&[], "t", &folder.path().join("a.svg")).is_err());
        // One row, without latency and reads, is still a picture.
        let only = [Row { recall: 1.0, qps: 10.0, ..Row::default() }];
        assert_eq!(figure(&only, "t").charts.len(), 1);
        assert!(!figure(&only, "t").to_svg().contains("NaN"));
    }
}
