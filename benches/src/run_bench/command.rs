//! Arguments of `run-bench`, resolved once into a job.

use super::device::{self, DeviceArgs};
use super::experiment::{Expectation, Experiment, hold_against};
use super::load::Load;
use super::measure::measure;
use super::table;
use crate::peers;
use crate::row::{Row, append_rows, read_rows};
use crate::sweep::Sweep;
use anyhow::{Context, Result, bail, ensure};
use gleann::{EngineChoice, SearchKind, Width};
use std::path::{Path, PathBuf};

/// Arguments of `run-bench`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunBenchArgs {
    #[command(subcommand)]
    target: Option<Target>,
    /// Experiment file; without one, the flags below describe the run
    experiment: Option<PathBuf>,
    /// Index folder
    #[arg(long)]
    index: Option<PathBuf>,
    /// Query vectors
    #[arg(long)]
    query: Option<PathBuf>,
    /// Exact neighbours, as `ground-truth` writes them
    #[arg(long)]
    truth: Option<PathBuf>,
    /// File that result lines are appended to
    #[arg(long)]
    out: Option<PathBuf>,
    /// Show what would be measured, and stop
    #[arg(long)]
    dry_run: bool,
    /// Hold the results in this file against the experiment's expectations, and measure nothing
    #[arg(long, requires = "experiment", conflicts_with = "dry_run")]
    check: Option<PathBuf>,
    /// Offer so many queries a second (open loop, Poisson arrivals) instead of asking as fast as answers come
    #[arg(long, value_name = "QUERIES_A_SECOND", value_parser = positive)]
    rate: Option<f64>,
    /// Ask the queries again and again until a round of a point takes about so long
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    seconds: f64,
    /// Measure even if reads go through the page cache
    #[arg(long)]
    allow_buffered: bool,
    #[command(flatten)]
    knobs: Knobs,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a positive number".to_owned())
}

/// What to measure, where no experiment file says it. Lists are separated by commas; every combination is measured.
#[derive(Debug, clap::Args)]
struct Knobs {
    /// Neighbours asked for
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "experiment")]
    k: u32,
    /// Candidate list lengths, L; those below k are refused
    #[arg(long, value_delimiter = ',', default_values_t = [10, 15, 20, 30, 40, 60, 80, 120], conflicts_with = "experiment")]
    list: Vec<u32>,
    /// Traversals: beam, pipe
    #[arg(long, value_delimiter = ',', default_values_t = [SearchKind::Beam], conflicts_with = "experiment")]
    search: Vec<SearchKind>,
    /// Reads in flight of one search: a number, dynamic, or dynamic:START-MAX
    #[arg(long, value_delimiter = ',', default_values_t = [Width::Fixed(4)], conflicts_with = "experiment")]
    width: Vec<Width>,
    /// Threads; 0 is one per core
    #[arg(long, value_delimiter = ',', default_values_t = [0], conflicts_with = "experiment")]
    threads: Vec<u32>,
    /// Searches interleaved per thread
    #[arg(long, value_delimiter = ',', default_values_t = [8], conflicts_with = "experiment")]
    in_flight: Vec<u32>,
    /// I/O engines: auto, glommio, pool, mmap
    #[arg(long, value_delimiter = ',', default_values_t = [EngineChoice::Auto], conflicts_with = "experiment")]
    engine: Vec<EngineChoice>,
    /// Rounds; medians are reported
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "experiment")]
    rounds: u32,
}

#[derive(Debug, clap::Subcommand)]
enum Target {
    /// Compare with other systems on the same data, in alternating rounds
    Peers(Box<peers::PeersArgs>),
    /// What this disk can do: random reads at growing depth
    Device(DeviceArgs),
}

/// A run with everything decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Name for result lines.
    pub name: String,
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
    /// What is swept.
    pub sweep: Sweep,
    /// What must come out.
    pub expectations: Vec<Expectation>,
    /// How queries come.
    pub load: Load,
    /// Seconds that a round of a point takes at least, about.
    pub seconds: f64,
    /// Whether reads through the page cache are measured.
    pub allow_buffered: bool,
}

