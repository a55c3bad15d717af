//! A runbook carried out on an index: changes, and recall at every search step.

use super::check::apply;
use super::step::{Runbook, Step, Update};
use crate::live::{Bench, Change, ChangingTruth, LiveRow, LiveSet, Right, Settling, Setup, Work, quiet_pass};
use anyhow::{Context, Result, ensure};
use gleann::{Element, Metric};

/// A run of a runbook.
pub struct Execution<'a, 'b, T: Element> {
    /// Index, vectors and clients.
    pub bench: &'a Bench<'b, T>,
    /// The exact neighbours in what the index holds.
    pub truth: &'a mut ChangingTruth<'b, T>,
    /// The metric of both.
    pub metric: Metric,
    /// What every line says of the run.
    pub setup: Setup,
    /// Whether changes that do nothing are let pass.
    pub allow_dead: bool,
}

impl<T: Element> Execution<'_, '_, T> {
    /// Carries out every step but the first `skipped`; `done` is told each line as soon as it is known. Steps come one after the other: a step
    /// begins when all changes of the one before are acknowledged.
    ///
    /// # Errors
    /// A step fails, an answer is wrong, or the index did not do what it was told. The message names the step.
    pub fn steps(
        &mut self,
        book: &Runbook,
        skipped: usize,
        done: &mut dyn FnMut(&LiveRow) -> Result<()>,
    ) -> Result<Vec<LiveRow>> {
        let mut rows = Vec::with_capacity(book.steps.len());
        for (number, step) in (1..).zip(&book.steps).skip(skipped) {
            let row = self.step(step).with_context(|| format!("step {number}, {step}"))?;
            let row = LiveRow { step: Some(number), ..row };
            done(&row)?;
            rows.push(row);
        }
        Ok(rows)
    }

    fn step(&mut self, step: &Step) -> Result<LiveRow> {
        let changes = step.update().map(changes_of).unwrap_or_default();
        // What an index does when it is told to: deletes leave lists to be repaired.
        let settle: &[Settling] = match step.update() {
            Some(Update::Delete(_)) => &[Settling::Consolidate],
            _ => &[],
        };
        let is_concurrent = matches!(step, Step::Concurrent(_));
        let measured = self.bench.phase(Work::Change { changes: &changes, settle }, is_concurrent)?;
        let refused = measured.made.refused;
        ensure!(
            self.allow_dead || refused == 0,
            "the index refused {refused} changes; expected it to make them all"
        );
        if let Some(update) = step.update() {
            self.follow(update)?;
        }
        let live = self.truth.set().live();
        ensure!(
            measured.after.live == live,
            "the index counts {} live vectors; expected {live}",
            measured.after.live
        );
        let vector_bytes = (self.bench.base.dim() * size_of::<T>()) as u64;
        let mut row = LiveRow::of_phase(&self.setup, phase_name(step), &measured, vector_bytes);
        row.workload = "runbook".to_owned();
        if !step.searches() {
            return Ok(row);
        }
        let now = self.truth.now()?;
        let right = Right { set: self.truth.set(), truth: &now, metric: self.metric };
        Ok(row.with_quiet(&quiet_pass(self.bench.target, &self.bench.asked, right)?))
    }

    /// Lets the truth follow a change: only what really changes, as an index that refuses second inserts does it.
    fn follow(&mut self, update: &Update) -> Result<()> {
        let before = self.truth.set();
        let mut after: LiveSet = before.clone();
        apply(update, &mut after);
        let differs = |tag: &u32| before.row_of(*tag) != after.row_of(*tag);
        let changes: Vec<_> = update.tags().filter(differs).map(|tag| (tag, after.row_of(tag))).collect();
        self.truth.change(&changes)
    }
}

fn phase_name(step: &Step) -> &'static str {
    match step {
        Step::Search => "search",
        Step::Update(update) => update.name(),
        Step::Concurrent(Update::Insert(_)) => "concurrent insert",
        Step::Concurrent(Update::Delete(_)) => "concurrent delete",
        Step::Concurrent(Update::Replace { .. }) => "concurrent replace",
    }
}

