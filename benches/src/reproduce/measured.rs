//! What `advise` goes by: pages and list lengths of presets at a recall, as they were measured.

use super::matched::{At, value};
use super::measure::Measure;
use super::report::Outcome;
use super::study::Study;
use crate::advise::{Measurement, Measurements};
use anyhow::{Context, Result};
use gleann_vector::VectorFile;
use std::collections::BTreeSet;
use std::path::Path;

/// Recalls that are noted.
const RECALLS: [f64; 5] = [0.80, 0.90, 0.95, 0.98, 0.99];

/// Writes the measurements of presets as they are, without a variant's own values; leaves the file as it is if there
/// are none.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, all: &[(Study, Vec<Outcome>)]) -> Result<()> {
    let mut measurements = Measurements::default();
    for (study, outcomes) in all.iter().filter(|(study, _)| study.k == 10 && !study.alone) {
        for outcome in outcomes {
            measurements.points.extend(points(study, outcome)?);
        }
    }
    let mut seen = BTreeSet::new();
    let key = |point: &Measurement| (point.preset.clone(), point.set.clone(), (1e4 * point.recall) as u32);
    measurements.points.retain(|point| seen.insert(key(point)));
    if measurements.points.is_empty() {
        return Ok(());
    }
    std::fs::write(path, measurements.to_toml()?).with_context(|| format!("cannot write {}", path.display()))
}

fn points(study: &Study, outcome: &Outcome) -> Result<Vec<Measurement>> {
    let mut found = Vec::new();
    let dim = VectorFile::open(&outcome.set.base)?.dim() as u32;
    for variant in &study.variants {
        let Some(name) = &variant.plain else { continue };
        let rows = outcome.evidence().of(&variant.preset.name);
        for recall in RECALLS {
            let at = |measure| value(&rows, measure, At::Recall(recall));
            let (Some(pages), Some(list)) = (at(Measure::Pages), at(Measure::List)) else { continue };
            found.push(Measurement {
                preset: name.clone(),
                set: outcome.set.name.clone(),
                dim,
                rows: outcome.scale.rows,
                recall,
                list: list.ceil() as u32,
                pages: (10.0 * pages).round() / 10.0,
            });
        }
    }
    Ok(found)
}
