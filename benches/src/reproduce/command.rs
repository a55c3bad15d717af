//! Arguments of `run-bench reproduce`, and its course.

use super::embedded::find;
use super::plan::{Extent, Wish, scale};
use super::points::{Settings, measure_set, recipes};
use super::report::{Outcome, findings, markdown};
use super::sets::{OwnArgs, Set, Stands};
use super::store::Store;
use super::study::Study;
use super::{figures, model};
use crate::co_execution;
use crate::row::Row;
use crate::run_bench::positive;
use anyhow::{Context, Result, anyhow, bail, ensure};
use gleann::{MAX_IN_FLIGHT, parse_bytes};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Seconds of a round of a point.
const POINT_SECONDS: f64 = 1.0;
/// Searches that a core interleaves.
const IN_FLIGHT: u32 = 16;
/// How the names of experiments of the study of LIOS begin.
const LIOS: &str = "lios";
/// Where the others leave what they make.
const IO_WORK: &str = "results/io";

/// Arguments of `run-bench reproduce`.
#[derive(Debug, Clone, clap::Args)]
pub struct ReproduceArgs {
    /// Experiment: io-fig2, io-model, io-table4, io-fig10, io-fig11 (with 12 to 14), io-table5, io-table6, io-fig15,
    /// io-fig16 (with 17 and 18), io-table7, io-fig19, io-fig20, io-fig21, io-fig22, io-fig23, or all; of the study of LIOS lios-fig2, lios-fig3, lios-fig5, lios-fig6,
    /// lios-exp1 to lios-exp10, lios-budgets, lios-free, lios-crowd, lios-open, lios-others, or lios-all
    pub id: String,
    /// Data sets of the catalogue; those of the study that are in --data-dir if none is named
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    dataset: Vec<String>,
    /// Folder of the data sets, as `dataset get --dir` fills it
    #[arg(long, default_value = "data", value_name = "DIR")]
    data_dir: PathBuf,
    #[command(flatten)]
    own: OwnArgs,
    /// Take the first N rows of every set
    #[arg(long, value_name = "N")]
    pub rows: Option<u64>,
    /// Ask the first N queries of every set only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    queries: Option<u32>,
    /// Time for all of it, such as 30min or 2h: rows, rounds and list lengths are scaled down to fit
    #[arg(long, value_parser = parse_time)]
    pub time: Option<f64>,
    /// Rounds; medians are reported
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Seconds that a round of a point takes, about [default: 1]
    #[arg(long, value_parser = positive)]
    seconds: Option<f64>,
    /// Threads; 0 is one per core [default: 0]
    #[arg(long)]
    threads: Option<u32>,
    /// Searches a core interleaves, where the experiment asks for many at a time [default: 16]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MAX_IN_FLIGHT as i64))]
    in_flight: Option<u32>,
    /// Most memory a build may take
    #[arg(long, default_value = "8GiB", value_parser = parse_bytes)]
    pub memory_budget: u64,
    /// Folder of indexes, points and figures; what is there is not made again [default: results/io, or results/lios]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Measure even if reads go through the page cache
    #[arg(long)]
    pub allow_buffered: bool,
    /// A copy of docs/REPRODUCTION.md whose sections of these experiments are filled
    #[arg(long, value_name = "FILE")]
    pub fill: Option<PathBuf>,
}

/// Runs the experiments: prints tables and verdicts, writes figures and Markdown into the work folder.
///
/// # Errors
/// An experiment or a data set is unknown or not there, or something cannot be built, measured or written.
pub fn run(args: ReproduceArgs) -> Result<()> {
    if args.id.starts_with(LIOS) {
        return co_execution::run(&args);
    }
    let studies = find(&args.id)
        .map_err(|error| anyhow!("{error}; and those of the study of LIOS: lios-all, lios-exp1, …"))?;
    let work = args.work_or(IO_WORK);
    let sets = match args.own.open()? {
        Some(own) => vec![own],
        None => Stands::load()?.choose(&args.dataset, &args.data_dir)?,
    };
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make folder {}", work.display()))?;
    let mut store = Store::open(&work, "points.jsonl")?;
    let pairs: usize = studies.iter().map(|study| of_study(study, &sets).count()).sum();
    let mut all = Vec::new();
    for study in studies {
        println!("── {}: {}\n", study.id, study.title);
        let mut outcomes = Vec::new();
        for set in of_study(&study, &sets) {
            outcomes.push(outcome(&args, &study, (set, pairs), &mut store)?);
        }
        tell(&args, &study, &outcomes)?;
        all.push((study, outcomes));
    }
    let findings = findings(&all);
    println!("{findings}");
    write(&work.join("findings.md"), &findings)?;
    super::measured::write(&work.join("measured.toml"), &all)
}

