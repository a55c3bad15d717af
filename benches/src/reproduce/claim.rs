//! Claims: what must come out for a finding of the paper to hold here.
//!
//! ```toml
//! [[claim]]
//! finding = 3
//! says = "MemGraph reads fewer pages"
//! variant = "MemGraph"
//! against = "Baseline"          # the ratio to it; without, the value itself
//! measure = "pages"
//! at = { recall = 0.95 }
//! paper = "0.81"                # what the paper has, in its words
//! holds = [0.0, 0.9]            # within these bounds it holds,
//! partly = [0.0, 0.98]          # within these it holds partly
//! sets = ["SIFT"]               # optional: on these sets only
//! ```
//! `correlate = ["latency", "pages"]` instead of a variant takes the correlation of two measures over all points;
//! `fit = "NAME"` takes the R² of a fit of the I/O model.

use super::matched::{At, value};
use super::measure::Measure;
use super::model::{Fit, correlation};
use crate::row::Row;
use anyhow::{Result, ensure};
use serde::Deserialize;

/// A claim of the paper, and the bounds within which it holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The finding it belongs to; 0 for those of the text.
    #[serde(default)]
    pub finding: u32,
    /// The claim in words.
    pub says: String,
    /// What is judged.
    pub variant: Option<String>,
    /// What it is compared with.
    pub against: Option<String>,
    /// Of what.
    pub measure: Option<Measure>,
    /// Where.
    pub at: Option<At>,
    /// Two measures whose correlation is judged.
    pub correlate: Option<[Measure; 2]>,
    /// A fit of the I/O model whose R² is judged.
    pub fit: Option<String>,
    /// What the paper has.
    #[serde(default)]
    pub paper: String,
    /// Bounds within which it holds.
    pub holds: [f64; 2],
    /// Bounds within which it holds partly.
    pub partly: [f64; 2],
    /// Sets it speaks of, by the paper's names; all if empty.
    #[serde(default)]
    pub sets: Vec<String>,
}

/// What was measured on one set.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Medians, all variants.
    pub rows: &'a [Row],
    /// Fits of the I/O model.
    pub fits: &'a [Fit],
}

impl<'a> Evidence<'a> {
    /// The rows of a variant.
    pub fn of(&self, variant: &str) -> Vec<&'a Row> {
        self.rows.iter().filter(|row| row.preset == variant).collect()
    }
}

impl Claim {
    /// Holds the claim against its own form.
    ///
    /// # Errors
    /// It names no value, or more than one, or its bounds contradict each other.
    pub fn check(&self, sets: &[String]) -> Result<()> {
        let compares = self.variant.is_some() && self.measure.is_some() && self.at.is_some();
        let forms = [compares, self.correlate.is_some(), self.fit.is_some()];
        ensure!(
            forms.iter().filter(|&&form| form).count() == 1,
            "expected one of: variant, measure and at; correlate; fit"
        );
        let ([low, high], [partly_low, partly_high]) = (self.holds, self.partly);
        ensure!(low <= high && partly_low <= low && high <= partly_high, "`partly` must enclose `holds`");
        ensure!((1..=12).contains(&self.finding) || self.finding == 0, "findings are 1 to 12, or 0");
        ensure!(self.sets.iter().all(|set| sets.contains(set)), "a set that the experiment has not");
        Ok(())
    }

    /// The variants it names.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.variant.iter().chain(&self.against).map(String::as_str)
    }

    /// Whether it speaks of a set that stands for `paper`; of the user's own sets unless it names sets.
    pub fn speaks_of(&self, paper: Option<&str>) -> bool {
        self.sets.is_empty() || paper.is_some_and(|paper| self.sets.iter().any(|set| set == paper))
    }

    /// The value that the bounds are for, if it was measured.
    pub fn value(&self, evidence: Evidence) -> Option<f64> {
        if let Some(name) = &self.fit {
            return evidence.fits.iter().find(|fit| fit.name == *name).map(|fit| fit.r_squared);
        }
        if let Some([a, b]) = self.correlate {
            let pairs: Vec<(f64, f64)> =
                evidence.rows.iter().filter_map(|row| Some((a.of(row)?.ln(), b.of(row)?.ln()))).collect();
            return correlation(&pairs);
        }
        let (measure, at) = (self.measure?, self.at?);
        let found = value(&evidence.of(self.variant.as_ref()?), measure, at)?;
        match &self.against {
            None => Some(found),
            Some(other) => Some(found / value(&evidence.of(other), measure, at)?),
        }
    }
}