fn changes_of(update: &Update) -> Vec<Change> {
    let change = |tag: u32| match (update, update.row_of(tag)) {
        (Update::Insert(_), Some(row)) => Change::Insert { tag, row },
        (_, Some(row)) => Change::Upsert { tag, row },
        (_, None) => Change::Delete { tag },
    };
    update.tags().map(change).collect()
}

/// The mean recall over the steps that have one: the score of the track.
pub fn score(rows: &[LiveRow]) -> Option<f64> {
    let recalls: Vec<f64> = rows.iter().filter_map(|row| row.recall).collect();
    (!recalls.is_empty()).then(|| recalls.iter().sum::<f64>() / recalls.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{Asked, FakeIndex, TruthQuestion};
    use crate::runbook::parse_runbook;
    use gleann::{SearchOptions, Silent};
    use gleann_vector::Matrix;

    fn run(text: &str, hidden: &[u64], allow_dead: bool) -> Result<Vec<LiveRow>> {
        let base = Matrix::from_rows(&(0..100u8).collect::<Vec<_>>(), 1);
        let queries = Matrix::from_rows(&[2u8, 51, 97], 1);
        let index = FakeIndex::hiding(hidden);
        let asked = Asked::saturating(&queries, 3, SearchOptions::default(), 2);
        let bench = Bench { target: &index, base: &base, asked, update_clients: 4 };
        let question = TruthQuestion { base: &base, queries: &queries, metric: Metric::L2, depth: 10 };
        let mut truth = ChangingTruth::new(question, LiveSet::empty(100), &Silent)?;
        let (setup, metric) = (Setup::default(), Metric::L2);
        let mut execution = Execution { bench: &bench, truth: &mut truth, metric, setup, allow_dead };
        execution.steps(&parse_runbook(text, None)?, 0, &mut |_| Ok(()))
    }

    const BOOK: &str = "d:
  max_pts: 100
  1: {operation: insert, start: 0, end: 60}
  2: {operation: search}
  3: {operation: delete, start: 0, end: 20}
  4: {operation: search}
  5: {operation: concurrent, update: insert, start: 60, end: 100}
  6: {operation: replace, tags_start: 20, tags_end: 30, ids_start: 0, ids_end: 10}
  7: {operation: search}
";

    #[test]
    fn recall_is_that_of_the_step() {
        // Of the nearest of query 2, rows 1 to 3, tag 2 is never found; they are deleted, and come back as tags 21 to 23.
        let rows = run(BOOK, &[2], false).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
        assert_eq!(names, ["insert", "search", "delete", "search", "concurrent insert", "replace", "search"]);
        let live: Vec<u64> = rows.iter().map(|row| row.index.live).collect();
        assert_eq!(live, [60, 60, 40, 40, 80, 80, 80]);
        let recalls: Vec<_> =
            rows.iter().map(|row| row.recall.map(|recall| (9.0 * recall).round())).collect();
        assert_eq!(recalls, [None, Some(8.0), None, Some(9.0), Some(9.0), None, Some(9.0)]);
        assert!((score(&rows).unwrap() - (8.0 / 9.0 + 3.0) / 4.0).abs() < 1e-12);
        assert!(rows[6].searches.queries == 3 && rows[4].step == Some(5));
    }

    #[test]
    fn a_change_that_does_nothing_is_an_error_unless_allowed() {
        let text = "d:\n  max_pts: 100\n  1: {operation: insert, start: 0, end: 9}\n  2: {operation: delete, start: 5, end: 15}\n  3: {operation: search}\n";
        let error = format!("{:#}", run(text, &[], false).unwrap_err());
        assert!(error.contains("step 2, delete 5..15") && error.contains("refused 6"), "{error}");
        let rows = run(text, &[], true).unwrap();
        assert_eq!((rows[1].updates.vectors, rows[2].index.live, rows[2].recall), (4, 5, Some(1.0)));
    }
}
