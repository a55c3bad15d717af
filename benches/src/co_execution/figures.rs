//! Pictures in the style of the paper's: bars (its Figures 2, 3, 9 to 11), distributions (5 to 7), a trace of the tuner (8).

use super::line::Line;
use super::measure::Measure;
use super::study::{Figure, Place, Study};
use crate::live::{Histogram, LiveRow, POWERS, SHARE, distribution};
use crate::plot::{BarChart, BarGroup, Chart, Line as Curve, Point, Sheet, number, write_bars, write_sheet};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Draws what the study asks for; returns the files.
///
/// # Errors
/// A file cannot be written.
pub fn draw(study: &Study, lines: &[Line], folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for figure in &study.figures {
        match figure {
            Figure::Bars { measure } => files.extend(bars(study, lines, *measure, folder)?),
            Figure::Distributions => {
                let charts = [
                    histograms(lines, "Wait of searches per hop", |row| &row.searches.idle_per_hop),
                    histograms(lines, "Time of a change, from call to answer", |row| {
                        &row.updates.update_time
                    }),
                ];
                files.extend(sheet(study, ("distributions", labels(lines)), charts.into(), folder)?);
            }
            Figure::Quarters => {
                let named = ["first quarter", "second", "third", "fourth", "all of it"].map(str::to_owned);
                files.extend(sheet(study, ("quarters", named.into()), quarters(lines), folder)?);
            }
            Figure::Trace => {
                let traced: Vec<&Line> = lines.iter().filter(|line| !line.trace().is_empty()).collect();
                let named = traced.iter().map(|line| label(line)).collect();
                files.extend(sheet(study, ("trace", named), trace(&traced), folder)?);
            }
        }
    }
    Ok(files)
}

/// Bars by case and arm, a picture a phase, with the paper's as outlines.
fn bars(study: &Study, lines: &[Line], measure: Measure, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut series: Vec<String> = Vec::new();
    for arm in study.cases.iter().flat_map(|case| &case.arms) {
        if !series.contains(&arm.name) {
            series.push(arm.name.clone());
        }
    }
    let mut files = Vec::new();
    for phase in &study.phases {
        let groups = study.cases.iter().map(|case| {
            let of = |arm: &String| {
                let place = Place { case: case.name.clone(), arm: arm.clone(), phase: phase.clone() };
                let line = lines.iter().find(|line| line.place == place)?;
                Some((line.value(measure), study.paper(&place, measure)))
            };
            let (values, paper) = series.iter().map(|arm| of(arm).unwrap_or_default()).unzip();
            BarGroup { label: case.name.clone(), values, paper }
        });
        let groups: Vec<BarGroup> = groups.collect();
        if groups.iter().all(|group| group.values.iter().all(Option::is_none)) {
            continue;
        }
        let outlined = groups.iter().any(|group| group.paper.iter().any(Option::is_some));
        let legend = if outlined { "; outlines: the paper's" } else { "" };
        let chart = BarChart {
            title: format!("{}, {phase}{legend}", study.title),
            y_title: measure.title().to_owned(),
            series: series.clone(),
            groups,
        };
        let name: String = measure.title().chars().filter(char::is_ascii_alphanumeric).collect();
        let path = folder.join(format!("{}-{}-{phase}.svg", study.id, name.to_lowercase()));
        write_bars(&chart, &path)?;
        files.push(path);
    }
    Ok(files)
}

fn label(line: &Line) -> String {
    format!("{}, {}, {}", line.place.case, line.place.arm, line.place.phase)
}

fn labels(lines: &[Line]) -> Vec<String> {
    lines.iter().map(label).collect()
}

/// A distribution for every line that has one.
fn histograms(lines: &[Line], title: &str, of: fn(&LiveRow) -> &Histogram) -> Chart {
    let curves = lines.iter().enumerate().filter_map(|(series, line)| {
        let points = distribution(of(line.measured()?), &label(line));
        (!points.is_empty()).then_some(Curve { series, dashed: false, points })
    });
    Chart::linear((title, SHARE, POWERS), curves.collect())
}

/// For every line a chart of its quarters and the whole.
fn quarters(lines: &[Line]) -> Vec<Chart> {
    let charts = lines.iter().filter_map(|line| {
        let searches = &line.measured()?.searches;
        let all = searches.idle_per_hop_quarters.iter().chain([&searches.idle_per_hop]);
        let curves = all.enumerate().map(|(series, histogram)| Curve {
            series,
            dashed: series == 4,
            points: distribution(histogram, &label(line)),
        });
        let curves: Vec<Curve> = curves.filter(|curve| !curve.points.is_empty()).collect();
        let title = format!("Wait per hop: {}", label(line));
        (!curves.is_empty()).then(|| Chart::linear((&title, SHARE, POWERS), curves))
    });
    charts.collect()
}

/// The share of the budgets, and the growth of latency, over time.
fn trace(lines: &[&Line]) -> Vec<Chart> {
    let curve = |value: fn(&gleann_sim::TracePart) -> f64| {
        let curves = lines.iter().enumerate().map(|(series, line)| {
            let points = line.trace().iter().map(|part| Point {
                x: part.at,
                y: value(part),
                tip: format!(
                    "{}\nsecond {:.1}, {}\n{}",
                    label(line),
                    part.at,
                    part.state,
                    number(value(part))
                ),
            });
            Curve { series, dashed: false, points: points.collect() }
        });
        curves.collect::<Vec<_>>()
    };
    vec![
        Chart::linear(
            ("Utilisation of the budgets", "%", "seconds"),
            curve(|part| 100.0 * f64::from(part.utilisation)),
        ),
        Chart::linear(("Latency above its baseline", "%", "seconds"), curve(|part| 100.0 * part.degradation)),
    ]
}

fn sheet(
    study: &Study,
    (name, labels): (&str, Vec<String>),
    charts: Vec<Chart>,
    folder: &Path,
) -> Result<Option<PathBuf>> {
    let charts: Vec<Chart> = charts.into_iter().filter(|chart| !chart.lines.is_empty()).collect();
    if charts.is_empty() {
        return Ok(None);
    }
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let path = folder.join(format!("{}-{name}.svg", study.id));
    write_sheet(Sheet { title: &study.title, shared: "", labels: &labels, charts: &charts }, &path)?;
    Ok(Some(path))
}
