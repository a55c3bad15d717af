//! Grouped bars: one group a data set, one bar a variant.

use super::axis::{Axis, number};
use super::chart::{HEIGHT, WIDTH, colour, escape};
use super::document::{LEGEND_LEFT, STYLE, legend};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;

const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 36.0;
/// Share of a group's width that its bars take.
const FILLED: f64 = 0.82;

/// Bars of one measure.
#[derive(Debug, Clone)]
pub struct BarChart {
    /// Heading.
    pub title: String,
    /// Title of the vertical axis, with its unit.
    pub y_title: String,
    /// One name a bar of a group.
    pub series: Vec<String>,
    /// Groups, left to right.
    pub groups: Vec<BarGroup>,
}

/// Bars that stand together.
#[derive(Debug, Clone)]
pub struct BarGroup {
    /// What they have in common.
    pub label: String,
    /// A value a series; `None` where there is none, and no bar.
    pub values: Vec<Option<f64>>,
    /// What the paper has in its place, drawn as an outline.
    pub paper: Vec<Option<f64>>,
}

/// Writes the chart as an SVG file; makes its folder.
///
/// # Errors
/// The file cannot be written.
pub fn write_bars(chart: &BarChart, out: &Path) -> Result<()> {
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make folder {}", folder.display()))?;
    }
    std::fs::write(out, chart.to_svg()).with_context(|| format!("cannot write {}", out.display()))
}

impl BarChart {
    fn to_svg(&self) -> String {
        let labels: Vec<&str> = self.series.iter().map(String::as_str).collect();
        let (legend, height) = legend(&labels, 44.0);
        let top = 44.0 + height;
        let total = top + HEIGHT;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {total:.0}\" width=\"{WIDTH}\" \
             height=\"{total:.0}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text class=\"heading\" x=\"{LEGEND_LEFT}\" y=\"28\">{}</text>\n{legend}<g transform=\"translate(0 {top:.0})\">\n",
            escape(&self.title)
        );
        self.draw(&mut svg);
        svg.push_str("</g>\n</svg>\n");
        svg
    }

    fn draw(&self, svg: &mut String) {
        let values = self.groups.iter().flat_map(|group| group.values.iter().chain(&group.paper));
        let values = values.flatten().copied();
        let y = Axis::linear(values.chain([0.0]), 6);
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let place = |value: f64| bottom - (bottom - TOP) * y.position(value);
        for &tick in &y.ticks {
            let at = place(tick);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                at + 4.0,
                number(tick)
            );
        }
        let width = (right - LEFT) / self.groups.len().max(1) as f64;
        for (index, group) in self.groups.iter().enumerate() {
            self.draw_group(svg, group, (LEFT + width * index as f64, width), &place);
        }
        let _ = writeln!(svg, "<path class=\"frame\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>");
        let centre = f64::midpoint(TOP, bottom);
        let _ = writeln!(
            svg,
            "<text class=\"axis\" transform=\"translate(18 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escape(&self.y_title)
        );
    }

    fn draw_group(
        &self,
        svg: &mut String,
        group: &BarGroup,
        (left, width): (f64, f64),
        place: &dyn Fn(f64) -> f64,
    ) {
        let bottom = HEIGHT - BOTTOM;
        let bar = width * FILLED / self.series.len().max(1) as f64;
        let first = left + width * (1.0 - FILLED) / 2.0;
        for (series, value) in group.values.iter().enumerate() {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let (x, y) = (first + bar * series as f64, place(value));
            let _ = writeln!(
                svg,
                "<rect class=\"bar\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\">\
                 <title>{} · {}\n{}</title></rect>",
                bar * 0.94,
                (bottom - y).max(0.0),
                colour(series),
                escape(&self.series[series]),
                escape(&group.label),
                number(value)
            );
        }
        self.draw_paper(svg, group, (first, bar), place);
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            left + width / 2.0,
            bottom + 20.0,
            escape(&group.label)
        );
    }

    /// Outlines of what the paper has.
    fn draw_paper(
        &self,
        svg: &mut String,
        group: &BarGroup,
        (first, bar): (f64, f64),
        place: &dyn Fn(f64) -> f64,
    ) {
        let bottom = HEIGHT - BOTTOM;
        for (series, value) in group.paper.iter().enumerate() {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let (x, y) = (first + bar * series as f64, place(value));
            let _ = writeln!(
                svg,
                "<path class=\"paper\" d=\"M{x:.1} {bottom}V{y:.1}h{:.1}V{bottom}\"><title>{} · {}, the paper\n{}</title></path>",
                bar * 0.94,
                escape(&self.series[series]),
                escape(&group.label),
                number(value)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bar_and_nothing_else_has() {
        let chart = BarChart {
            title: "A & B".into(),
            y_title: "pages".into(),
            series: vec!["one".into(), "two".into()],
            groups: vec![
                BarGroup {
                    label: "sift".into(),
                    values: vec![Some(10.0), Some(5.0)],
                    paper: vec![None, Some(4.0)],
                },
                BarGroup { label: "gist".into(), values: vec![None, Some(20.0)], paper: Vec::new() },
            ],
        };
        let svg = chart.to_svg();
        assert_eq!(svg.matches("class=\"bar\"").count(), 3);
        assert_eq!(svg.matches("class=\"paper\"").count(), 1);
        assert!(svg.contains("A &amp; B") && svg.contains("two · gist") && !svg.contains("NaN"));
        let empty = BarChart { groups: Vec::new(), ..chart };
        assert!(!empty.to_svg().contains("NaN"));
    }
}
