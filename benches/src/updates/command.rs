//! Arguments of `run-bench updates`.

use super::run::{Amounts, Run};
use crate::live::{Amount, FoundTruth, LiveArgs, LiveRow, Report, Session, SessionArgs, Setup};
use crate::progress::Console;
use crate::run_bench::{environment, positive};
use anyhow::{Context, Result};
use gleann::{Element, ElementType, VectorFile};
use half::f16;
use std::path::PathBuf;
use std::time::Duration;

/// Searches without a pause while nothing changes, while vectors are deleted, and while others are inserted.
///
/// The deletes end with the repair of the lists that named them; the inserts end with a merge (fresh) or a checkpoint
/// (odin). Recall is that of a pass over all queries after each phase, while nothing changes, against the exact neighbours
/// in the vectors that are live then.
#[derive(Debug, clap::Args)]
pub struct UpdatesArgs {
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    live: LiveArgs,
    /// Vectors to delete: a number, or a share such as 5%
    #[arg(long, default_value = "5%")]
    delete: Amount,
    /// Vectors to insert, from the rows of the base that follow those in the index: a number, or a share such as 5%
    #[arg(long, default_value = "5%")]
    insert: Amount,
    /// Seconds of the idle phase
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    idle_seconds: f64,
    /// Rounds: every way named by --lios in turn, each on a copy of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Folder for pictures
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
}

impl UpdatesArgs {
    /// The ways that are compared.
    pub fn arms(&self) -> Vec<LiveArgs> {
        self.live.arms()
    }
}

/// Runs the workload.
///
/// # Errors
/// Files do not belong together, or something fails on the way.
pub fn run(args: UpdatesArgs) -> Result<()> {
    let arms = args.arms();
    let mut before = Before::default();
    for round in 1..=args.rounds {
        for live in &arms {
            if arms.len() > 1 || args.rounds > 1 {
                println!("round {round} of {}, LIOS {}", args.rounds, live.arm());
            }
            before = run_arm(&args, live, before)?;
        }
    }
    before.report.map_or(Ok(()), |report| report.end("Searches beside updates", args.plot.as_deref()))
}

/// Runs the workload in the one way that is named; its lines, and the exact neighbours in the index as it was in the beginning,
/// which another run on the same vectors takes.
///
/// # Errors
/// As [`run`]; or several ways are named.
pub fn measure_arm(args: &UpdatesArgs, truth: Option<FoundTruth>) -> Result<(Vec<LiveRow>, FoundTruth)> {
    let ran = run_arm(args, &args.live.one_arm()?, Before { report: None, truth })?;
    let (report, truth) = ran.report.zip(ran.truth).context("a run without lines")?;
    Ok((report.into_rows(), truth))
}

/// What the ways that were run leave for those that come.
#[derive(Default)]
struct Before {
    report: Option<Report>,
    /// The exact neighbours in the index as it is in the beginning.
    truth: Option<FoundTruth>,
}

/// Runs the workload in one way.
fn run_arm(args: &UpdatesArgs, live: &LiveArgs, before: Before) -> Result<Before> {
    match VectorFile::open(&args.session.base)?.element_type() {
        ElementType::F32 => run_as::<f32>(args, live, before),
        ElementType::F16 => run_as::<f16>(args, live, before),
        ElementType::U8 => run_as::<u8>(args, live, before),
        ElementType::I8 => run_as::<i8>(args, live, before),
    }
}

fn run_as<T: Element>(args: &UpdatesArgs, live: &LiveArgs, before: Before) -> Result<Before> {
    let session = Session::<T>::open(&args.session, live)?;
    let amounts = Amounts {
        idle: Duration::from_secs_f64(args.idle_seconds),
        delete: args.delete.of(session.live.into()),
        insert: args.insert.of(session.live.into()),
    };
    let console = Console::start(false);
    let mut truth = session.truth(live, before.truth, &console)?;
    let found = truth.found();
    let bench = session.bench(live)?;
    let (metric, choice) = (session.index.info().metric, session.choice(args.session.seed));
    let begin = || Report::begin(environment(session.index.info()), args.session.out.clone(), live.k);
    let mut report = before.report.unwrap_or_else(begin);
    let setup = Setup { rounds: args.rounds, ..session.setup.clone() };
    let mut run = Run { bench: &bench, truth: &mut truth, metric, choice, setup };
    run.phases(amounts, &mut |row| report.take(row))?;
    Ok(Before { report: Some(report), truth: Some(found) })
}
