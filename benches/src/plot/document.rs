//! Charts, legend and table put together: an SVG file, or a page that needs nothing but itself.

use super::axis::number;
use super::chart::{Chart, HEIGHT, WIDTH, escape, marker};
use super::series::Series;
use crate::row::Row;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;

/// Everything a plot shows.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// What all series share.
    pub shared: String,
    /// The series, for legend and table.
    pub series: Vec<Series>,
    /// The charts, top to bottom.
    pub charts: Vec<Chart>,
}

/// Style of every picture.
pub const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#222}\
.heading{font-size:18px;font-weight:600}.shared{font-size:13px;fill:#555}.title{font-size:14px;font-weight:600}\
.tick{font-size:12px;fill:#444}.axis{font-size:13px}.legend{font-size:13px}\
.paper{fill:none;stroke:#222;stroke-width:1.5;stroke-dasharray:4 3}.grid{stroke:#e4e4e4;fill:none}.frame{stroke:#555;fill:none}.line{fill:none;stroke-width:2}";

const LEGEND_ROW: f64 = 22.0;
/// Where headings and legends begin.
pub const LEGEND_LEFT: f64 = 78.0;
/// Average advance of a 13 px sans-serif glyph, on the generous side.
const GLYPH: f64 = 7.2;

/// Charts below one another, with one legend.
#[derive(Debug, Clone, Copy)]
pub struct Sheet<'a> {
    /// Heading.
    pub title: &'a str,
    /// What all series share.
    pub shared: &'a str,
    /// Name of every series.
    pub labels: &'a [&'a str],
    /// The charts, top to bottom.
    pub charts: &'a [Chart],
}

impl Sheet<'_> {
    /// The sheet as an SVG file.
    pub fn to_svg(self) -> String {
        let (legend, height) = legend(self.labels, 64.0);
        let charts_top = 64.0 + height;
        let total = charts_top + HEIGHT * self.charts.len() as f64 + 8.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {total:.0}\" width=\"{WIDTH}\" \
             height=\"{total:.0}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        let _ = writeln!(
            svg,
            "<text class=\"heading\" x=\"{LEGEND_LEFT}\" y=\"28\">{}</text>",
            escape(self.title)
        );
        let _ = writeln!(
            svg,
            "<text class=\"shared\" x=\"{LEGEND_LEFT}\" y=\"48\">{}</text>",
            escape(self.shared)
        );
        svg.push_str(&legend);
        for (index, chart) in self.charts.iter().enumerate() {
            svg.push_str(&chart.draw(charts_top + HEIGHT * index as f64));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Writes a sheet as an SVG file; makes its folder.
///
/// # Errors
/// The file cannot be written.
pub fn write_sheet(sheet: Sheet<'_>, out: &Path) -> Result<()> {
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make folder {}", folder.display()))?;
    }
    std::fs::write(out, sheet.to_svg()).with_context(|| format!("cannot write {}", out.display()))
}

impl Figure {
    /// The figure as an SVG file.
    pub fn to_svg(&self) -> String {
        let labels: Vec<&str> = self.series.iter().map(|series| series.label.as_str()).collect();
        Sheet { title: &self.title, shared: &self.shared, labels: &labels, charts: &self.charts }.to_svg()
    }

    /// The figure as a page: the charts, and every number in a table.
    pub fn to_html(&self) -> String {
        let mut table = String::new();
        for series in &self.series {
            for row in &series.rows {
                let _ = writeln!(table, "<tr><td>{}</td>{}</tr>", escape(&series.label), cells(row));
            }
        }
        let heads: String = HEADS.iter().map(|head| format!("<th>{head}</th>")).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\n<style>{PAGE_STYLE}</style></head>\
             <body>\n{}<table><thead><tr>{heads}</tr></thead><tbody>\n{table}</tbody></table>\n\
             <div id=\"tip\"></div>\n<script>{SCRIPT}</script>\n</body></html>\n",
            escape(&self.title),
            self.to_svg()
        )
    }
}

/// Legend entries from `top` on, wrapped; with their height.
pub fn legend(labels: &[&str], top: f64) -> (String, f64) {
    let mut svg = String::new();
    let (mut x, mut y) = (LEGEND_LEFT, top + 8.0);
    for (index, label) in labels.iter().enumerate() {
        let width = 30.0 + GLYPH * label.chars().count() as f64;
        if x > LEGEND_LEFT && x + width > WIDTH {
            (x, y) = (LEGEND_LEFT, y + LEGEND_ROW);
        }
        let _ = writeln!(svg, "{}/>", marker(index, false, (x + 5.0, y - 4.0)));
        let _ = writeln!(
            svg,
            "<text class=\"legend\" x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
            x + 16.0,
            escape(label)
        );
        x += width;
    }
    (svg, y - top + 8.0)
}

const HEADS: [&str; 11] = [
    "series",
    "L",
    "recall",
    "queries/s",
    "mean ms",
    "p99 ms",
    "reads/query",
    "KiB/query",
    "CPU µs/query",
    "stall %",
    "memory MiB",
];

fn cells(row: &Row) -> String {
    let cost = &row.cost;
    let values = [
        Some(f64::from(row.list)),
        Some(row.recall),
        Some(row.qps),
        row.latency.mean.map(|us| us / 1e3),
        row.latency.p99.map(|us| us / 1e3),
        cost.reads_per_query,
        cost.bytes_per_query.map(|bytes| bytes / 1024.0),
        cost.cpu_us_per_query,
        cost.stall_share.map(|share| share * 100.0),
        cost.rss_bytes.map(|bytes| bytes as f64 / (1 << 20) as f64),
    ];
    values.iter().map(|value| format!("<td>{}</td>", value.map_or_else(|| "–".to_owned(), number))).collect()
}

const PAGE_STYLE: &str = "body{font-family:system-ui,sans-serif;max-width:1000px;margin:1.5rem auto;color:#222}\
svg{max-width:100%;height:auto}table{border-collapse:collapse;font-size:13px;margin-top:1rem;width:100%}\
th,td{padding:3px 8px;text-align:right;border-bottom:1px solid #e4e4e4}th:first-child,td:first-child{text-align:left}\
thead th{position:sticky;top:0;background:#fff}#tip{position:fixed;display:none;background:#222;color:#fff;\
font-size:12px;padding:5px 8px;border-radius:4px;white-space:pre;pointer-events:none}";

/// Shows a marker's title at once and near the pointer, instead of after the browser's delay.
const SCRIPT: &str = "const tip=document.getElementById('tip');\
document.querySelectorAll('svg title').forEach(t=>{const m=t.parentNode,text=t.textContent;t.remove();\
m.addEventListener('mousemove',e=>{tip.textContent=text;tip.style.display='block';\
tip.style.left=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8)+'px';tip.style.top=(e.clientY+14)+'px'});\
m.addEventListener('mouseleave',()=>tip.style.display='none')});";
