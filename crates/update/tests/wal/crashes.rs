//! A crash at every operation, with many ideas of what the disk kept: every committed record is there, in order and
//! unchanged, and what is there is a prefix of what was appended.

use super::{open, options};
use gleann_storage::SimVolume;
use gleann_update::{Durability, Lsn, Wal, WalError};
use proptest::prelude::*;
use std::io::ErrorKind;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Appends a record with so many bytes of payload.
    Append(usize),
    Commit,
    Flush,
    /// Rotates, lets the new segment be the first, removes those before.
    Checkpoint,
    Rotate,
    /// Closes the log and opens it again.
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => prop_oneof![0..60_usize, 400..700_usize, Just(3000), Just(20_000)].prop_map(Step::Append),
        5 => Just(Step::Commit),
        1 => Just(Step::Flush),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Rotate),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..30)
}

/// What the user of a log knows.
#[derive(Debug, Clone)]
struct User {
    durability: Durability,
    /// Every payload that was appended; record `lsn` is number `lsn - 1`. Those of a lost tail are replaced.
    appended: Vec<Vec<u8>>,
    /// The last record that is promised to be durable.
    promised: Lsn,
    /// The checkpoint: records up to `base` are in it, the log begins at segment `first`.
    base: Lsn,
    first: u64,
    /// Makes payloads differ that have the same number.
    generation: u8,
}

impl User {
    fn new(durability: Durability) -> Self {
        Self { durability, appended: Vec::new(), promised: Lsn(0), base: Lsn(0), first: 1, generation: 0 }
    }

    /// Opens the log and holds it against what the user knows; afterwards the user knows what there is.
    fn open(&mut self, volume: &SimVolume) -> Result<Wal, WalError> {
        let (wal, records) = open(volume, options(self.first, self.durability))?;
        let mut last = self.base;
        for (lsn, payload) in records {
            assert_eq!(lsn, Lsn(last.0 + 1), "in order and without gaps");
            assert!(self.appended.get(last.0 as usize) == Some(&payload), "record {lsn} is another one");
            last = lsn;
        }
        assert!(last >= self.promised, "record {} was promised, {last} is the last", self.promised);
        assert_eq!((wal.last_lsn(), wal.durable_lsn()), (last, last));
        self.appended.truncate(last.0 as usize);
        self.promised = last;
        self.generation += 1;
        Ok(wal)
    }

    /// Makes `steps` until one poisons the log.
    fn run(&mut self, volume: &SimVolume, steps: &[Step]) -> Result<(), WalError> {
        let mut wal = self.open(volume)?;
        for &step in steps {
            if let Step::Reopen = step {
                drop(wal);
                wal = self.open(volume)?;
                continue;
            }
            match self.make(&wal, step) {
                // The log goes on. It may also be the crash: then what follows fails too.
                Err(WalError::Full { .. } | WalError::Io { .. }) => {}
                done => done?,
            }
        }
        wal.flush()
    }

    fn make(&mut self, wal: &Wal, step: Step) -> Result<(), WalError> {
        let last = wal.last_lsn();
        match step {
            Step::Append(length) => {
                let mut payload = vec![self.generation; length];
                payload.extend_from_slice(&(last.0 + 1).to_le_bytes());
                // Known before it is appended: a failed append may leave its record.
                self.appended.push(payload.clone());
                let done = wal.append(&payload);
                if let Err(WalError::Full { .. }) = done {
                    self.appended.pop();
                }
                assert_eq!(done?, Lsn(last.0 + 1));
            }
            Step::Commit if last > Lsn(0) => {
                wal.commit(last)?;
                if self.durability != Durability::None {
                    self.promised = last;
                }
            }
            Step::Commit | Step::Reopen => {}
            Step::Flush => {
                wal.flush()?;
                self.promised = last;
            }
            Step::Rotate => drop(wal.rotate()?),
            Step::Checkpoint => {
                let first = wal.rotate()?;
                (self.first, self.base, self.promised) = (first, last, last);
                wal.remove_before(first)?;
            }
        }
        Ok(())
    }
}

