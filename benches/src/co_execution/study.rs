//! Experiment files of the study of LIOS.
//!
//! ```toml
//! id = "lios-exp5"
//! title = "Experiment 5: θ"
//! about = "..."
//! phases = ["delete", "insert"]            # this is the default
//! measures = ["speedup", "mean", "p99"]    # columns of the table
//!
//! [[case]]
//! name = "beam, odin"
//! measured = "--backend odin --threads 1/1 --in-flight 1"   # flags of `run-bench updates`
//! degree = 64                                               # R of the index; 64 is the default
//! [[case.arm]]                                              # the first one is what the others are held against
//! name = "off"
//! flags = ""
//! [[case.arm]]
//! name = "5 %"
//! flags = "--lios 5%"
//!
//! [[case]]
//! name = "28/4"
//! simulated = "--threads 28/4 --degree 32"                  # flags of `run-bench simulate`
//! costs = "paper-testbed-b"                                 # or `this-machine`, the default; or
//! derived_from = "beam, odin"                               # from the first arm of a measured case,
//! device = "paper-testbed-b"                                # on the SSD of those costs
//!
//! [[paper]]                                                 # the paper's own numbers
//! case = "28/4"
//! arm = "LIOS"
//! phase = "delete"
//! values = { speedup = 2.23 }
//!
//! [[claim]]                                                 # see claim.rs
//!
//! [[figure]]
//! kind = "bars"                                             # or distributions, quarters, trace
//! measure = "speedup"
//! ```

use super::case::{Case, RawCase};
use super::claim::Claim;
use super::measure::Measure;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// An experiment of the study.
#[derive(Debug)]
pub struct Study {
    /// What it is asked for by.
    pub id: String,
    /// One line for the reader.
    pub title: String,
    /// What is done, and how it differs from the paper's.
    pub about: String,
    /// Phases that tables speak of.
    pub phases: Vec<String>,
    /// Columns of the table.
    pub measures: Vec<Measure>,
    /// What is run.
    pub cases: Vec<Case>,
    /// The paper's numbers.
    pub papers: Vec<Paper>,
    /// What must come out for the paper's statements to hold here.
    pub claims: Vec<Claim>,
    /// What is drawn.
    pub figures: Vec<Figure>,
}

/// The form of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: String,
    title: String,
    about: String,
    #[serde(default = "with_updates")]
    phases: Vec<String>,
    measures: Vec<Measure>,
    #[serde(rename = "case")]
    cases: Vec<RawCase>,
    #[serde(default, rename = "paper")]
    papers: Vec<Paper>,
    #[serde(default, rename = "claim")]
    claims: Vec<Claim>,
    #[serde(default, rename = "figure")]
    figures: Vec<Figure>,
}

fn with_updates() -> Vec<String> {
    vec!["delete".to_owned(), "insert".to_owned()]
}

/// Where a value is found: an arm of a case in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Name of the case.
    pub case: String,
    /// Name of the arm.
    pub arm: String,
    /// Name of the phase.
    pub phase: String,
}

/// Numbers of the paper.
#[derive(Debug, Deserialize)]
pub struct Paper {
    /// Where they belong.
    #[serde(flatten)]
    pub place: Place,
    /// The numbers.
    pub values: BTreeMap<Measure, f64>,
}

/// A picture.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Figure {
    /// Bars by case and arm, one picture for each phase.
    Bars {
        /// What they show.
        measure: Measure,
    },
    /// Distributions of the wait per hop, with and without LIOS, and of the time of a change.
    Distributions,
    /// Distributions of the wait per hop in each quarter of a phase, and in all of it.
    Quarters,
    /// Share of the budgets that is used, and growth of latency, over time.
    Trace,
}

