//! Rounds of deletes and inserts, and what they leave of the index.

use crate::live::{
    Bench, ChangingTruth, Choice, LiveRow, LiveTarget, Measured, Quiet, Right, Settling, Setup, Work,
    quiet_pass,
};
use anyhow::{Result, ensure};
use gleann::{Element, Metric};

/// What a graph is like, as a check of its files finds it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shape {
    /// Mean number of neighbours, where the check can tell.
    pub mean_degree: Option<f64>,
    /// Vectors that cannot be reached, where the check can tell.
    pub unreachable: Option<u64>,
}

/// Churn of one index.
pub struct Churn<'a, 'b, T: Element> {
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
    /// Looks at the files of the index.
    pub shape: &'a dyn Fn() -> Result<Shape>,
}

impl<T: Element> Churn<'_, '_, T> {
    /// The index as it is: round 0, before anything has changed.
    ///
    /// # Errors
    /// A search fails, or an answer is wrong.
    pub fn before(&mut self) -> Result<LiveRow> {
        self.line(0, &self.bench.phase(Work::Change { changes: &[], settle: &[] }, false)?)
    }

    /// Deletes `count` vectors, inserts as many, and has the index settle.
    ///
    /// # Errors
    /// The index did not do what it was told, or an answer is wrong.
    pub fn round(&mut self, round: u32, count: u64) -> Result<LiveRow> {
        let mut changes = self.choice.deletes(self.truth.set(), count)?;
        changes.extend(self.choice.inserts(count)?);
        // A tag may go and come back within a round: its delete must be over before its insert begins.
        let (deletes, inserts) = changes.split_at(count as usize);
        let first = self.bench.phase(Work::Change { changes: deletes, settle: &[] }, false)?;
        let settle = [Settling::Consolidate, Settling::Merge];
        let second = self.bench.phase(Work::Change { changes: inserts, settle: &settle }, false)?;
        let measured = joined(first, second);
        ensure!(
            measured.made.refused == 0,
            "round {round}: the index refused {} changes; it is not the index of these vectors, or it is wrong",
            measured.made.refused
        );
        self.truth.change(&changes.iter().map(|change| change.result()).collect::<Vec<_>>())?;
        self.line(round, &measured)
    }

    fn line(&mut self, round: u32, measured: &Measured) -> Result<LiveRow> {
        let quiet = self.quiet(self.bench.target)?;
        let live = self.truth.set().live();
        ensure!(
            measured.after.live == live,
            "round {round}: the index counts {} live vectors; expected {live}",
            measured.after.live
        );
        let vector_bytes = (self.bench.base.dim() * size_of::<T>()) as u64;
        let row = LiveRow::of_phase(&self.setup, "round", measured, vector_bytes).with_quiet(&quiet);
        Ok(self.shaped(LiveRow { step: Some(round), ..row }, (self.shape)()?))
    }

    /// The line of another index over the same vectors, freshly built, searched in the same way.
    ///
    /// # Errors
    /// A search fails, or an answer is wrong.
    pub fn compared(&mut self, fresh: &dyn LiveTarget<T>, shape: Shape) -> Result<LiveRow> {
        let quiet = self.quiet(fresh)?;
        let gauges = fresh.gauges();
        let mut row =
            LiveRow { setup: self.setup.clone(), phase: "fresh build".to_owned(), ..LiveRow::default() };
        row.index.live = gauges.live;
        row.index.index_bytes = gauges.index_bytes;
        row.index.memory_bytes = gauges.memory_bytes;
        row.index.overlap_ratio = gauges.overlap_ratio;
        Ok(self.shaped(row.with_quiet(&quiet), shape))
    }

    fn shaped(&self, mut row: LiveRow, shape: Shape) -> LiveRow {
        row.workload = "churn".to_owned();
        row.index.mean_degree = shape.mean_degree;
        row.index.unreachable = shape.unreachable;
        row
    }

    fn quiet(&mut self, target: &dyn LiveTarget<T>) -> Result<Quiet> {
        let now = self.truth.now()?;
        let right = Right { set: self.truth.set(), truth: &now, metric: self.metric };
        quiet_pass(target, &self.bench.asked, right)
    }
}

/// Two phases, one after the other, as one.
fn joined(first: Measured, mut second: Measured) -> Measured {
    let later = second.made.acknowledged.into_iter().map(|mut change| {
        change.at += first.seconds;
        change
    });
    let mut made = first.made;
    made.acknowledged.extend(later);
    made.refused += second.made.refused;
    second.made = made;
    Measured {
        seconds: first.seconds + second.seconds,
        counted_seconds: first.counted_seconds + second.counted_seconds,
        acknowledged_seconds: first.acknowledged_seconds + second.acknowledged_seconds,
        before: first.before,
        peak_memory_bytes: first.peak_memory_bytes.max(second.peak_memory_bytes),
        peak_backlog: first.peak_backlog.max(second.peak_backlog),
        ..second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{Asked, Change, FakeIndex, LiveSet, TruthQuestion};
    use gleann::{SearchOptions, Silent};
    use gleann_vector::Matrix;

    #[test]
    fn rounds_keep_the_number_and_compare_with_a_fresh_build() {
        let elements: Vec<u8> = (0..160).map(|i| (i * 7 % 251) as u8).collect();
        let (base, queries) = (Matrix::from_rows(&elements, 2), Matrix::from_rows(&[3u8, 77, 140, 9], 2));
        let index = FakeIndex::default();
        let asked = Asked::saturating(&queries, 5, SearchOptions::default(), 1);
        let bench = Bench { target: &index, base: &base, asked, update_clients: 4 };
        let fill: Vec<Change> = (0..60).map(|row| Change::Insert { tag: row, row }).collect();
        bench.phase(Work::Change { changes: &fill, settle: &[] }, false).unwrap();
        let question = TruthQuestion { base: &base, queries: &queries, metric: Metric::L2, depth: 20 };
        let mut truth = ChangingTruth::new(question, LiveSet::of_rows(60, 80), &Silent).unwrap();
        let shape = || Ok(Shape { mean_degree: Some(12.5), unreachable: Some(0) });
        let mut churn = Churn {
            bench: &bench,
            truth: &mut truth,
            metric: Metric::L2,
            choice: Choice::new(60, 80, 1),
            setup: Setup::default(),
            shape: &shape,
        };
        let before = churn.before().unwrap();
        assert_eq!((before.step, before.recall, before.updates.vectors), (Some(0), Some(1.0), 0));
        for round in 1..=6 {
            let row = churn.round(round, 12).unwrap();
            assert_eq!((row.step, row.index.live, row.updates.vectors), (Some(round), 60, 24));
            assert_eq!(
                (row.recall, row.index.mean_degree, row.index.unreachable),
                (Some(1.0), Some(12.5), Some(0))
            );
        }
        let fresh = FakeIndex::hiding(&[index.keys()[0]]);
        for (tag, row) in churn.truth.set().clone().entries() {
            fresh.insert(tag.into(), base.row(row as usize)).unwrap();
        }
        let row = churn.compared(&fresh, shape().unwrap()).unwrap();
        assert_eq!((row.phase.as_str(), row.index.live), ("fresh build", 60));
        assert!(churn.round(7, 61).is_err());
    }
}