/// Opens the log, appends to it, and loses power: what was committed is there.
fn goes_on(mut user: User, volume: &SimVolume) {
    user.run(volume, &[Step::Append(10), Step::Append(600), Step::Commit]).unwrap();
    user.run(&volume.crash_image(0), &[Step::Append(3000), Step::Reopen, Step::Append(1)]).unwrap();
}

fn survives_crashes(durability: Durability, steps: &[Step]) {
    let (volume, mut user) = (SimVolume::new(), User::new(durability));
    user.run(&volume, steps).unwrap();
    for operation in 0..volume.operations() {
        let (volume, mut user) = (SimVolume::new(), User::new(durability));
        volume.crash_at(operation);
        let _ = user.run(&volume, steps);
        for seed in (0..5).map(|seed| seed * (operation + 1)).chain([u64::MAX]) {
            goes_on(user.clone(), &volume.crash_image(seed));
            // And once more, at every operation of the recovery.
            for again in 0.. {
                let (image, mut user) = (volume.crash_image(seed), user.clone());
                image.crash_at(again);
                if user.open(&image).is_ok() {
                    break;
                }
                goes_on(user, &image.crash_image(seed.wrapping_mul(31)));
            }
        }
    }
}

/// Every operation fails once. The log is then opened as the page cache shows it, and what that has replayed
/// survives a power loss.
fn survives_failures(durability: Durability, steps: &[Step]) {
    let (volume, mut user) = (SimVolume::new(), User::new(durability));
    user.run(&volume, steps).unwrap();
    for operation in 0..volume.operations() {
        for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
            let (volume, mut user) = (SimVolume::new(), User::new(durability));
            volume.fail_at(operation, kind);
            let _ = user.run(&volume, steps);
            drop(user.open(&volume).unwrap());
            goes_on(user, &volume.crash_image(0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn what_was_committed_survives_a_crash(steps in steps()) {
        survives_crashes(Durability::Each, &steps);
    }

    #[test]
    fn what_was_flushed_survives_a_crash(steps in steps()) {
        survives_crashes(Durability::None, &steps);
    }

    #[test]
    fn what_was_committed_survives_a_failure(steps in steps()) {
        survives_failures(Durability::Each, &steps);
    }

    #[test]
    fn what_was_flushed_survives_a_failure(steps in steps()) {
        survives_failures(Durability::None, &steps);
    }
}

#[test]
fn a_group_survives_a_crash() {
    let group = Durability::Group(Duration::from_micros(1));
    let steps = [Step::Append(50), Step::Append(3000), Step::Commit, Step::Append(700), Step::Append(700)];
    survives_crashes(
        group,
        &[&steps[..], &[Step::Commit, Step::Checkpoint, Step::Append(1), Step::Commit]].concat(),
    );
}

#[test]
fn a_torn_batch_is_cut_and_the_log_goes_on() {
    let (volume, mut user) = (SimVolume::new(), User::new(Durability::Each));
    let batch = [Step::Append(700); 4];
    // The last operation is the sync of the batch.
    user.run(&volume, &[&[Step::Append(100), Step::Commit], &batch[..], &[Step::Commit]].concat()).unwrap();
    let sync = volume.operations() - 1;
    let mut lasts = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let (volume, mut user) = (SimVolume::new(), User::new(Durability::Each));
        volume.crash_at(sync);
        assert!(
            user.run(&volume, &[&[Step::Append(100), Step::Commit], &batch[..], &[Step::Commit]].concat())
                .is_err()
        );
        assert_eq!(user.promised, Lsn(1));
        let image = volume.crash_image(seed);
        lasts.insert(user.clone().open(&volume.crash_image(seed)).unwrap().last_lsn().0);
        goes_on(user.clone(), &image);
        // A record as long as a lost one: whole ones that lay behind that do not come back.
        user.run(&volume.crash_image(seed), &[Step::Append(700), Step::Commit, Step::Reopen]).unwrap();
    }
    assert!(lasts.len() >= 3, "the batch was torn in many places: {lasts:?}");
}
