//! The papers' workload: searches without a pause, while nothing changes, while vectors go, and while others come.

use crate::live::{Bench, ChangingTruth, Choice, LiveRow, Right, Settling, Setup, Work, quiet_pass};
use anyhow::{Result, ensure};
use gleann::{Element, Metric};
use std::time::Duration;

/// How much of what is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amounts {
    /// Time of the idle phase.
    pub idle: Duration,
    /// Vectors deleted.
    pub delete: u64,
    /// Vectors inserted.
    pub insert: u64,
}

/// What is measured, beside the bench itself.
pub struct Run<'a, 'b, T: Element> {
    /// Index, vectors and clients.
    pub bench: &'a Bench<'b, T>,
    /// The exact neighbours in what the index holds.
    pub truth: &'a mut ChangingTruth<'b, T>,
    /// The metric of both.
    pub metric: Metric,
    /// What goes and comes.
    pub choice: Choice,
    /// What every line says of the run.
    pub setup: Setup,
}

impl<T: Element> Run<'_, '_, T> {
    /// Runs the three phases; `done` is told each line as soon as it is known.
    ///
    /// # Errors
    /// A phase fails, the index did not do what it was told, or an answer is wrong.
    pub fn phases(
        &mut self,
        amounts: Amounts,
        done: &mut dyn FnMut(&LiveRow) -> Result<()>,
    ) -> Result<Vec<LiveRow>> {
        let mut rows = Vec::new();
        let deletes = self.choice.deletes(self.truth.set(), amounts.delete)?;
        // Chosen before anything is measured: what is missing shows at once.
        let inserts = self.choice.inserts(amounts.insert)?;
        let phases = [
            ("idle", Work::Wait(amounts.idle)),
            ("delete", Work::Change { changes: &deletes, settle: &[Settling::Consolidate] }),
            ("insert", Work::Change { changes: &inserts, settle: &[Settling::Merge] }),
        ];
        for (name, work) in phases {
            if matches!(work, Work::Change { changes: [], .. }) {
                continue;
            }
            let row = self.phase(name, work)?;
            done(&row)?;
            rows.push(row);
        }
        Ok(rows)
    }

    fn phase(&mut self, name: &str, work: Work<'_>) -> Result<LiveRow> {
        let measured = self.bench.phase(work, true)?;
        ensure!(
            measured.made.refused == 0,
            "phase {name}: the index says of {} keys that it has what it should not have, or has not what it should; it is \
             not the index of these vectors, or it is wrong",
            measured.made.refused
        );
        if let Work::Change { changes, .. } = work {
            self.truth.change(&changes.iter().map(|change| change.result()).collect::<Vec<_>>())?;
        }
        let now = self.truth.now()?;
        let set = self.truth.set();
        ensure!(
            measured.after.live == set.live(),
            "phase {name}: the index counts {} live vectors; expected {}",
            measured.after.live,
            set.live()
        );
        let right = Right { set, truth: &now, metric: self.metric };
        let quiet = quiet_pass(self.bench.target, &self.bench.asked, right)?;
        let vector_bytes = (self.bench.base.dim() * size_of::<T>()) as u64;
        let row = LiveRow::of_phase(&self.setup, name, &measured, vector_bytes).with_quiet(&quiet);
        Ok(LiveRow { workload: "updates".to_owned(), ..row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{Asked, Change, FakeIndex, LiveSet, TruthQuestion};
    use gleann::{SearchOptions, Silent};
    use gleann_vector::Matrix;

    /// The phases over an index that holds rows 0 to 99 of 120, `lost` of which it has lost.
    fn run(lost: &[u32], hidden: &[u64], amounts: Amounts) -> Result<Vec<LiveRow>> {
        let elements: Vec<u8> = (0..240).map(|i| (i * 7 % 251) as u8).collect();
        let (base, queries) = (Matrix::from_rows(&elements, 2), Matrix::from_rows(&[3u8, 77, 140, 9], 2));
        let index = FakeIndex::hiding(hidden);
        let asked = Asked::saturating(&queries, 5, SearchOptions::default(), 2);
        let bench = Bench { target: &index, base: &base, asked, update_clients: 3 };
        let fill: Vec<Change> =
            (0..100).filter(|row| !lost.contains(row)).map(|row| Change::Insert { tag: row, row }).collect();
        bench.phase(Work::Change { changes: &fill, settle: &[] }, false)?;
        let question = TruthQuestion { base: &base, queries: &queries, metric: Metric::L2, depth: 20 };
        let mut truth = ChangingTruth::new(question, LiveSet::of_rows(100, 120), &Silent)?;
        let choice = Choice::new(100, 120, 3);
        let setup = Setup { threads_search: 1, rounds: 1, ..Setup::default() };
        let mut told = 0;
        let mut run = Run { bench: &bench, truth: &mut truth, metric: Metric::L2, choice, setup };
        let rows = run.phases(amounts, &mut |_| {
            told += 1;
            Ok(())
        })?;
        assert_eq!(told, rows.len());
        Ok(rows)
    }

    #[test]
    fn three_phases_three_lines() {
        let amounts = Amounts { idle: Duration::from_millis(30), delete: 10, insert: 15 };
        let rows = run(&[], &[], amounts).unwrap();
        assert_eq!(
            rows.iter().map(|row| row.phase.as_str()).collect::<Vec<_>>(),
            ["idle", "delete", "insert"]
        );
        assert_eq!(rows.iter().map(|row| row.index.live).collect::<Vec<_>>(), [100, 90, 105]);
        assert_eq!(rows.iter().map(|row| row.updates.vectors).collect::<Vec<_>>(), [0, 10, 15]);
        assert!(rows.iter().all(|row| row.recall == Some(1.0) && row.workload == "updates"));
        assert!(rows[0].searches.queries > 0 && rows[0].updates.vectors_per_second.is_none());
        let rows = run(&[], &[], Amounts { delete: 0, ..amounts }).unwrap();
        assert_eq!(rows.iter().map(|row| row.phase.as_str()).collect::<Vec<_>>(), ["idle", "insert"]);
    }

    #[test]
    fn an_index_that_is_not_what_it_should_be_is_refused() {
        let amounts = Amounts { idle: Duration::ZERO, delete: 100, insert: 0 };
        let error = format!("{:#}", run(&[7], &[], amounts).unwrap_err());
        assert!(error.contains("99 live vectors; expected 100"), "{error}");
        let rows = run(&[], &[0, 1, 2, 3, 4, 5], Amounts { delete: 0, ..amounts }).unwrap();
        assert!(rows[0].recall.unwrap() < 1.0);
    }
}
