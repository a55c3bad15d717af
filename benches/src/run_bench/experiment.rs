//! Experiment files: what is measured, over which values, and what recall is expected. Read once, checked
//! completely; everything after works on the validated form.
//!
//! ```toml
//! name = "beam-width"
//! about = "Throughput of BeamSearch as the beam grows"    # optional
//! index = "data/sift500k/index"                           # paths are relative to the current folder;
//! query = "data/sift500k/query.u8bin"                     # --index, --query, --truth and --out replace them
//! truth = "data/sift500k/gt.bin"
//! out = "results/beam-width.jsonl"                        # optional
//! k = 10                                                  # default 10
//! rounds = 3                                              # default 3
//!
//! [sweep]                                                 # every combination is measured
//! list = [10, 20, 40, 80]
//! search = ["beam", "pipe"]                               # default beam
//! width = [4, 8, "dynamic"]                               # default 4
//! entry = ["medoid", "memgraph"]                          # default medoid
//! expansion = ["record", "page:30"]                       # default record
//! stop = ["exhausted", "bound:10"]                        # default exhausted
//! cache = ["none", "sssp:64MiB"]                          # default none
//! threads = 0                                             # default 0: one per core
//! in_flight = [1, 8]                                      # default 8
//! engine = "glommio"                                      # default auto
//!
//! [[expect]]                                              # optional; fails the run when missed
//! width = 4                                               # any of search, width, list: rows it applies to
//! list = 40
//! recall = 0.936
//! tolerance = 0.003                                       # default 0.005; a shortfall beyond it is a miss
//! ```

use super::section::Section;
use crate::row::Row;
use crate::sweep::{OpenAxes, SearchAxes, SearchPoint, Sweep};
use anyhow::{Context, Result, ensure};
use gleann::{SearchKind, Width};
use std::path::{Path, PathBuf};

/// A validated experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Name, used for presets in result lines.
    pub name: String,
    /// One line for the reader of the output.
    pub about: Option<String>,
    /// Index folder, unless the command line gives it.
    pub index: Option<PathBuf>,
    /// Query vectors, unless the command line gives them.
    pub query: Option<PathBuf>,
    /// Exact neighbours, unless the command line gives them.
    pub truth: Option<PathBuf>,
    /// Where result lines go.
    pub out: Option<PathBuf>,
    /// Neighbours asked for.
    pub k: u32,
    /// Rounds the medians are taken over.
    pub rounds: u32,
    /// What is swept.
    pub sweep: Sweep,
    /// What must come out.
    pub expectations: Vec<Expectation>,
}

/// A recall that some rows must reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// Applies to this traversal, or to all.
    pub search: Option<SearchKind>,
    /// Applies to this width, or to all.
    pub width: Option<Width>,
    /// Applies to this list length, or to all.
    pub list: Option<u32>,
    /// The recall.
    pub recall: f64,
    /// The shortfall that is still accepted.
    pub tolerance: f64,
}

impl Expectation {
    /// Whether it speaks about this point.
    fn applies_to(&self, point: &SearchPoint) -> bool {
        self.search.is_none_or(|search| search == point.search)
            && self.width.is_none_or(|width| width == point.width)
            && self.list.is_none_or(|list| list == point.list)
    }

    /// What is wrong with `row`, if it is one of this expectation's and falls short.
    fn missed_by(&self, row: &Row) -> Option<String> {
        let missed = self.is_about(row) && row.recall < self.recall - self.tolerance;
        missed.then(|| {
            format!(
                "search {}, width {}, list {}: recall {:.4}, expected at least {:.4} (tolerance {})",
                row.search,
                row.width_name(),
                row.list,
                row.recall,
                self.recall,
                self.tolerance
            )
        })
    }

    fn is_about(&self, row: &Row) -> bool {
        let (Ok(search), Some(width)) = (row.search.parse(), row.width) else { return false };
        self.applies_to(&SearchPoint { search, width, list: row.list, ..SearchPoint::default() })
    }
}

/// Holds rows against what is expected of them.
///
/// # Errors
/// An expectation is missed, or no row is there to meet it; the message lists all of them.
pub fn hold_against(expectations: &[Expectation], rows: &[Row]) -> Result<()> {
    let mut complaints: Vec<String> = Vec::new();
    for (index, expectation) in expectations.iter().enumerate() {
        complaints.extend(rows.iter().filter_map(|row| expectation.missed_by(row)));
        if !rows.iter().any(|row| expectation.is_about(row)) {
            complaints.push(format!("expect[{index}]: no result to hold against it"));
        }
    }
    ensure!(complaints.is_empty(), "expectations missed:\n  {}", complaints.join("\n  "));
    Ok(())
}

const COUNTS: std::ops::RangeInclusive<u32> = 1..=100_000;

impl Experiment {
    /// Reads and checks an experiment file.
    ///
    /// # Errors
    /// The file cannot be read or is not TOML, or a key is unknown, missing or out of range: the message names
    /// file, key, what was found and what was expected.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read experiment {}", path.display()))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// The same on another index.
    pub fn on(self, index: PathBuf) -> Self {
        Self { index: Some(index), ..self }
    }

    fn parse(file: &str, text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().with_context(|| format!("{file}: not TOML"))?;
        let mut top = Section::new(file, "", &table);
        let path = |text: Option<String>| text.map(PathBuf::from);
        let experiment = Self {
            name: top
                .text("name")?
                .with_context(|| format!("{file}: key `name` is missing, expected text"))?,
            about: top.text("about")?,
            index: path(top.text("index")?),
            query: path(top.text("query")?),
            truth: path(top.text("truth")?),
            out: path(top.text("out")?),
            k: top.count("k", &COUNTS)?.unwrap_or(10),
            rounds: top.count("rounds", &(1..=1000))?.unwrap_or(3),
            sweep: sweep(&mut top)?,
            expectations: top.sections("expect")?.iter_mut().map(expectation).collect::<Result<_>>()?,
        };
        top.finish()?;
        experiment.check(file)?;
        Ok(experiment)
    }

