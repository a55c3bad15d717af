//! Figures in the style of the paper's: curves over recall, and bars.

use super::matched::{At, value};
use super::measure::Measure;
use super::report::Outcome;
use super::study::Study;
use crate::plot::{BarChart, BarGroup, write_bars, write_figure};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Draws what the study asks for; returns the files.
///
/// # Errors
/// A file cannot be written.
pub fn draw(study: &Study, outcomes: &[Outcome], folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| study.curves && !outcome.rows.is_empty()) {
        let title = format!("{}: {}", study.title, outcome.set.name);
        for ending in ["svg", "html"] {
            let path = folder.join(format!("{}-{}.{ending}", study.id, outcome.set.name));
            write_figure(&outcome.rows, &title, &path)?;
            files.push(path);
        }
    }
    for &measure in &study.bars {
        for (number, at) in study.places().into_iter().enumerate() {
            let groups: Vec<BarGroup> =
                outcomes.iter().map(|outcome| group(study, outcome, (measure, at))).collect();
            if groups.iter().all(|group| group.values.iter().all(Option::is_none)) {
                continue;
            }
            let outlined = groups.iter().any(|group| group.paper.iter().any(Option::is_some));
            let legend = if outlined { "; outlines: the paper's ratios" } else { "" };
            let chart = BarChart {
                title: format!("{}, at {at}{legend}", study.title),
                y_title: measure.title().to_owned(),
                series: study.variants.iter().map(|variant| variant.preset.name.clone()).collect(),
                groups,
            };
            let name = measure.title().split([',', '/', ' ']).next().unwrap_or_default().to_lowercase();
            let path = folder.join(format!("{}-{name}-{}.svg", study.id, number + 1));
            write_bars(&chart, &path)?;
            files.push(path);
        }
    }
    Ok(files)
}

/// The bars of a set. The paper's ratios stand beside them, as multiples of our first bar; its values, which are of
/// another machine, do not.
fn group(study: &Study, outcome: &Outcome, (measure, at): (Measure, At)) -> BarGroup {
    let names = || study.variants.iter().map(|variant| variant.preset.name.as_str());
    let values: Vec<Option<f64>> =
        names().map(|name| value(&outcome.evidence().of(name), measure, at)).collect();
    let paper = names().map(|name| {
        let (ratio, relative) = study.paper(outcome.set.paper.as_ref()?, name, measure, at)?;
        relative.then_some(ratio * (*values.first()?)?)
    });
    let paper = paper.collect();
    BarGroup { label: outcome.set.name.clone(), values, paper }
}
