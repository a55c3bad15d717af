//! Figures in the style of the paper's: curves over recall, and bars.

use super::matched::value;
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
    for outcome in outcomes.iter().filter(|outcome| study.curves && !outcome.measured.rows.is_empty()) {
        let title = format!("{}: {}", study.title, outcome.set.name);
        for ending in ["svg", "html"] {
            let path = folder.join(format!("{}-{}.{ending}", study.id, outcome.set.name));
            write_figure(&outcome.measured.rows, &title, &path)?;
            files.push(path);
        }
    }
    for &measure in &study.bars {
        for (number, at) in study.places().into_iter().enumerate() {
            let groups: Vec<BarGroup> = outcomes
                .iter()
                .map(|outcome| BarGroup {
                    label: outcome.set.name.clone(),
                    values: study
                        .variants
                        .iter()
                        .map(|variant| value(&outcome.evidence().of(&variant.preset.name), measure, at))
                        .collect(),
                })
                .collect();
            if groups.iter().all(|group| group.values.iter().all(Option::is_none)) {
                continue;
            }
            let chart = BarChart {
                title: format!("{}, at {at}", study.title),
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
