//! The course of `run-bench reproduce lios-…`.

use super::embedded::find;
use super::runs::Runs;
use super::study::Study;
use super::{figures, report};
use crate::preset::Workshop;
use crate::reproduce::{ReproduceArgs, Set, Store, fill};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Rows of the base in the index where nobody names a number: the rest is there to be inserted.
const ROWS: u64 = 500_000;
/// Share of the index that is deleted, and inserted after that (LIOS §6.1).
const SHARE: f64 = 0.05;
/// Seconds without updates in the beginning of every run.
const IDLE_SECONDS: f64 = 5.0;
/// Seconds of an arm beside its updates, about: a copy is made and opened, recall is measured three times.
const AROUND_SECONDS: f64 = 25.0;
/// Changes a second where one thread works on them, about.
const CHANGES: f64 = 800.0;

/// How much is measured.
#[derive(Debug, Clone, PartialEq)]
struct Scale {
    rows: u64,
    rounds: u32,
    vectors: u64,
    notes: Vec<String>,
}

/// Runs the experiments: prints tables and verdicts, writes figures and Markdown into the work folder.
///
/// # Errors
/// An experiment or the data set is unknown or not there, or something cannot be built, measured or written.
pub fn run(args: &ReproduceArgs) -> Result<()> {
    let studies = find(&args.id)?;
    let set = args.one_set()?;
    let scale = Scale::of(args, &set, measured_arms(&studies));
    scale.notes.iter().for_each(|note| println!("scaled down: {note}"));
    let work = args.work_or("results/lios");
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make folder {}", work.display()))?;
    let shop = Workshop {
        folder: work.join(format!("{}-{}", set.name, scale.rows)),
        source: set.source(scale.rows)?,
        metric: set.metric,
        memory_budget: args.memory_budget,
        derive: true,
    };
    let buffered = if args.allow_buffered { " --allow-buffered" } else { "" };
    let amounts = format!("--delete {0} --insert {0} --idle-seconds {IDLE_SECONDS}{buffered}", scale.vectors);
    let store = Store::open(&work, "runs.jsonl")?;
    let mut runs =
        Runs { set: &set, rows: scale.rows, rounds: scale.rounds, amounts, shop, store, truth: None };
    for study in &studies {
        println!("── {}: {}\n", study.id, study.title);
        let lines = runs.study(study)?;
        let mut text = report::markdown(study, &lines, &heading(&set, &scale));
        println!("{text}");
        for figure in figures::draw(study, &lines, &work.join("figures"))? {
            println!("figure: {}", figure.display());
            let _ = writeln!(text, "\nFigure: `{}`", figure.strip_prefix(&work).unwrap_or(&figure).display());
        }
        keep(args, study, &text)?;
    }
    Ok(())
}

/// Different arms that are measured; experiments share some.
fn measured_arms(studies: &[Study]) -> usize {
    let cases = studies.iter().flat_map(|study| &study.cases).filter(|case| case.is_measured());
    let arms =
        cases.flat_map(|case| case.arms.iter().map(move |arm| (&case.flags, case.degree(), &arm.flags)));
    arms.collect::<BTreeSet<_>>().len()
}

fn heading(set: &Set, scale: &Scale) -> String {
    let mut text = format!(
        "{}, {} rows, {} vectors deleted and inserted, {} rounds",
        set.name, scale.rows, scale.vectors, scale.rounds
    );
    scale.notes.iter().for_each(|note| text += &format!("; scaled down: {note}"));
    text
}

fn keep(args: &ReproduceArgs, study: &Study, text: &str) -> Result<()> {
    let path = args.work_or("results/lios").join(format!("{}.md", study.id));
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    args.fill.as_ref().map_or(Ok(()), |document| fill(document, &study.id, text))
}

impl Scale {
    /// As much as fits: rounds are given up first, then vectors.
    fn of(args: &ReproduceArgs, set: &Set, arms: usize) -> Self {
        let mut notes = Vec::new();
        let rows = args.rows.unwrap_or(ROWS).min(set.rows);
        let (mut rounds, mut vectors) = (args.rounds, (SHARE * rows as f64).round() as u64);
        if let Some(seconds) = args.time {
            let updates = |vectors: u64| 2.0 * vectors as f64 / CHANGES;
            let round = |vectors: u64| arms.max(1) as f64 * (AROUND_SECONDS + updates(vectors));
            rounds = ((seconds / round(vectors)) as u32).clamp(1, args.rounds);
            if rounds < args.rounds {
                notes.push(format!("{rounds} rounds of {}", args.rounds));
            }
            let left = (seconds / arms.max(1) as f64 - AROUND_SECONDS) * CHANGES / 2.0;
            // Below this the tuner has not begun before the phase is over.
            let fewer = (left.max(0.0) as u64).max(vectors / 10);
            if rounds == 1 && fewer < vectors {
                notes.push(format!("{fewer} vectors of {vectors}"));
                vectors = fewer;
            }
        }
        Self { rows, rounds, vectors, notes }
    }
}
