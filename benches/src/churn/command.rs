//! Arguments of `run-bench churn`.

use super::fresh::build_fresh;
use super::run::{Churn, Shape};
use crate::live::{Amount, LiveArgs, Report, Session, SessionArgs};
use crate::progress::Console;
use crate::run_bench::environment;
use anyhow::{Context, Result, ensure};
use gleann::{Element, ElementType, Silent, VectorFile, check_index};
use half::f16;
use std::path::Path;

/// Rounds of deletes and inserts; recall, degree, reachability and space after each, and at the end those of a fresh
/// build over the same vectors.
///
/// Rows of the base that were never in the index come first; then deleted ones come back under their old keys.
#[derive(Debug, clap::Args)]
pub struct ChurnArgs {
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    live: LiveArgs,
    /// Rounds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Vectors deleted, and then inserted, in a round: a number, or a share such as 5%
    #[arg(long, default_value = "5%")]
    share: Amount,
    /// Build no fresh index at the end
    #[arg(long)]
    no_fresh: bool,
}

/// Runs the workload.
///
/// # Errors
/// Files do not belong together, or something fails on the way.
pub fn run(args: ChurnArgs) -> Result<()> {
    match VectorFile::open(&args.session.base)?.element_type() {
        ElementType::F32 => run_as::<f32>(&args),
        ElementType::F16 => run_as::<f16>(&args),
        ElementType::U8 => run_as::<u8>(&args),
        ElementType::I8 => run_as::<i8>(&args),
    }
}

fn run_as<T: Element>(args: &ChurnArgs) -> Result<()> {
    let live = args.live.one_arm()?;
    let session = Session::<T>::open(&args.session, &live)?;
    let (base, metric, console) = (&session.base, session.index.info().metric, Console::start(false));
    let mut truth = session.truth(&live, None, &console)?;
    let bench = session.bench(&live)?;
    // A check needs an index that nobody changes.
    let copy = session.folder().around().join("checked");
    let shape = || {
        session.index.snapshot(&copy)?;
        let shape = shape_of(&copy);
        std::fs::remove_dir_all(&copy).with_context(|| format!("removing {}", copy.display()))?;
        shape
    };
    let mut report = Report::begin(environment(session.index.info()), args.session.out.clone(), args.live.k);
    let choice = session.choice(args.session.seed);
    let (truth, setup) = (&mut truth, session.setup.clone());
    let mut churn = Churn { bench: &bench, truth, metric, choice, setup, shape: &shape };
    report.take(&churn.before()?)?;
    for round in 1..=args.rounds {
        report.take(&churn.round(round, args.share.of(session.live.into()))?)?;
    }
    if !args.no_fresh {
        let dir = session.folder().around().join("fresh");
        let fresh = build_fresh(&session.index, &dir, (base, churn.truth.set()), live.open_options())?;
        report.take(&churn.compared(&fresh, shape_of(&dir)?)?)?;
    }
    report.end("Churn", None)
}

/// Mean degree and reachability, as a check of the files finds them.
fn shape_of(dir: &Path) -> Result<Shape> {
    let check = check_index(dir, &Silent).with_context(|| format!("checking {}", dir.display()))?;
    if let Some(problem) = check.problems.first() {
        ensure!(check.is_sound(), "{}: {problem} (and {} more)", dir.display(), check.problem_count - 1);
    }
    let edges: u64 = check.degrees.iter().zip(0u64..).map(|(count, degree)| count * degree).sum();
    Ok(Shape {
        mean_degree: Some(edges as f64 / check.rows.max(1) as f64),
        unreachable: check.reachable.map(|reachable| check.rows.saturating_sub(reachable)),
    })
}
