//! One chart as an SVG group: frame, grid, axis titles, lines with markers that explain themselves on hover.

use super::axis::{Axis, number};
use std::fmt::Write;

/// Outer size of a chart.
pub const WIDTH: f64 = 860.0;
/// Outer size of a chart.
pub const HEIGHT: f64 = 400.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;

/// Colours that stay apart for colour-blind eyes (Okabe and Ito), darkest first.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a7a00"];

/// A measured point.
#[derive(Debug, Clone)]
pub struct Point {
    /// Recall.
    pub x: f64,
    /// The measure.
    pub y: f64,
    /// What a reader sees on hovering.
    pub tip: String,
}

/// Points of one series, in the order they are joined.
#[derive(Debug, Clone)]
pub struct Line {
    /// Index of the series: gives colour and marker.
    pub series: usize,
    /// Dashed with hollow markers, for the tail of a distribution.
    pub dashed: bool,
    /// The points.
    pub points: Vec<Point>,
}

/// A chart of recall against one measure.
#[derive(Debug, Clone)]
pub struct Chart {
    /// What is seen, and which way is better.
    pub title: String,
    /// Title of the vertical axis, with its unit.
    pub y_title: String,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Lines, back to front.
    pub lines: Vec<Line>,
}

/// Escapes text for SVG and HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Colour of a series.
pub fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

/// The marker of a series around a point; shapes change once the colours are used up.
pub fn marker(series: usize, hollow: bool, (x, y): (f64, f64)) -> String {
    let ink = colour(series);
    let fill = if hollow { "#fff" } else { ink };
    let style = format!("fill=\"{fill}\" stroke=\"{ink}\" stroke-width=\"1.5\"");
    match (series / COLOURS.len()) % 3 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" {style}"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7.6\" height=\"7.6\" {style}", x - 3.8, y - 3.8),
        _ => format!("<path d=\"M{:.1} {:.1}l4.8 8.4h-9.6z\" {style}", x, y - 5.0),
    }
}

impl Chart {
    /// A chart whose axes are linear and hold all points; the vertical one begins at 0.
    pub fn linear((title, y_title, x_title): (&str, &str, &str), lines: Vec<Line>) -> Self {
        let values = |of: fn(&Point) -> f64| lines.iter().flat_map(move |line| line.points.iter().map(of));
        Self {
            title: title.to_owned(),
            y_title: y_title.to_owned(),
            x_title: x_title.to_owned(),
            x: Axis::linear(values(|point| point.x).chain([0.0]), 10),
            y: Axis::linear(values(|point| point.y).chain([0.0]), 6),
            lines,
        }
    }

    /// The chart with its top left corner at (0, `top`).
    pub fn draw(&self, top: f64) -> String {
        let mut svg = format!("<g transform=\"translate(0 {top:.0})\">\n");
        self.draw_frame(&mut svg);
        for line in &self.lines {
            self.draw_line(&mut svg, line);
        }
        svg.push_str("</g>\n");
        svg
    }

    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let width = WIDTH - LEFT - RIGHT;
        let height = HEIGHT - TOP - BOTTOM;
        (LEFT + width * self.x.position(x), TOP + height * (1.0 - self.y.position(y)))
    }

    fn draw_frame(&self, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let _ = writeln!(svg, "<text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>", escape(&self.title));
        // As many decimals as the step needs, the same on every tick.
        let step = self.x.ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(1.0, f64::min);
        let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
        for &tick in &self.x.ticks {
            let x = self.place(tick, self.y.ticks[0]).0;
            let label = format!("{tick:.decimals$}");
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                bottom + 18.0
            );
        }
        for &tick in &self.y.ticks {
            let y = self.place(self.x.ticks[0], tick).1;
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                number(tick)
            );
        }
        self.draw_titles(svg);
    }

    fn draw_titles(&self, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let middle = (LEFT + right) / 2.0;
        let _ = writeln!(svg, "<path class=\"frame\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>");
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 12.0,
            escape(&self.x_title)
        );
        let centre = (TOP + bottom) / 2.0;
        let _ = writeln!(
            svg,
            "<text class=\"axis\" transform=\"translate(18 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escape(&self.y_title)
        );
    }

    fn draw_line(&self, svg: &mut String, line: &Line) {
        let places: Vec<(f64, f64)> = line.points.iter().map(|point| self.place(point.x, point.y)).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let dash = if line.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let ink = colour(line.series);
        let _ = writeln!(svg, "<path class=\"line\" stroke=\"{ink}\"{dash} d=\"M{}\"/>", path.join("L"));
        for (place, point) in places.iter().zip(&line.points) {
            let shape = marker(line.series, line.dashed, *place);
            let element = if shape.starts_with("<c") { "circle" } else { &shape[1..5] };
            let _ = writeln!(svg, "{shape}><title>{}</title></{element}>", escape(&point.tip));
        }
    }
}
