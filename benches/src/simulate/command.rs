//! Arguments of `run-bench simulate`.

use super::line::Line;
use super::predict;
use super::table;
use crate::live::{Threads, Use, share};
use crate::row::append_lines;
use crate::run_bench::positive;
use anyhow::{Context, Result};
use gleann::{BudgetKind, SearchKind, Statistic};
use gleann_sim::{Arm, Costs, Report, Setup, Share, Traversal, simulate};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Costs that are used where no file is named.
const COSTS: &str = include_str!("../../experiments/lios/costs.toml");
/// What the built-in costs are called.
const THIS_MACHINE: &str = "this-machine";
/// Costs that have a name.
const NAMED: [(&str, &str); 2] =
    [(THIS_MACHINE, COSTS), ("paper-testbed-b", include_str!("../../experiments/lios/paper-testbed-b.toml"))];

/// Simulates updates in the stalls of searches: the scheduler as it is, in virtual time, between modelled searches,
/// updates and an SSD. Every way named is held against searching cores that only search.
///
/// Nothing is measured, and every line says so. `docs/design/simulator.md` says what is modelled.
#[derive(Debug, Clone, clap::Args)]
pub struct SimulateArgs {
    /// Searching and updating threads; several are compared
    #[arg(long, default_value = "28/4", value_delimiter = ',', value_name = "S/U")]
    threads: Vec<Threads>,
    /// Searches interleaved per searching thread
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    in_flight: u32,
    /// Traversal: beam, pipe, or both
    #[arg(long, default_value = "beam", value_delimiter = ',')]
    search: Vec<SearchKind>,
    /// R, as the file of costs has it; several are compared
    #[arg(long, default_value = "64", value_delimiter = ',')]
    degree: Vec<String>,
    /// Searches, and those of inserts, have so many times the hops: a graph of more vectors is deeper
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    hops: f64,
    /// θ, by which share latency may grow; several are compared
    #[arg(long, default_value = "5%", value_delimiter = ',', value_parser = share)]
    theta: Vec<f64>,
    /// How long a slice of updates may be: bounded, on_arrival, fixed:MICROSECONDS, unbounded; several are compared
    #[arg(long, default_value = "bounded", value_delimiter = ',')]
    budget: Vec<BudgetKind>,
    /// Share of the budgets that is used: tuned, or a number from 0 to 1; several are compared
    #[arg(long, default_value = "tuned", value_delimiter = ',', value_name = "tuned|SHARE")]
    utilisation: Vec<Use>,
    /// What of the latency is to stay within θ: mean, mean+p95, mean+p95+p99, or p99
    #[arg(long, default_value = "mean")]
    statistic: Statistic,
    /// Do not prefetch what searches need after a slice of updates
    #[arg(long)]
    no_prefetch: bool,
    /// Share of a core's time that updates get where stalls do not give it [default: half of θ, at most 5%]
    #[arg(long, value_parser = share)]
    floor: Option<f64>,
    /// Vectors that are deleted, and inserted after that. The tuner takes some ten virtual seconds to find its share: a
    /// phase should be longer than that
    #[arg(long, default_value_t = 20_000)]
    vectors: u64,
    /// Virtual seconds without updates in the beginning
    #[arg(long, default_value_t = 3.0, value_parser = positive)]
    idle_seconds: f64,
    /// Seed of everything that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Costs of searches, updates and the SSD: this-machine, paper-testbed-b, or a file
    #[arg(long, default_value = THIS_MACHINE, value_name = "NAME|FILE.toml")]
    costs: PathBuf,
    /// Simulate the setup of a run of `run-bench updates`, with costs derived from its lines without LIOS, and hold those
    /// with LIOS against what is predicted
    #[arg(long, value_name = "RESULTS.jsonl")]
    validate: Option<PathBuf>,
    /// File that result lines are appended to
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// A file cannot be read or written, or arguments make no sense together.
pub fn run(args: SimulateArgs) -> Result<()> {
    let costs = args.deeper(read_costs(&args.costs)?);
    println!("simulated, with costs of {}", costs.about);
    let lines = match &args.validate {
        Some(results) => predict::run(results, &costs, args.seed)?,
        None => compare(&args, &costs)?,
    };
    if let Some(out) = &args.out {
        append_lines(out, &lines)?;
        println!("result lines are in {}", out.display());
    }
    Ok(())
}

/// Costs of the repository, by name.
///
/// # Errors
/// There are none of that name.
pub fn costs_named(name: Option<&str>) -> Result<Costs> {
    let name = name.unwrap_or(THIS_MACHINE);
    let found = NAMED.iter().find(|(known, _)| *known == name);
    let known = || NAMED.map(|(name, _)| name).join(", ");
    let (_, text) = found.with_context(|| format!("no costs are named `{name}`; there are {}", known()))?;
    toml::from_str(text).with_context(|| format!("the costs {name}"))
}

fn read_costs(path: &Path) -> Result<Costs> {
    if let Some((name, _)) = NAMED.iter().find(|(name, _)| Path::new(name) == path) {
        return costs_named(Some(name));
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot open {}", path.display()))?;
    let costs: Costs = toml::from_str(&text).with_context(|| format!("{}: not costs", path.display()))?;
    costs.validate().with_context(|| path.display().to_string())?;
    Ok(costs)
}

/// What comes of the one simulation that is named: without LIOS if `off`, else in the one way that is named.
///
/// # Errors
/// Arguments make no sense together.
pub fn reports(args: &SimulateArgs, costs: &Costs, off: bool) -> Result<Vec<Report>> {
    let setup = args.setups().into_iter().next().context("no setup")?;
    let arm = if off { Arm::OFF } else { args.arms().into_iter().next().context("no way")? };
    Ok(simulate(&Setup { arm, ..setup }, &args.deeper(costs.clone()))?)
}

/// Simulates all arms of all setups. Each stands after the one without LIOS, which it is held against.
fn compare(args: &SimulateArgs, costs: &Costs) -> Result<Vec<Line>> {
    println!("{}", table::header());
    let mut all = Vec::new();
    for setup in args.setups() {
        let arms = std::iter::once(Arm::OFF).chain(args.arms()).collect::<Vec<_>>();
        let simulated = arms.par_iter().map(|&arm| {
            let setup = Setup { arm, ..setup.clone() };
            simulate(&setup, costs).map(|reports| (setup, reports))
        });
        let simulated = simulated.collect::<Result<Vec<_>, _>>()?;
        let off = simulated[0].1.clone();
        for (setup, reports) in simulated {
            for (report, without) in reports.into_iter().zip(&off) {
                let line = Line::new(&setup, costs, report).beside(without);
                println!("{}", table::line(&line));
                all.push(line);
            }
        }
    }
    Ok(all)
}

impl SimulateArgs {
    /// How many simulations are named, beside those without LIOS.
    pub fn ways(&self) -> usize {
        self.setups().len() * self.arms().len()
    }

    /// Costs of a graph as deep as was asked for.
    fn deeper(&self, mut costs: Costs) -> Costs {
        for degree in costs.degree.values_mut() {
            for search in [&mut degree.beam, &mut degree.pipe] {
                search.hops = search.hops.with_mean(search.hops.mean() * self.hops);
            }
            degree.insert.turns = (f64::from(degree.insert.turns) * self.hops).round() as u32;
        }
        costs
    }

    fn setups(&self) -> Vec<Setup> {
        let mut setups = Vec::new();
        for &search in &self.search {
            for degree in &self.degree {
                setups.extend(self.threads.iter().map(|threads| Setup {
                    search_threads: threads.search as u32,
                    update_threads: threads.update as u32,
                    in_flight: self.in_flight,
                    traversal: traversal(search),
                    degree: degree.clone(),
                    idle_seconds: self.idle_seconds,
                    deletes: self.vectors,
                    inserts: self.vectors,
                    seed: self.seed,
                    ..Setup::default()
                }));
            }
        }
        setups
    }

    fn arms(&self) -> Vec<Arm> {
        let mut arms = Vec::new();
        for &theta in &self.theta {
            for &budget in &self.budget {
                arms.extend(self.utilisation.iter().map(|&utilisation| Arm {
                    budget,
                    share: match utilisation {
                        Use::Tuned => Share::Tuned(self.statistic),
                        Use::Fixed(share) => Share::Fixed(share),
                    },
                    prefetch: !self.no_prefetch,
                    floor: self.floor,
                    ..Arm::new(theta)
                }));
            }
        }
        arms
    }
}

/// The modelled traversal.
pub(super) fn traversal(search: SearchKind) -> Traversal {
    match search {
        SearchKind::Beam => Traversal::Beam,
        SearchKind::Pipe => Traversal::Pipe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Words {
        #[command(flatten)]
        args: SimulateArgs,
    }

    fn parse(line: &str) -> SimulateArgs {
        Words::try_parse_from(format!("x {line}").split_whitespace()).unwrap().args
    }

    #[test]
    fn what_is_listed_is_compared() {
        let args = parse(
            "--threads 4/1,2/2 --theta 5%,0.1 --budget bounded,unbounded --utilisation tuned,1 --degree 32",
        );
        let setups = args.setups();
        let threads: Vec<_> =
            setups.iter().map(|setup| (setup.search_threads, setup.update_threads)).collect();
        assert_eq!(threads, [(4, 1), (2, 2)]);
        let arms: Vec<String> = args.arms().iter().map(Arm::to_string).collect();
        assert_eq!(arms.len(), 8);
        assert_eq!((arms[0].as_str(), arms[7].as_str()), ("θ 0.050 bounded mean", "θ 0.100 unbounded 1"));
    }

    #[test]
    fn the_costs_of_the_repository_are_sound() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/lios");
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with("lios-") {
                continue;
            }
            let costs = read_costs(&path).unwrap();
            assert_eq!(costs.degree.keys().collect::<Vec<_>>(), ["32", "64", "96"]);
            files += 1;
        }
        assert!(files >= 2);
        assert!(costs_named(None).is_ok() && read_costs(Path::new("paper-testbed-b")).is_ok());
        assert!(costs_named(Some("mars")).unwrap_err().to_string().contains("this-machine"));
    }

    #[test]
    fn lines_say_that_nothing_was_measured() {
        let args = parse("--threads 2/1 --vectors 200 --idle-seconds 0.1 --utilisation 1");
        let lines = compare(&args, &costs_named(None).unwrap()).unwrap();
        assert_eq!(lines.len(), 6);
        for line in &lines {
            let value = serde_json::to_value(line).unwrap();
            assert_eq!((&value["simulated"], &value["workload"]), (&true.into(), &"simulate".into()));
            assert!(value["latency_us_mean"].as_f64().unwrap() > 0.0);
        }
        assert!(lines[5].compared.unwrap().speedup > 1.0);
    }
}
