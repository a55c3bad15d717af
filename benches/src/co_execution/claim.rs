//! Claims: what must come out for a statement of the paper to hold here.
//!
//! ```toml
//! [[claim]]
//! says = "LIOS speeds up inserts"
//! place = { case = "beam, odin", arm = "LIOS", phase = "insert" }
//! measure = "speedup"
//! against = { case = "pipe, odin", arm = "LIOS", phase = "insert" }   # optional: the ratio to it, not the value itself
//! paper = "1.36 to 1.82 ×"      # what the paper has, in its words
//! holds = [1.4, 1e9]            # within these bounds it holds,
//! partly = [1.1, 1e9]           # within these it holds partly
//! ```

use super::line::Line;
use super::measure::Measure;
use super::study::Place;
use anyhow::{Result, ensure};
use serde::Deserialize;

/// A claim, and the bounds within which it holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In words.
    pub says: String,
    /// Where the value is.
    pub place: Place,
    /// What it is.
    pub measure: Measure,
    /// What it is divided by.
    pub against: Option<Place>,
    /// What the paper has.
    #[serde(default)]
    pub paper: String,
    /// Bounds within which it holds.
    pub holds: [f64; 2],
    /// Bounds within which it holds partly.
    pub partly: [f64; 2],
}

impl Claim {
    /// Holds it against its own form.
    ///
    /// # Errors
    /// Its bounds contradict each other.
    pub fn check(&self) -> Result<()> {
        let ([low, high], [partly_low, partly_high]) = (self.holds, self.partly);
        ensure!(low <= high && partly_low <= low && high <= partly_high, "`partly` must enclose `holds`");
        Ok(())
    }

    /// The places it names.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.place).chain(&self.against)
    }

    /// The value that the bounds are for, if it is known.
    pub fn value(&self, lines: &[Line]) -> Option<f64> {
        let of = |place: &Place| lines.iter().find(|line| line.place == *place)?.value(self.measure);
        let own = of(&self.place)?;
        match &self.against {
            None => Some(own),
            Some(other) => Some(own / of(other)?),
        }
    }
}
