//! Random commits, and readers that hold on to old tables.

use crate::model::{Model, layout, number_in, open, place, write};
use gleann_storage::{Area, LogicalBlock, PageTable, SimVolume};
use gleann_update::{Commit, Pages, PagesError};
use proptest::prelude::*;
use std::sync::Arc;

/// One step inside a commit.
#[derive(Debug, Clone)]
pub enum Change {
    /// Writes a block; where counts from the end of the area, 0 appends.
    Write { area: Area, back: u32 },
    /// Gives up the last blocks.
    Truncate { area: Area, blocks: u32 },
}

#[derive(Debug, Clone)]
struct Round {
    changes: Vec<Change>,
    /// Whether the commit is dropped in the end.
    dropped: bool,
    /// Whether somebody takes the table of before and keeps it.
    hold: bool,
    /// How many of those who hold a table, from this place on, let go.
    let_go: Option<usize>,
    reopen: bool,
}

fn area() -> impl Strategy<Value = Area> {
    prop::sample::select(vec![Area::Records, Area::Records, Area::Codes, Area::Keys])
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => area().prop_map(|area| Change::Write { area, back: 0 }),
        6 => (area(), 0..12u32).prop_map(|(area, back)| Change::Write { area, back }),
        1 => (area(), 0..6u32).prop_map(|(area, blocks)| Change::Truncate { area, blocks }),
    ]
}

/// What one commit does.
pub fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(change(), 0..25)
}

fn round() -> impl Strategy<Value = Round> {
    let hold = prop::bool::weighted(0.4);
    let let_go = prop::option::weighted(0.4, 0..5usize);
    (changes(), prop::bool::weighted(0.2), hold, let_go, prop::bool::weighted(0.1))
        .prop_map(|(changes, dropped, hold, let_go, reopen)| Round { changes, dropped, hold, let_go, reopen })
}

/// Does to a commit and to the model what `changes` say; to the model also what the commit did not come to. The numbers
/// follow from `stamp`.
pub fn apply(
    changes: &[Change],
    stamp: u64,
    commit: &mut Commit,
    model: &mut Model,
) -> Result<(), PagesError> {
    let mut outcome = Ok(());
    for (change, number) in changes.iter().zip(stamp * 1000..) {
        match *change {
            Change::Write { area, back } => {
                let numbers = &mut model.0[area as usize];
                let index = (numbers.len() as u32).saturating_sub(back);
                outcome = outcome.and_then(|()| write(commit, LogicalBlock { area, index }, number));
                if index as usize == numbers.len() {
                    numbers.push(number);
                } else {
                    numbers[index as usize] = number;
                }
            }
            Change::Truncate { area, blocks } => {
                let numbers = &mut model.0[area as usize];
                let count = (numbers.len() as u32).saturating_sub(blocks);
                commit.truncate(area, count);
                numbers.truncate(count as usize);
            }
        }
    }
    outcome
}

/// What a commit under way reads is what it and the model have.
fn expect_draft(commit: &mut Commit, model: &Model) {
    let mut bytes = vec![0; layout().block_bytes()];
    for (area, numbers) in Area::ALL.into_iter().zip(&model.0) {
        assert_eq!(commit.blocks(area) as usize, numbers.len());
        for (index, &number) in (0..).zip(numbers) {
            commit.read(LogicalBlock { area, index }, &mut bytes).unwrap();
            assert_eq!(number_in(&bytes), number);
        }
        assert!(commit.read(LogicalBlock { area, index: numbers.len() as u32 }, &mut bytes).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_table_that_is_held_keeps_its_content(rounds in prop::collection::vec(round(), 1..25)) {
        let volume = SimVolume::new();
        let mut pages = Pages::create(place(&volume), b"root").unwrap();
        let mut model = Model::default();
        let mut held: Vec<(Arc<PageTable>, Model)> = Vec::new();
        for (stamp, round) in (1..).zip(&rounds) {
            if round.hold {
                held.push((pages.table(), model.clone()));
            }
            let mut next = model.clone();
            let mut commit = pages.begin().unwrap();
            assert!(matches!(pages.begin(), Err(PagesError::Busy { .. })));
            apply(&round.changes, stamp, &mut commit, &mut next).unwrap();
            expect_draft(&mut commit, &next);
            prop_assert_eq!(&Model::read(&pages, &pages.table()), &model);
            if round.dropped {
                drop(commit);
            } else {
                let table = commit.finish(&stamp.to_le_bytes()).unwrap();
                prop_assert_eq!(&table, &pages.table());
                model = next;
            }
            if let Some(first) = round.let_go {
                held.truncate(first);
            }
            if round.reopen {
                held.clear();
                pages = open(&volume).0;
                prop_assert_eq!(pages.retired_blocks(), 0);
            }
            prop_assert_eq!(&Model::read(&pages, &pages.table()), &model);
            for (table, content) in &held {
                prop_assert_eq!(&Model::read(&pages, table), content);
            }
            expect_every_place_once(&pages, held.iter().map(|(table, _)| &**table));
        }
    }
}

/// Free, retired and named places are all places of the file, and a place is retired only while a table names it.
fn expect_every_place_once<'a>(pages: &Pages, held: impl Iterator<Item = &'a PageTable>) {
    let now = pages.table();
    let mut named: Vec<u32> = now.areas().iter().flatten().copied().collect();
    let in_force = named.len();
    named.extend(held.flat_map(|table| table.areas().iter().flatten().copied()));
    named.sort_unstable();
    named.dedup();
    assert_eq!(pages.retired_blocks() as usize, named.len() - in_force);
    assert_eq!(pages.free_blocks() as usize + named.len(), pages.file_blocks() as usize);
}
