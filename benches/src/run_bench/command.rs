//! Arguments of `run-bench`, resolved once into a job.

use super::device::{self, DeviceArgs};
use super::experiment::{Expectation, Experiment, hold_against};
use super::load::Load;
use super::measure::measure;
use super::presets::{self, PresetArgs};
use super::table;
use crate::churn;
use crate::peers;
use crate::reproduce;
use crate::row::{Row, append_rows, read_rows};
use crate::runbook;
use crate::simulate;
use crate::sweep::{LISTS, OpenAxes, OpenPoint, SearchAxes, SearchPoint, Sweep};
use crate::updates;
use anyhow::{Context, Result, ensure};
use gleann_storage::{IndexDirectory, IndexKind};
use std::path::{Path, PathBuf};

/// Arguments of `run-bench`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunBenchArgs {
    #[command(subcommand)]
    pub(super) target: Option<Target>,
    /// Experiment file; without one, the flags below describe the run
    pub(super) experiment: Option<PathBuf>,
    /// Index folder
    #[arg(long)]
    pub(super) index: Option<PathBuf>,
    /// Query vectors
    #[arg(long)]
    pub(super) query: Option<PathBuf>,
    /// Exact neighbours, as `ground-truth` writes them
    #[arg(long)]
    pub(super) truth: Option<PathBuf>,
    /// File that result lines are appended to
    #[arg(long)]
    pub(super) out: Option<PathBuf>,
    /// Show what would be measured, and stop
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Hold the results in this file against the experiment's expectations, and measure nothing
    #[arg(long, requires = "experiment", conflicts_with = "dry_run")]
    pub(super) check: Option<PathBuf>,
    /// Offer so many queries a second (open loop, Poisson arrivals) instead of asking as fast as answers come
    #[arg(long, value_name = "QUERIES_A_SECOND", value_parser = positive)]
    pub(super) rate: Option<f64>,
    /// Ask the queries again and again until a round of a point takes about so long
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(super) seconds: f64,
    /// Measure even if reads go through the page cache
    #[arg(long)]
    pub(super) allow_buffered: bool,
    #[command(flatten)]
    pub(super) presets: PresetArgs,
    #[command(flatten)]
    pub(super) knobs: Knobs,
}

/// A positive number.
///
/// # Errors
/// The text is none.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a positive number".to_owned())
}

/// What to measure, where no experiment file says it. Lists are separated by commas; every combination is measured.
/// Beside presets, an axis that is given replaces theirs.
#[derive(Debug, clap::Args)]
pub(super) struct Knobs {
    /// Neighbours asked for
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "experiment")]
    pub(super) k: u32,
    #[command(flatten)]
    pub(super) open: OpenAxes,
    #[command(flatten)]
    pub(super) search: SearchAxes,
    /// Rounds; medians are reported
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "experiment")]
    pub(super) rounds: u32,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Target {
    /// Compare with other systems on the same data, in alternating rounds
    Peers(Box<peers::PeersArgs>),
    /// What this disk can do: random reads at growing depth
    Device(DeviceArgs),
    /// The figures and tables of the design-space study, with our numbers beside the paper's
    Reproduce(Box<reproduce::ReproduceArgs>),
    /// Searches without a pause while nothing changes, while vectors go, and while others come
    Updates(Box<updates::UpdatesArgs>),
    /// Rounds of deletes and inserts, and what they leave of the index
    Churn(Box<churn::ChurnArgs>),
    /// A streaming runbook of big-ann-benchmarks; the word may be left out before a name that ends in .yaml
    Runbook(Box<runbook::RunbookArgs>),
    /// Updates in the stalls of searches in virtual time, with modelled costs: nothing is measured
    Simulate(Box<simulate::SimulateArgs>),
}

/// A run with everything decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// One line for the reader.
    pub about: Option<String>,
    /// Index folder.
    pub index: PathBuf,
    /// Query vectors.
    pub query: PathBuf,
    /// Exact neighbours.
    pub truth: PathBuf,
    /// Where result lines go.
    pub out: Option<PathBuf>,
    /// Neighbours asked for.
    pub k: u32,
    /// Rounds.
    pub rounds: u32,
    /// What is measured, in this order.
    pub points: Vec<Point>,
    /// What must come out.
    pub expectations: Vec<Expectation>,
    /// How queries come.
    pub load: Load,
    /// Seconds that a round of a point takes at least, about.
    pub seconds: f64,
    /// Ask the first so many queries only.
    pub queries: Option<u32>,
    /// Whether reads through the page cache are measured.
    pub allow_buffered: bool,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name for result lines.
    pub name: String,
    /// How the index is opened.
    pub open: OpenPoint,
    /// How it is searched.
    pub search: SearchPoint,
}

