//! Operations that fail, and a disk that is full.

use crate::model::{Model, open, place, record, write, write_all};
use crate::scripts::{Change, apply, changes};
use gleann_storage::{SimVolume, StorageError};
use gleann_update::{Pages, PagesError};
use proptest::prelude::*;
use std::io::ErrorKind;

/// What came of a script with failures.
struct Outcome {
    pages: Pages,
    model: Model,
    /// The state that may be on the disk instead.
    other: Option<Model>,
}

/// Runs all commits of a script, whatever becomes of each, and compares after every one.
fn run(volume: &SimVolume, script: &[Vec<Change>]) -> Result<Outcome, PagesError> {
    let pages = Pages::create(place(volume), b"")?;
    let mut out = Outcome { pages, model: Model::default(), other: None };
    for (stamp, changes) in (1..).zip(script) {
        let mut next = out.model.clone();
        let outcome = out.pages.begin().and_then(|mut commit| {
            apply(changes, stamp, &mut commit, &mut next)?;
            commit.finish(b"")
        });
        match outcome {
            Ok(_) => {
                assert!(out.other.is_none(), "a commit after one of unknown outcome");
                out.model = next;
            }
            Err(PagesError::Unsure { .. }) => out.other = out.other.or(Some(next)),
            Err(PagesError::Storage(StorageError::Io { .. })) => {}
            Err(error) => panic!("{error}"),
        }
        assert_eq!(Model::read(&out.pages, &out.pages.table()), out.model);
    }
    Ok(out)
}

fn expect_state(volume: &SimVolume, expected: &Outcome) {
    let (pages, _) = open(volume);
    let found = Model::read(&pages, &pages.table());
    assert!(found == expected.model || Some(&found) == expected.other.as_ref());
    write_all(&pages, 3, 99).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_failed_operation_costs_its_commit_and_no_other(script in prop::collection::vec(changes(), 1..6)) {
        let whole = SimVolume::new();
        run(&whole, &script).unwrap();
        for (operation, lasting) in (0..whole.operations()).flat_map(|at| [(at, false), (at, true)]) {
            let volume = SimVolume::new();
            match lasting {
                true => volume.fail_from(operation, ErrorKind::Other),
                false => volume.fail_at(operation, ErrorKind::Other),
            }
            let Ok(outcome) = run(&volume, &script) else {
                // The index was not made; another try makes it, unless the first came to the last step.
                volume.heal();
                let again = run(&volume, &script);
                assert!(matches!(again, Ok(_) | Err(PagesError::Exists { .. })));
                continue;
            };
            volume.heal();
            for seed in [0, 1, u64::MAX] {
                expect_state(&volume.crash_image(seed), &outcome);
            }
            expect_state(&volume, &outcome);
        }
    }
}

#[test]
fn a_commit_of_unknown_outcome_is_the_last() {
    for step in ["rename", "sync of the directory"] {
        let volume = SimVolume::new();
        let pages = Pages::create(place(&volume), b"").unwrap();
        write_all(&pages, 5, 1).unwrap();
        let before = volume.operations();
        write_all(&pages, 5, 2).unwrap();
        let each = volume.operations() - before;
        // The commit ends with: rename, sync of the directory.
        let last = volume.operations() + each - 1;
        volume.fail_at(if step == "rename" { last - 1 } else { last }, ErrorKind::Other);
        let (free, table) = (pages.free_blocks(), pages.table());
        let error = write_all(&pages, 5, 3).unwrap_err();
        assert!(matches!(error, PagesError::Unsure { .. }), "{step}: {error}");
        assert_eq!(
            (pages.free_blocks(), pages.table()),
            (free - 5, table),
            "{step}: places of both are kept"
        );
        assert_eq!(Model::read(&pages, &pages.table()), Model::of_records(5, 2));
        let message = pages.begin().err().unwrap().to_string();
        assert!(message.contains("simulated failure") && message.contains("open it again"), "{message}");
        // Opened again, the store goes on from what is there, and that survives.
        let (again, _) = open(&volume);
        let found = Model::read(&again, &again.table());
        let expected = Model::of_records(5, if step == "rename" { 2 } else { 3 });
        assert_eq!(found, expected, "{step}");
        let mut commit = again.begin().unwrap();
        (0..5).for_each(|index| write(&mut commit, record(index), 4).unwrap());
        for seed in 0..20 {
            let (pages, _) = open(&volume.crash_image(seed));
            assert_eq!(Model::read(&pages, &pages.table()), expected, "{step}, seed {seed}");
        }
    }
}

