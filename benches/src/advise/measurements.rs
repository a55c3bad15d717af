//! What was measured of presets: L and pages at a recall. `run-bench reproduce` writes such a file.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

const EMBEDDED: &str = include_str!("measured.toml");

/// Measurements of presets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    /// One a preset, set and recall.
    #[serde(default, rename = "point")]
    pub points: Vec<Measurement>,
}

/// What a preset took to reach a recall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The preset.
    pub preset: String,
    /// The data set.
    pub set: String,
    /// Its dimension.
    pub dim: u32,
    /// Its rows.
    pub rows: u64,
    /// The recall@10.
    pub recall: f64,
    /// The list length that reached it.
    pub list: u32,
    /// Pages read a query.
    pub pages: f64,
}

impl Measurements {
    /// Those of a file, or those that are compiled in.
    ///
    /// # Errors
    /// The file cannot be read or is no such file.
    pub fn load(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return toml::from_str(EMBEDDED).context("the compiled-in measurements do not parse");
        };
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{}: not a file of measurements", path.display()))
    }

    /// The file.
    ///
    /// # Errors
    /// Never, of numbers and names.
    pub fn to_toml(&self) -> Result<String> {
        let text = toml::to_string(self).context("measurements as TOML")?;
        Ok(format!(
            "# L and pages a query at a recall@10, as `run-bench reproduce` has measured them.\n{text}"
        ))
    }

    /// The measurement that comes nearest: of this preset, at this recall or the next above, on the set whose dimension
    /// and then whose size is most alike.
    pub fn nearest(&self, preset: &str, recall: f64, dim: u32, rows: u64) -> Option<&Measurement> {
        let unlike = |a: f64, b: f64| (a / b).ln().abs();
        let key = |point: &Measurement| {
            let size = unlike(point.rows as f64, rows as f64);
            (unlike(f64::from(point.dim), f64::from(dim)), size, point.recall)
        };
        let of_preset = self.points.iter().filter(|point| point.preset == preset && point.recall >= recall);
        of_preset.min_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn the_compiled_in_measurements_are_of_presets() {
        let measured = Measurements::load(None).unwrap();
        for point in &measured.points {
            assert!(Preset::load(&point.preset).is_ok(), "{}", point.preset);
            assert!((0.5..1.0).contains(&point.recall) && point.pages > 0.0 && point.list >= 10, "{point:?}");
        }
        assert!(measured.nearest("baseline", 0.9, 128, 1_000_000).is_some());
    }

    #[test]
    fn the_most_alike_is_taken() {
        let point = |set: &str, dim, rows, recall| Measurement {
            preset: "grip".into(),
            set: set.into(),
            dim,
            rows,
            recall,
            list: 20,
            pages: 30.0,
        };
        let all = Measurements {
            points: vec![
                point("a", 128, 1000, 0.95),
                point("b", 128, 1_000_000, 0.99),
                point("b", 128, 1_000_000, 0.90),
                point("b", 128, 1_000_000, 0.95),
                point("c", 960, 1_000_000, 0.95),
            ],
        };
        let found =
            |recall, dim| all.nearest("grip", recall, dim, 900_000).map(|p| (p.set.as_str(), p.recall));
        assert_eq!(found(0.93, 100), Some(("b", 0.95)));
        assert_eq!(found(0.93, 768), Some(("c", 0.95)));
        assert_eq!(found(0.999, 100), None);
        assert_eq!(all.nearest("c1", 0.9, 128, 1), None);
        assert_eq!(toml::from_str::<Measurements>(&all.to_toml().unwrap()).unwrap(), all);
    }
}
