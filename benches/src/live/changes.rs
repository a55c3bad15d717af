//! Changes of an index, made by several clients at once, each waiting for its answer.

use super::target::LiveTarget;
use anyhow::{Context, Result};
use gleann::Element;
use gleann_vector::RowSource;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// One change of one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A new tag with the vector of a row.
    Insert {
        /// The tag.
        tag: u32,
        /// The row.
        row: u32,
    },
    /// A tag, new or not, with the vector of a row.
    Upsert {
        /// The tag.
        tag: u32,
        /// The row.
        row: u32,
    },
    /// A tag goes.
    Delete {
        /// The tag.
        tag: u32,
    },
}

impl Change {
    /// The tag, and its row after the change.
    pub fn result(self) -> (u32, Option<u32>) {
        match self {
            Change::Insert { tag, row } | Change::Upsert { tag, row } => (tag, Some(row)),
            Change::Delete { tag } => (tag, None),
        }
    }

    /// Makes the change; whether the index had reason to.
    fn make<T: Element>(self, target: &dyn LiveTarget<T>, base: &dyn RowSource<T>) -> Result<bool> {
        let (tag, row) = self.result();
        let Some(row) = row else { return target.delete(tag.into()) };
        let mut vector = vec![T::zeroed(); base.dim()];
        base.read_rows(row.into(), &mut vector)?;
        match self {
            Change::Upsert { .. } => target.upsert(tag.into(), &vector).map(|_| true),
            _ => target.insert(tag.into(), &vector),
        }
    }
}

/// When a change was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Acknowledged {
    /// Seconds since the clients began.
    pub at: f64,
    /// Microseconds from call to answer.
    pub took_us: f64,
}

/// What became of changes.
#[derive(Debug, Default)]
pub struct Made {
    /// Every change that was acknowledged.
    pub acknowledged: Vec<Acknowledged>,
    /// Those among them that did nothing: inserts of tags that were there, deletes of tags that were not.
    pub refused: u64,
}

/// Makes `changes`, in about their order, with so many `clients`.
///
/// # Errors
/// The first change that fails.
pub fn make<T: Element>(
    target: &dyn LiveTarget<T>,
    base: &dyn RowSource<T>,
    changes: &[Change],
    clients: usize,
) -> Result<Made> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (begun, outcomes) = (Instant::now(), Mutex::new(Vec::new()));
    let client = || {
        let mut made = Made::default();
        let mut work = || -> Result<()> {
            while !failed.load(Ordering::Relaxed) {
                let Some(&change) = changes.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let called = Instant::now();
                let has_done = change.make(target, base).with_context(|| format!("{change:?}"))?;
                made.refused += u64::from(!has_done);
                let (at, took_us) = (begun.elapsed().as_secs_f64(), called.elapsed().as_secs_f64() * 1e6);
                made.acknowledged.push(Acknowledged { at, took_us });
            }
            Ok(())
        };
        let outcome = work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let outcome = outcome.map(|()| made);
        outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(outcome);
    };
    std::thread::scope(|scope| {
        for _ in 0..clients.min(changes.len()) {
            scope.spawn(client);
        }
    });
    let mut all = Made::default();
    for made in outcomes.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        let made = made?;
        all.acknowledged.extend(made.acknowledged);
        all.refused += made.refused;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::fake::FakeIndex;
    use gleann_vector::Matrix;

    #[test]
    fn every_change_is_made_once_and_what_did_nothing_is_counted() {
        let base = Matrix::from_rows(&(0..200u8).collect::<Vec<_>>(), 1);
        let index = FakeIndex::default();
        let inserts: Vec<Change> = (0..200).map(|row| Change::Insert { tag: row, row }).collect();
        let made = make(&index, &base, &inserts, 7).unwrap();
        assert_eq!((made.acknowledged.len(), made.refused, index.keys().len()), (200, 0, 200));
        let again = [inserts[3], Change::Delete { tag: 5 }, Change::Upsert { tag: 6, row: 0 }];
        assert_eq!(make(&index, &base, &again, 1).unwrap().refused, 1);
        assert_eq!(make(&index, &base, &[Change::Delete { tag: 5 }], 4).unwrap().refused, 1);
        assert_eq!(index.keys().len(), 199);
        let error = make(&index, &base, &[Change::Insert { tag: 300, row: 300 }], 2).unwrap_err();
        assert!(format!("{error:#}").contains("row: 300"), "{error:#}");
    }
}