/// Runs the verb.
///
/// # Errors
/// Arguments are wrong, something cannot be measured, or an expectation is missed.
pub fn run(args: RunBenchArgs) -> Result<()> {
    match args.target {
        Some(Target::Peers(args)) => return peers::run(*args),
        Some(Target::Device(args)) => return device::run(args),
        None => {}
    }
    if let (Some(results), Some(path)) = (&args.check, &args.experiment) {
        let experiment = Experiment::read(path)?;
        hold_against(&experiment.expectations, &read_rows(results)?)?;
        println!("{} holds {} expectations", results.display(), experiment.expectations.len());
        return Ok(());
    }
    let job = resolve(&args)?;
    if args.dry_run {
        print!("{}", describe(&job));
        return Ok(());
    }
    let measured = run_job(&job);
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

fn resolve(args: &RunBenchArgs) -> Result<Job> {
    let experiment = match &args.experiment {
        Some(path) => Experiment::read(path)?,
        None => from_flags(&args.knobs)?,
    };
    let path = |flag: &Option<PathBuf>, key: Option<PathBuf>, name: &str| -> Result<PathBuf> {
        let path = flag.clone().or(key).with_context(|| match &args.experiment {
            Some(file) => {
                format!("{}: key `{name}` is missing, expected a path there or --{name}", file.display())
            }
            None => format!("--{name} is missing (or name an experiment file)"),
        })?;
        ensure!(path.exists(), "--{name} {}: no such file or folder", path.display());
        Ok(path)
    };
    Ok(Job {
        index: path(&args.index, experiment.index, "index")?,
        query: path(&args.query, experiment.query, "query")?,
        truth: path(&args.truth, experiment.truth, "truth")?,
        out: args.out.clone().or(experiment.out),
        name: experiment.name,
        about: experiment.about,
        k: experiment.k,
        rounds: experiment.rounds,
        sweep: experiment.sweep,
        expectations: experiment.expectations,
        load: args.rate.map_or(Load::Closed, |rate| Load::Open { rate }),
        seconds: args.seconds,
        allow_buffered: args.allow_buffered,
    })
}

fn from_flags(knobs: &Knobs) -> Result<Experiment> {
    if let Some(list) = knobs.list.iter().find(|&&list| list < knobs.k) {
        bail!("--list {list}: expected at least k = {}", knobs.k);
    }
    Ok(Experiment {
        name: "gleann".to_owned(),
        about: None,
        index: None,
        query: None,
        truth: None,
        out: None,
        k: knobs.k,
        rounds: knobs.rounds,
        sweep: Sweep {
            list: knobs.list.clone(),
            search: knobs.search.clone(),
            width: knobs.width.clone(),
            threads: knobs.threads.clone(),
            in_flight: knobs.in_flight.clone(),
            engine: knobs.engine.clone(),
        },
        expectations: Vec::new(),
    })
}

/// The plan of a job, a line a point.
fn describe(job: &Job) -> String {
    let mut text =
        format!("{}: index {}, k = {}, {} rounds\n", job.name, show(&job.index), job.k, job.rounds);
    if let Some(about) = &job.about {
        text += &format!("{about}\n");
    }
    for open in job.sweep.open_points() {
        let threads = if open.threads == 0 { "one a core".to_owned() } else { open.threads.to_string() };
        text += &format!("engine {}, threads {threads}, in flight {}\n", open.engine, open.in_flight);
        for point in job.sweep.search_points() {
            text += &format!("  search {}, width {}, list {}\n", point.search, point.width, point.list);
        }
    }
    text
}

fn show(path: &Path) -> std::path::Display<'_> {
    path.display()
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
        assert_eq!((job.sweep.search_points().len(), job.sweep.open_points().len()), (8, 2));
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
        assert_eq!((job.name.as_str(), job.sweep.list), ("e", vec![20]));
        assert!(
            format!("{:#}", parse(&format!("{here} --query {here} --truth {here}")).unwrap_err())
                .contains("no such")
        );
        // A knob beside a file would be ignored; it is refused instead.
        assert!(parse(&format!("{here} --list 10")).unwrap_err().to_string().contains("cannot be used with"));
    }
}