impl ReproduceArgs {
    /// Where indexes, points and figures go.
    pub fn work_or(&self, default: &str) -> PathBuf {
        self.work.clone().unwrap_or_else(|| PathBuf::from(default))
    }

    /// Makes sure that nothing is asked for that experiments of the study of LIOS say by themselves.
    ///
    /// # Errors
    /// Something is.
    pub fn refuse_those_of_points(&self) -> Result<()> {
        let given = [
            ("--queries", self.queries.is_some()),
            ("--seconds", self.seconds.is_some()),
            ("--threads", self.threads.is_some()),
            ("--in-flight", self.in_flight.is_some()),
            ("--truth", self.own.truth.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => bail!(
                "{name}: `{}` names its own threads and searches, and finds exact neighbours by itself; leave it out, or run the \
                 case by `run-bench updates`",
                self.id
            ),
        }
    }

    /// The one set that is measured on where an experiment does not compare sets: one's own, that which was named, or the
    /// first of the study that is there.
    ///
    /// # Errors
    /// Several were named, or none is there.
    pub fn one_set(&self) -> Result<Set> {
        if let Some(own) = self.own.open()? {
            return Ok(own);
        }
        ensure!(self.dataset.len() <= 1, "--dataset: {} sets are named; expected one", self.dataset.len());
        Ok(Stands::load()?.choose(&self.dataset, &self.data_dir)?.remove(0))
    }
}

/// The sets that a study speaks of, and one's own.
fn of_study<'a>(study: &'a Study, sets: &'a [Set]) -> impl Iterator<Item = &'a Set> {
    sets.iter().filter(|set| set.paper.as_ref().is_none_or(|paper| study.sets.contains(paper)))
}

fn outcome(
    args: &ReproduceArgs,
    study: &Study,
    (set, pairs): (&Set, usize),
    store: &mut Store<Row>,
) -> Result<Outcome> {
    let wish = Wish {
        rows: args.rows,
        rounds: args.rounds,
        point_seconds: args.seconds.unwrap_or(POINT_SECONDS),
        seconds: args.time.map(|seconds| seconds / pairs.max(1) as f64),
        memory_budget: args.memory_budget,
        derive: study.shared,
    };
    let recipes = recipes(study, set)?;
    let extent = Extent { recipes: &recipes, lists: &study.lists, variants: study.variants.len() };
    let scale = scale(set, &args.work_or(IO_WORK), extent, wish)?;
    println!("{}: {} rows, {} rounds", set.name, scale.rows, scale.rounds);
    scale.notes.iter().for_each(|note| println!("  scaled down: {note}"));
    let settings = Settings {
        work: args.work_or(IO_WORK),
        threads: args.threads.unwrap_or(0),
        in_flight: args.in_flight.unwrap_or(IN_FLIGHT),
        queries: args.queries,
        wish,
        allow_buffered: args.allow_buffered,
    };
    let rows = measure_set((study, set), &scale, &settings, store)?;
    let fits = if study.model { model::fits(&rows) } else { Vec::new() };
    Ok(Outcome { set: set.clone(), scale, rows, fits })
}

fn tell(args: &ReproduceArgs, study: &Study, outcomes: &[Outcome]) -> Result<()> {
    let mut text = markdown(study, outcomes);
    let work = args.work_or(IO_WORK);
    let figures = figures::draw(study, outcomes, &work.join("figures"))?;
    println!("{text}");
    for figure in &figures {
        println!("figure: {}", figure.display());
        let name = figure.strip_prefix(&work).unwrap_or(figure);
        let _ = writeln!(text, "\nFigure: `{}`", name.display());
    }
    write(&work.join(format!("{}.md", study.id)), &text)?;
    if let Some(document) = &args.fill {
        super::document::fill(document, &study.id, &text)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads `90s`, `30min`, `2h`.
fn parse_time(text: &str) -> Result<f64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a number and one of s, min, h".to_owned()),
    };
    let seconds = digits.parse().ok().map(|number: f64| number * unit).filter(|seconds| *seconds > 0.0);
    seconds.ok_or_else(|| "expected a positive number and one of s, min, h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("30min"), Ok(1800.0));
        assert_eq!((parse_time("90s"), parse_time("1.5h")), (Ok(90.0), Ok(5400.0)));
        for text in ["", "30", "min", "-1s", "0s", "1d"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