impl Study {
    /// Reads and checks the text of an experiment file.
    ///
    /// # Errors
    /// It is not TOML, a key is unknown or missing, flags are wrong, or a name is that of nothing.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let study = || -> Result<Self> {
            let raw: Raw = toml::from_str(text)?;
            let cases = raw.cases.into_iter().map(Case::new).collect::<Result<_>>()?;
            let Raw { id, title, about, phases, measures, papers, claims, figures, .. } = raw;
            let study = Self { id, title, about, phases, measures, cases, papers, claims, figures };
            study.check()?;
            Ok(study)
        };
        study().with_context(|| format!("{file}: not an experiment"))
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.cases.is_empty() && !self.measures.is_empty(), "no cases, or no measures");
        for (at, case) in self.cases.iter().enumerate() {
            ensure!(
                self.cases[..at].iter().all(|other| other.name != case.name),
                "case `{}` twice",
                case.name
            );
            if let Some(source) = case.derived_from() {
                let found = self.cases[..at].iter().any(|other| other.name == source && other.is_measured());
                ensure!(
                    found,
                    "case `{}` is derived from `{source}`; expected a measured case before it",
                    case.name
                );
            }
        }
        for paper in &self.papers {
            self.known(&paper.place).context("the paper's numbers")?;
        }
        for claim in &self.claims {
            claim
                .check()
                .and_then(|()| claim.places().try_for_each(|place| self.known(place)))
                .with_context(|| format!("claim `{}`", claim.says))?;
        }
        Ok(())
    }

    /// Makes sure that a place is one of this study.
    fn known(&self, place: &Place) -> Result<()> {
        let case = self.cases.iter().find(|case| case.name == place.case);
        let case = case.with_context(|| format!("`{}` is no case", place.case))?;
        ensure!(
            case.arms.iter().any(|arm| arm.name == place.arm),
            "`{}` is no arm of `{}`",
            place.arm,
            place.case
        );
        ensure!(
            ["idle", "delete", "insert"].contains(&place.phase.as_str()),
            "`{}` is no phase",
            place.phase
        );
        Ok(())
    }

    /// The paper's number.
    pub fn paper(&self, place: &Place, measure: Measure) -> Option<f64> {
        self.papers
            .iter()
            .filter(|paper| paper.place == *place)
            .find_map(|paper| paper.values.get(&measure).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
id = "x"
title = "X"
about = "An example."
measures = ["speedup"]
[[case]]
name = "a"
measured = "--backend odin --threads 1/1"
[[case.arm]]
name = "off"
flags = ""
[[case.arm]]
name = "on"
flags = "--lios 5%"
[[paper]]
case = "a"
arm = "on"
phase = "insert"
values = { speedup = 2.0 }
[[claim]]
says = "faster"
place = { case = "a", arm = "on", phase = "insert" }
measure = "speedup"
holds = [1.5, 1e9]
partly = [1.0, 1e9]
[[figure]]
kind = "bars"
measure = "speedup"
"#;

    #[test]
    fn what_is_named_must_be_there() {
        let study = Study::parse("x.toml", GOOD).unwrap();
        let place = Place { case: "a".into(), arm: "on".into(), phase: "insert".into() };
        assert_eq!(study.paper(&place, Measure::Speedup), Some(2.0));
        assert_eq!(study.phases, ["delete", "insert"]);
        for (right, wrong, named) in [
            ("arm = \"on\"\nphase", "arm = \"of\"\nphase", "no arm of `a`"),
            ("flags = \"--lios 5%\"", "flags = \"--lios five\"", "expected off, or a share"),
            ("measured = \"--backend odin", "measured = \"--backend wal", "x.toml"),
            ("holds = [1.5, 1e9]", "holds = [0.5, 1e9]", "must enclose"),
            ("phase = \"insert\"\nvalues", "phase = \"merge\"\nvalues", "no phase"),
            ("name = \"a\"", "name = \"a\"\nderived_from = \"b\"", "simulated"),
            ("kind = \"bars\"", "kind = \"pie\"", "pie"),
        ] {
            assert!(GOOD.contains(right), "{right}");
            let error = format!("{:#}", Study::parse("x.toml", &GOOD.replace(right, wrong)).unwrap_err());
            assert!(error.contains(named), "{wrong}: {error}");
        }
    }
}