#[test]
fn a_full_disk_leaves_the_old_table_and_later_commits_work() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    write_all(&pages, 200, 1).unwrap();
    let (file, free) = (pages.file_blocks(), pages.free_blocks());
    // Room for some more blocks, but not for a step of growth; the rest must not be taken by the table.
    volume.set_capacity(volume.used() + 30 * 4096);
    for attempt in 2..5 {
        let error = write_all(&pages, 200, attempt).unwrap_err();
        assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull), "{error}");
        assert_eq!(Model::read(&pages, &pages.table()), Model::of_records(200, 1));
        assert_eq!(pages.file_blocks() - pages.free_blocks(), file - free, "places are given back");
    }
    assert!(pages.file_blocks() <= file + 30);
    // A commit that fits works, once what fills the disk gives way to the table.
    volume.set_capacity(volume.used() + 4096);
    write_all(&pages, 20, 6).unwrap();
    volume.set_capacity(u64::MAX);
    write_all(&pages, 200, 7).unwrap();
    assert_eq!(Model::read(&pages, &pages.table()), Model::of_records(200, 7));
}

#[test]
fn the_last_blocks_of_a_disk_are_used() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    write_all(&pages, 250, 1).unwrap();
    let (file, table) = (pages.file_blocks(), 100 + 4 * 250 + 8);
    assert_eq!((file, pages.free_blocks()), (256, 6));
    // Room for 20 blocks and the table beside the old one, not for a step of growth.
    volume.set_capacity(volume.used() + 20 * 4096 + table);
    assert!(write_all(&pages, 27, 2).is_err());
    assert_eq!((pages.file_blocks(), pages.free_blocks()), (276, 26));
    write_all(&pages, 26, 3).unwrap();
    assert_eq!(pages.free_blocks(), 26);
}

#[test]
fn no_room_for_the_table_costs_the_commit() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    write_all(&pages, 4, 1).unwrap();
    volume.set_capacity(volume.used() + 50);
    let error = write_all(&pages, 4, 2).unwrap_err();
    assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull), "{error}");
    assert!(error.to_string().contains("table.gln.tmp"), "{error}");
    assert_eq!(Model::read(&pages, &pages.table()), Model::of_records(4, 1));
    volume.set_capacity(u64::MAX);
    write_all(&pages, 4, 3).unwrap();
    let (pages, root) = open(&volume);
    assert_eq!(
        (Model::read(&pages, &pages.table()), &root[..]),
        (Model::of_records(4, 3), &3u64.to_le_bytes()[..])
    );
}

#[test]
fn a_commit_goes_no_further_after_an_error() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let mut commit = pages.begin().unwrap();
    volume.fail_at(volume.operations(), ErrorKind::Other);
    assert!(write(&mut commit, record(0), 1).is_err());
    assert!(matches!(write(&mut commit, record(0), 1), Err(PagesError::Abandoned { .. })));
    assert!(matches!(commit.finish(b""), Err(PagesError::Abandoned { .. })));
    assert_eq!(write_all(&pages, 1, 1).unwrap().sequence(), 1);
}

#[test]
fn a_hole_is_named() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let mut commit = pages.begin().unwrap();
    for index in [3, 0, 1] {
        write(&mut commit, record(index), 1).unwrap();
    }
    let message = commit.finish(b"").unwrap_err().to_string();
    assert!(message.contains("record block 2 was never written"), "{message}");
    let mut commit = pages.begin().unwrap();
    let error = write(&mut commit, record(1 << 31), 1).unwrap_err();
    assert!(matches!(error, PagesError::AreaFull { .. }), "{error}");
    write(&mut commit, record(0), 1).unwrap();
    commit.finish(b"").unwrap();
}
