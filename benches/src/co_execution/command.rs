//! The course of `run-bench reproduce lios-…`.

use super::embedded::find;
use super::runs::Runs;
use super::study::Study;
use super::{figures, report};
use crate::preset::Workshop;
use crate::reproduce::{ReproduceArgs, Set, Store, fill, rounds};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Where indexes, runs and figures go.
const WORK: &str = "results/lios";
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
    args.refuse_those_of_points()?;
    let set = args.one_set()?;
    let scale =
        Scale::of((args.rows.unwrap_or(ROWS).min(set.rows), args.rounds), args.time, measured_arms(&studies));
    scale.notes.iter().for_each(|note| println!("scaled down: {note}"));
    let work = args.work_or(WORK);
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
        "{}, {} rows, {} vectors deleted and inserted, {}",
        set.name,
        scale.rows,
        scale.vectors,
        rounds(scale.rounds)
    );
    scale.notes.iter().for_each(|note| text += &format!("; scaled down: {note}"));
    text
}

fn keep(args: &ReproduceArgs, study: &Study, text: &str) -> Result<()> {
    let path = args.work_or(WORK).join(format!("{}.md", study.id));
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    args.fill.as_ref().map_or(Ok(()), |document| fill(document, &study.id, text))
}

impl Scale {
    /// As much of rows and rounds as fits into the time, if it is limited: rounds are given up first, then vectors.
    fn of((rows, wanted): (u64, u32), seconds: Option<f64>, arms: usize) -> Self {
        let all = (SHARE * rows as f64).round() as u64;
        let whole = Self { rows, rounds: wanted, vectors: all, notes: Vec::new() };
        let Some(seconds) = seconds else { return whole };
        let of_arm = seconds / arms.max(1) as f64;
        let rounds = (of_arm / (AROUND_SECONDS + 2.0 * all as f64 / CHANGES)) as u32;
        // With fewer the tuner has not begun before the phase is over.
        let fitting = ((of_arm - AROUND_SECONDS) * CHANGES / 2.0).max(all as f64 / 10.0) as u64;
        let vectors = if rounds == 0 { fitting.min(all) } else { all };
        let rounds = rounds.clamp(1, wanted);
        let mut notes = Vec::new();
        if rounds < wanted {
            notes.push(format!("{rounds} rounds of {wanted}"));
        }
        if vectors < all {
            notes.push(format!("{vectors} vectors of {all}"));
        }
        Self { rows, rounds, vectors, notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_time_means_fewer_rounds_then_fewer_vectors() {
        let of = |seconds| Scale::of((100_000, 3), seconds, 10);
        assert_eq!((of(None).rounds, of(None).vectors, of(None).notes.len()), (3, 5000, 0));
        assert_eq!(of(Some(1e5)), of(None));
        let fewer_rounds = of(Some(800.0));
        assert_eq!((fewer_rounds.rounds, fewer_rounds.vectors, fewer_rounds.notes.len()), (2, 5000, 1));
        let fewer_vectors = of(Some(300.0));
        assert_eq!((fewer_vectors.rounds, fewer_vectors.vectors, fewer_vectors.notes.len()), (1, 2000, 2));
        assert_eq!(of(Some(1.0)).vectors, 500);
    }

    #[test]
    fn arms_that_experiments_share_count_once() {
        let [one, two] = ["lios-exp1", "lios-budgets"].map(|id| find(id).unwrap());
        assert_eq!(measured_arms(&one), 12);
        assert_eq!(measured_arms(&one.into_iter().chain(two).collect::<Vec<_>>()), 12);
    }
}