/// Every combination of a sweep under one name.
pub fn points(name: &str, sweep: &Sweep) -> Vec<Point> {
    let searches = sweep.search_points();
    let all = |open: OpenPoint| {
        let of_open = |&search: &SearchPoint| Point { name: name.to_owned(), open: open.clone(), search };
        searches.iter().map(of_open).collect::<Vec<_>>()
    };
    sweep.open_points().into_iter().flat_map(all).collect()
}

/// Runs the verb.
///
/// # Errors
/// Arguments are wrong, something cannot be measured, or an expectation is missed.
pub fn run(args: RunBenchArgs) -> Result<()> {
    match args.target {
        Some(Target::Peers(args)) => return peers::run(*args),
        Some(Target::Device(args)) => return device::run(args),
        Some(Target::Reproduce(args)) => return reproduce::run(*args),
        Some(Target::Updates(args)) => return updates::run(*args),
        Some(Target::Churn(args)) => return churn::run(*args),
        Some(Target::Runbook(args)) => return runbook::run(*args),
        Some(Target::Simulate(args)) => return simulate::run(*args),
        None => {}
    }
    if let (Some(results), Some(path)) = (&args.check, &args.experiment) {
        let experiment = Experiment::read(path)?;
        hold_against(&experiment.expectations, &read_rows(results)?)?;
        println!("{} holds {} expectations", results.display(), experiment.expectations.len());
        return Ok(());
    }
    if !args.presets.preset.is_empty() {
        return presets::run(&args);
    }
    carry_out(&resolve(&args)?, args.dry_run)
}

/// Shows a job or measures it, and says where the results are.
pub(super) fn carry_out(job: &Job, dry_run: bool) -> Result<()> {
    if dry_run {
        print!("{}", describe(job));
        return Ok(());
    }
    let measured = run_job(job);
    if let Some(out) = job.out.as_ref().filter(|out| out.exists()) {
        println!("result lines are in {}; `cargo xtask plot` draws them", out.display());
    }
    measured.map(drop)
}

/// Measures a job: prints the table while it runs, appends result lines, and holds them against what is expected.
///
/// # Errors
/// Something cannot be measured or written, or an expectation is missed.
pub fn run_job(job: &Job) -> Result<Vec<Row>> {
    if let Some(about) = &job.about {
        println!("{about}");
    }
    println!("{}", table::header(job.k));
    let rows = measure(job, &mut |row| {
        println!("{}", table::line(row));
        job.out.as_ref().map_or(Ok(()), |out| append_rows(out, std::slice::from_ref(row)))
    })?;
    hold_against(&job.expectations, &rows)?;
    if !job.expectations.is_empty() {
        println!("all {} expectations are met", job.expectations.len());
    }
    Ok(rows)
}

/// The job that a file or the flags describe.
pub(super) fn resolve(args: &RunBenchArgs) -> Result<Job> {
    let experiment = match &args.experiment {
        Some(path) => Experiment::read(path)?,
        None => from_flags(&args.knobs),
    };
    prepare(args, experiment)
}

/// The job of an experiment, with the paths and the load that the flags give.
pub(super) fn prepare(args: &RunBenchArgs, experiment: Experiment) -> Result<Job> {
    let path = |flag: &Option<PathBuf>, key: Option<PathBuf>, name: &str| -> Result<PathBuf> {
        let path = flag.clone().or(key).with_context(|| match &args.experiment {
            Some(file) => {
                format!("{}: key `{name}` is missing, expected a path there or --{name}", file.display())
            }
            None => format!("--{name} is missing (or name an experiment file)"),
        })?;
        let exists = path.exists() || (name == "index" && args.dry_run);
        ensure!(exists, "--{name} {}: no such file or folder", path.display());
        Ok(path)
    };
    let index = path(&args.index, experiment.index, "index")?;
    let points = points(&experiment.name, &experiment.sweep);
    check_lists(&index, &points, experiment.k)?;
    Ok(Job {
        index,
        query: path(&args.query, experiment.query, "query")?,
        truth: path(&args.truth, experiment.truth, "truth")?,
        out: args.out.clone().or(experiment.out),
        points,
        about: experiment.about,
        k: experiment.k,
        rounds: experiment.rounds,
        expectations: experiment.expectations,
        load: args.rate.map_or(Load::Closed, |rate| Load::Open { rate }),
        seconds: args.seconds,
        queries: None,
        allow_buffered: args.allow_buffered,
    })
}

