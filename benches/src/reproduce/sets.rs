//! The vectors of an experiment: sets of the catalogue that stand for the paper's, or one's own.

use super::embedded::SETS;
use crate::dataset::{Catalogue, files_of, found_slices};
use crate::ground_truth::{Question, write_truth};
use crate::progress::Console;
use anyhow::{Context, Result, bail, ensure};
use gleann_vector::{GroundTruth, Metric, VectorFile};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Neighbours a query that a truth made here holds.
const TRUTH_K: usize = 100;

/// What stands for the paper's sets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stands {
    #[serde(rename = "set")]
    sets: Vec<Stand>,
}

/// What stands for one of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stand {
    /// The paper's name.
    pub paper: String,
    /// Sets of the catalogue, the usual one first.
    pub names: Vec<String>,
    /// Values in place of the presets', for all variants.
    #[serde(default)]
    pub build: toml::Table,
}

/// One's own vectors.
#[derive(Debug, Clone, clap::Args)]
pub struct OwnArgs {
    /// Your own vectors, in place of a data set
    #[arg(long, value_name = "FILE", requires = "query", conflicts_with = "dataset")]
    pub base: Option<PathBuf>,
    /// Their queries
    #[arg(long, value_name = "FILE", requires = "base")]
    pub query: Option<PathBuf>,
    /// Their exact neighbours; computed if not given
    #[arg(long, value_name = "FILE", requires = "base")]
    pub truth: Option<PathBuf>,
    /// How near two of your vectors are: l2, ip or cosine
    #[arg(long, default_value = "l2", requires = "base")]
    pub metric: Metric,
}

/// Vectors to measure on.
#[derive(Debug, Clone)]
pub struct Set {
    /// Its name in the catalogue, or `own`.
    pub name: String,
    /// The paper's set that it stands for.
    pub paper: Option<String>,
    /// Base vectors, all of them.
    pub base: PathBuf,
    /// Queries.
    pub query: PathBuf,
    /// Truths that are there, by number of base rows.
    truths: Vec<(u64, PathBuf)>,
    /// The metric.
    pub metric: Metric,
    /// Base rows there are.
    pub rows: u64,
    /// Values in place of the presets', for all variants.
    pub build: toml::Table,
}

impl Stands {
    /// The compiled-in list.
    ///
    /// # Errors
    /// It does not parse; a test rules this out for every build that passed.
    pub fn load() -> Result<Self> {
        toml::from_str(SETS).context("the compiled-in list of sets does not parse")
    }

    /// What stands for a set of the paper.
    #[cfg(test)]
    pub fn for_paper(&self, paper: &str) -> Option<&Stand> {
        self.sets.iter().find(|stand| stand.paper == paper)
    }

    /// The sets that were named; or, where none was, those of the usual ones that are there.
    ///
    /// # Errors
    /// A set that was named is unknown or not there, or none is there.
    pub fn choose(&self, named: &[String], dir: &Path) -> Result<Vec<Set>> {
        if !named.is_empty() {
            return named.iter().map(|name| self.open(name, dir)).collect();
        }
        let mut found = Vec::new();
        for stand in &self.sets {
            match self.open(&stand.names[0], dir) {
                Ok(set) => found.push(set),
                Err(error) => eprintln!("note: {} is left out: {error:#}", stand.paper),
            }
        }
        ensure!(
            !found.is_empty(),
            "no data set is there; name one with --dataset, or give --base and --query"
        );
        Ok(found)
    }

