//! Plots of results: recall against throughput, latency and reads, as SVG or as a page with a data table. Written
//! as plain SVG text: no fonts, no renderer, no network.

mod axis;
mod bars;
mod chart;
mod command;
mod document;
mod series;

pub use axis::number;
pub use bars::{BarChart, BarGroup, write_bars};
pub use chart::{Chart, Line, Point};
pub use command::{PlotArgs, run, write_figure};
pub use document::{Sheet, write_sheet};
pub use series::{Better, front};
