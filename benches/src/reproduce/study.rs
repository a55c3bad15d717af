//! Experiment files of the design-space study.
//!
//! ```toml
//! id = "io-fig22"
//! title = "Figure 22: what each step of OctopusANN gives"
//! about = "..."
//! sets = ["SIFT"]              # the paper's names; `sets.toml` says what stands for them
//! k = 10                       # default 10
//! lists = [10, 20, 40, 80]
//! recalls = [0.90, 0.95]       # where variants are compared; or `at_lists = [40]`
//! alone = false                # one query at a time on a core, instead of many
//! shared = true                # variants may share an index that has more than they need
//! measures = ["qps", "pages"]  # columns of the table
//! curves = false               # recall against throughput, latency and reads, a figure a set
//! bars = ["qps"]               # a bar chart a measure
//! model = false                # fit the I/O model
//!
//! [[variant]]
//! name = "Baseline"
//! preset = "baseline"
//! lists = [10, 20]             # optional, in place of the study's
//! [variant.build]              # values in place of the preset's
//! [variant.search]
//!
//! [[paper]]                    # the paper's own numbers, one for each of `sets`
//! measure = "pages"
//! at = { recall = 0.90 }       # optional
//! relative = true              # ratios to the first variant, not values
//! values = { Baseline = [1.0], OctopusANN = [0.36] }
//!
//! [[claim]]                    # see claim.rs
//! ```

use super::claim::Claim;
use super::matched::At;
use super::measure::Measure;
use crate::preset::{Preset, Recipe, System};
use crate::run_bench::Section;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// An experiment of the study.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What it is asked for by.
    pub id: String,
    /// One line for the reader.
    pub title: String,
    /// What is done, and how it differs from the paper's.
    pub about: String,
    /// Sets by the paper's names.
    pub sets: Vec<String>,
    /// Neighbours asked for.
    #[serde(default = "ten")]
    pub k: u32,
    /// Candidate list lengths.
    pub lists: Vec<u32>,
    /// Recalls at which variants are compared.
    #[serde(default)]
    pub recalls: Vec<f64>,
    /// List lengths at which variants are compared.
    #[serde(default)]
    pub at_lists: Vec<u32>,
    /// One query at a time on a core.
    #[serde(default)]
    pub alone: bool,
    /// Whether variants may share an index that has more than they need.
    #[serde(default = "yes")]
    pub shared: bool,
    /// Columns of the table.
    pub measures: Vec<Measure>,
    /// Whether curves over recall are drawn.
    #[serde(default)]
    pub curves: bool,
    /// Measures drawn as bars.
    #[serde(default)]
    pub bars: Vec<Measure>,
    /// Whether the I/O model is fitted.
    #[serde(default)]
    pub model: bool,
    /// What is measured.
    #[serde(rename = "variant", deserialize_with = "variants")]
    pub variants: Vec<Variant>,
    /// The paper's numbers.
    #[serde(default, rename = "paper")]
    pub papers: Vec<Paper>,
    /// What must come out for the paper's findings to hold here.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// Numbers of the paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// What they measure.
    pub measure: Measure,
    /// Where they hold; everywhere if absent.
    pub at: Option<At>,
    /// Ratios to the first variant.
    #[serde(default)]
    pub relative: bool,
    /// For each variant, a value a set; NaN where the paper has none.
    pub values: BTreeMap<String, Vec<f64>>,
}

fn ten() -> u32 {
    10
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVariant {
    name: String,
    preset: String,
    lists: Option<Vec<u32>>,
    #[serde(default)]
    build: toml::Table,
    #[serde(default)]
    search: toml::Table,
}

/// A preset under the name it has in the experiment.
#[derive(Debug)]
pub struct Variant {
    /// The preset, with the variant's own search.
    pub preset: Preset,
    /// List lengths in place of the study's.
    pub lists: Option<Vec<u32>>,
    /// The name of the preset, if the variant changes nothing of it.
    pub plain: Option<String>,
    build: toml::Table,
}

impl Variant {
    fn new(raw: RawVariant) -> Result<Self> {
        let mut preset = Preset::load(&raw.preset)?;
        preset.read_search(Section::new("experiment", &format!("{}: search.", raw.name), &raw.search))?;
        preset.name = raw.name;
        let plain = (raw.build.is_empty() && raw.search.is_empty()).then_some(raw.preset);
        let variant = Self { preset, lists: raw.lists, plain, build: raw.build };
        let recipe = variant.recipe(&toml::Table::new())?;
        Preset { recipe, ..variant.preset.clone() }.check(&variant.preset.name)?;
        Ok(variant)
    }

    /// What it needs of an index over a set that has values of its own: they take the place of the preset's, and the
    /// variant's of both.
    ///
    /// # Errors
    /// A value is out of range.
    pub fn recipe(&self, set: &toml::Table) -> Result<Recipe> {
        let place = format!("{}: build.", self.preset.name);
        let recipe = self.preset.recipe.with(Section::new("sets.toml", "build.", set))?;
        recipe.with(Section::new("experiment", &place, &self.build))
    }
}

fn variants<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Variant>, D::Error> {
    let raw = Vec::<RawVariant>::deserialize(deserializer)?;
    raw.into_iter()
        .map(|raw| Variant::new(raw).map_err(|error| serde::de::Error::custom(format!("{error:#}"))))
        .collect()
}

impl Study {
    /// Reads and checks the text of an experiment file.
    ///
    /// # Errors
    /// It is not TOML, a key is unknown or missing, a value is out of range, or a name is not that of a variant.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let study: Self = toml::from_str(text).with_context(|| format!("{file}: not an experiment"))?;
        study.check().with_context(|| format!("{file}: not an experiment"))?;
        Ok(study)
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.variants.is_empty() && !self.sets.is_empty(), "no variants, or no sets");
        for variant in self.variants.iter().filter(|variant| variant.preset.recipe.system == System::Graph) {
            let lists = variant.lists.as_ref().unwrap_or(&self.lists);
            let short = lists.iter().find(|&&list| list < self.k);
            ensure!(short.is_none(), "found a list of {short:?}, expected at least k = {}", self.k);
        }
        ensure!(self.recalls.iter().all(|recall| (0.0..1.0).contains(recall)), "a recall is not below 1");
        let known = |name: &str| self.variants.iter().any(|variant| variant.preset.name == name);
        for (name, values) in self.papers.iter().flat_map(|paper| &paper.values) {
            ensure!(known(name), "the paper's numbers name `{name}`, which is no variant");
            ensure!(values.len() == self.sets.len(), "`{name}`: expected a value of the paper for each set");
        }
        for claim in &self.claims {
            claim.check(&self.sets).with_context(|| format!("claim `{}`", claim.says))?;
            for name in claim.variants() {
                ensure!(known(name), "claim `{}` names `{name}`, which is no variant", claim.says);
            }
        }
        Ok(())
    }

    /// Where variants are compared.
    pub fn places(&self) -> Vec<At> {
        let recalls = self.recalls.iter().map(|&recall| At::Recall(recall));
        recalls.chain(self.at_lists.iter().map(|&list| At::List(list))).collect()
    }

    /// The paper's number, and whether it is a ratio to the first variant.
    pub fn paper(&self, set: &str, variant: &str, measure: Measure, at: At) -> Option<(f64, bool)> {
        let place = self.sets.iter().position(|name| name == set)?;
        self.papers.iter().filter(|paper| paper.measure == measure).find_map(|paper| {
            let fits = paper.at.is_none_or(|given| given == at);
            let value = *paper.values.get(variant)?.get(place)?;
            (fits && value.is_finite()).then_some((value, paper.relative))
        })
    }
}