    fn open(&self, name: &str, dir: &Path) -> Result<Set> {
        let catalogue = Catalogue::load()?;
        let set = catalogue.find(name)?;
        let stand = self.sets.iter().find(|stand| stand.names.iter().any(|known| known == name));
        let slices = found_slices(set, dir);
        let Some(&rows) = slices.iter().max() else {
            bail!(
                "{} is not there; obtain it with `cargo xtask dataset get {name} --dir {}`, or say where it is with \
                 --data-dir",
                files_of(set, dir, set.rows).base.display(),
                dir.display()
            );
        };
        let files = files_of(set, dir, rows);
        let truths = slices.iter().map(|&rows| (rows, files_of(set, dir, rows).truth));
        Ok(Set {
            name: name.to_owned(),
            paper: stand.map(|stand| stand.paper.clone()),
            base: files.base,
            query: files.query,
            truths: truths.filter(|(_, path)| path.exists()).collect(),
            metric: files.metric,
            rows,
            build: stand.map(|stand| stand.build.clone()).unwrap_or_default(),
        })
    }
}

impl OwnArgs {
    /// One's own vectors, if they were given.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(&self) -> Result<Option<Set>> {
        let (Some(base), Some(query)) = (&self.base, &self.query) else { return Ok(None) };
        let rows = VectorFile::open(base)?.rows();
        Ok(Some(Set {
            name: base.file_stem().map_or_else(|| "own".into(), |stem| stem.to_string_lossy().into_owned()),
            paper: None,
            base: base.clone(),
            query: query.clone(),
            truths: self.truth.iter().map(|path| (rows, path.clone())).collect(),
            metric: self.metric,
            rows,
            build: toml::Table::new(),
        }))
    }
}

impl Set {
    /// The first `rows` of its vectors.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn source(&self, rows: u64) -> Result<VectorFile> {
        let base = VectorFile::open(&self.base)?;
        if rows == base.rows() { Ok(base) } else { Ok(base.slice(0, rows)?) }
    }

    /// Whether a truth of the first `rows` is there, in the set or in `folder`.
    pub fn has_truth(&self, rows: u64, folder: &Path) -> bool {
        self.truths.iter().any(|(known, _)| *known == rows) || folder.join("gt.bin").exists()
    }

    /// The exact neighbours among the first `rows`; found and kept in `folder` where they are not there.
    ///
    /// # Errors
    /// They cannot be read, found or written, or are fewer than `k`.
    pub fn truth(&self, rows: u64, k: u32, folder: &Path) -> Result<PathBuf> {
        let given = self.truths.iter().find(|(known, _)| *known == rows).map(|(_, path)| path.clone());
        let path = given.unwrap_or_else(|| folder.join("gt.bin"));
        if !path.exists() {
            println!("finding the exact neighbours of {} in {rows} rows …", self.query.display());
            let (base, query) = (self.source(rows)?, VectorFile::open(&self.query)?);
            let progress = Console::start(false);
            let question = Question { base: &base, query: &query, metric: self.metric, k: TRUTH_K };
            let written = write_truth(&question, &path, &progress);
            progress.end();
            written?;
        }
        let found = GroundTruth::read(&path)?.k;
        ensure!(found >= k as usize, "{}: {found} neighbours a query; expected {k}", path.display());
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stand_in_is_in_the_catalogue() {
        let (stands, catalogue) = (Stands::load().unwrap(), Catalogue::load().unwrap());
        assert_eq!(stands.sets.len(), 4);
        for stand in &stands.sets {
            assert!(!stand.names.is_empty());
            for name in &stand.names {
                assert!(catalogue.find(name).is_ok(), "{name}");
            }
        }
    }

    #[test]
    fn what_is_not_there_is_said_with_the_command_that_gets_it() {
        let (stands, folder) = (Stands::load().unwrap(), tempfile::tempdir().unwrap());
        let error = stands.choose(&["deep96".into()], folder.path()).unwrap_err().to_string();
        assert!(error.contains("dataset get deep96"), "{error}");
        let sets = stands.choose(&["sift-sample".into()], folder.path()).unwrap();
        assert_eq!((sets[0].paper.as_deref(), sets[0].rows), (Some("SIFT"), 20_000));
        assert!(sets[0].has_truth(20_000, folder.path()) && !sets[0].has_truth(500, folder.path()));
    }
}