impl Knobs {
    /// The axes of searching; list lengths that suit k where none are given.
    pub(super) fn search(&self) -> SearchAxes {
        let mut axes = self.search.clone();
        if axes.list.is_empty() {
            axes.list = LISTS.into_iter().filter(|&list| list >= self.k).collect();
        }
        if axes.list.is_empty() {
            axes.list = [1, 2, 4].map(|times| times * self.k).to_vec();
        }
        axes
    }
}

/// A candidate list shorter than k cannot hold the answer. A list of postings can: each holds many vectors.
fn check_lists(index: &Path, points: &[Point], k: u32) -> Result<()> {
    let Some(short) = points.iter().map(|point| point.search.list).find(|&list| list < k) else {
        return Ok(());
    };
    let manifest = IndexDirectory::open_any(index).map(|directory| directory.manifest().kind);
    let postings = matches!(manifest, Ok(IndexKind::Postings { .. }));
    ensure!(postings, "--list {short}: expected at least k = {k}, but for an index of postings");
    Ok(())
}

/// What the flags describe, as if a file had said it.
pub(super) fn from_flags(knobs: &Knobs) -> Experiment {
    Experiment {
        name: "gleann".to_owned(),
        about: None,
        index: None,
        query: None,
        truth: None,
        out: None,
        k: knobs.k,
        rounds: knobs.rounds,
        sweep: Sweep { open: knobs.open.clone(), search: knobs.search(), ..Sweep::default() },
        expectations: Vec::new(),
    }
}

/// The plan of a job, a line a point.
fn describe(job: &Job) -> String {
    let mut text = format!("index {}, k = {}, {} rounds\n", job.index.display(), job.k, job.rounds);
    if let Some(about) = &job.about {
        text += &format!("{about}\n");
    }
    let mut shown = None;
    for Point { name, open, search } in &job.points {
        if shown != Some((name, open)) {
            shown = Some((name, open));
            text += &format!("{name}: {open}\n");
        }
        text += &format!("  {search}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: RunBenchArgs,
    }

    fn parse(line: &str) -> Result<Job> {
        resolve(&Line::try_parse_from(["run-bench"].into_iter().chain(line.split(' ')))?.args)
    }

    #[test]
    fn flags_become_a_job() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, "").unwrap();
        let files = format!("--index {0} --query {0} --truth {0}", file.display());
        let job =
            parse(&format!("{files} --list 10,20 --search beam,pipe --width 4,dynamic --in-flight 1,8"))
                .unwrap();
        assert_eq!(job.points.len(), 16);
        assert_eq!(describe(&job).lines().count(), 1 + 2 * 9);

        for (line, part) in [
            (format!("{files} --list 5"), "at least k = 10"),
            (format!("{files} --width 0"), "1 to 128"),
            (format!("{files} --rate 0"), "positive"),
            ("--list 10".to_owned(), "--index is missing"),
            (format!("--index {} --query /nonexistent --truth x", file.display()), "--query /nonexistent"),
        ] {
            let error = format!("{:#}", parse(&line).unwrap_err());
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn an_experiment_file_and_flags_meet() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("e.toml");
        std::fs::write(&file, "name = \"e\"\nindex = \"/nonexistent\"\n[sweep]\nlist = 20\n").unwrap();
        let here = file.display();
        let job = parse(&format!("{here} --index {here} --query {here} --truth {here}")).unwrap();
        assert_eq!((job.points[0].name.as_str(), job.points[0].search.list), ("e", 20));
        assert!(
            format!("{:#}", parse(&format!("{here} --query {here} --truth {here}")).unwrap_err())
                .contains("no such")
        );
        // A knob beside a file would be ignored; it is refused instead.
        assert!(parse(&format!("{here} --list 10")).unwrap_err().to_string().contains("cannot be used with"));
    }
}