    fn check(&self, file: &str) -> Result<()> {
        if let Some(list) = self.sweep.search.list.iter().find(|&&list| list < self.k) {
            anyhow::bail!("{file}: key `sweep.list`: found {list}, expected at least k = {}", self.k);
        }
        let points = self.sweep.search_points();
        for (index, expectation) in self.expectations.iter().enumerate() {
            ensure!(
                points.iter().any(|point| expectation.applies_to(point)),
                "{file}: key `expect[{index}]`: applies to no row, expected values that [sweep] holds"
            );
        }
        Ok(())
    }
}

fn sweep(top: &mut Section) -> Result<Sweep> {
    let mut section = top.section("sweep")?;
    let sweep = Sweep {
        open: OpenAxes::read(&mut section)?,
        search: SearchAxes::read(&mut section)?,
        ..Sweep::default()
    };
    section.finish()?;
    Ok(sweep)
}

fn expectation(section: &mut Section) -> Result<Expectation> {
    let recall = section.share("recall")?;
    let expectation = Expectation {
        search: section.parsed("search", str::parse)?.and_then(|values| values.first().copied()),
        width: section.parsed("width", str::parse)?.and_then(|values| values.first().copied()),
        list: section.count("list", &COUNTS)?,
        recall: recall.with_context(|| section.expected("recall", "nothing", "a number from 0 to 1"))?,
        tolerance: section.share("tolerance")?.unwrap_or(0.005),
    };
    section.finish()?;
    Ok(expectation)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = \"w\"\nindex = \"i\"\n[sweep]\nlist = [10, 20]\nwidth = [4, \"dynamic:2-8\"]\n\
                        search = \"pipe\"\n[[expect]]\nwidth = 4\nlist = 20\nrecall = 0.9\n";

    #[test]
    fn a_file_becomes_a_sweep() {
        let experiment = Experiment::parse("f.toml", GOOD).unwrap();
        assert_eq!(experiment.sweep.search.width, [Width::Fixed(4), Width::Dynamic { start: 2, max: 8 }]);
        assert_eq!(
            (experiment.k, experiment.rounds, experiment.sweep.search.search[0]),
            (10, 3, SearchKind::Pipe)
        );
        let points = experiment.sweep.search_points();
        let expected: Vec<bool> =
            points.iter().map(|point| experiment.expectations[0].applies_to(point)).collect();
        assert_eq!(expected, [false, true, false, false]);

        let row = |width: u32, list: u32, recall: f64| Row {
            search: "pipe".into(),
            width: Some(Width::Fixed(width)),
            list,
            recall,
            ..Row::default()
        };
        let hold =
            |rows: &[Row]| hold_against(&experiment.expectations, rows).map_err(|error| error.to_string());
        assert_eq!(hold(&[row(4, 20, 0.896), row(4, 10, 0.1)]), Ok(()));
        assert!(hold(&[row(4, 20, 0.894)]).unwrap_err().contains("recall 0.8940, expected at least 0.9000"));
        assert!(hold(&[row(8, 20, 0.99)]).unwrap_err().contains("expect[0]: no result"));
    }

    #[test]
    fn the_experiments_of_the_repository_are_valid() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let experiment = Experiment::read(&path).unwrap();
            assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(experiment.name.as_str()));
            assert!(experiment.about.is_some() && experiment.out.is_some(), "{}", path.display());
            names.push(experiment.name);
        }
        assert!(names.iter().any(|name| name == "sift-sample"), "{names:?}");
    }

    #[test]
    fn mistakes_name_file_key_found_and_expected() {
        for (from, to, parts) in [
            ("name = \"w\"", "", vec!["`name`", "missing"]),
            ("name = \"w\"", "name = 3", vec!["`name`", "found 3", "expected text"]),
            ("index", "indexx", vec!["`indexx`", "unknown", "`index`"]),
            ("[10, 20]", "[5]", vec!["`sweep.list`", "found 5", "k = 10"]),
            ("[10, 20]", "[]", vec!["`sweep.list`", "at least one"]),
            ("[10, 20]", "[10, -1]", vec!["`sweep.list[1]`", "found -1", "1 to 100000"]),
            ("[10, 20]", "\"ten\"", vec!["`sweep.list`", "found \"ten\""]),
            ("dynamic:2-8", "wide", vec!["`sweep.width[1]`", "found \"wide\"", "START-MAX"]),
            ("\"pipe\"", "\"pipe\"\nentry = \"door\"", vec!["`sweep.entry`", "found \"door\"", "`medoid`"]),
            ("\"pipe\"", "\"best\"", vec!["`sweep.search`", "found \"best\"", "beam or pipe"]),
            ("list = 20", "list = 30", vec!["`expect[0]`", "applies to no row"]),
            ("recall = 0.9", "recall = 90", vec!["`expect[0].recall`", "found 90", "0 to 1"]),
            ("recall = 0.9", "tolerance = 0.1", vec!["`expect[0].recall`", "found nothing"]),
            ("[sweep]", "[sweep", vec!["not TOML"]),
            ("list = [10, 20]", "lists = [10]", vec!["`sweep.lists`", "unknown"]),
        ] {
            let error = format!("{:#}", Experiment::parse("f.toml", &GOOD.replace(from, to)).unwrap_err());
            for part in parts.iter().chain(&["f.toml"]) {
                assert!(error.contains(part), "{to}: {error}");
            }
        }
    }
}
