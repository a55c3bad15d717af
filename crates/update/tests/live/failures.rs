//! A disk that refuses, once or from then on.

use crate::model::Model;
use crate::steps::{Session, Step, steps};
use crate::world::open;
use gleann_storage::SimVolume;
use gleann_update::{Backend, Durability, UpdateError};
use std::io::ErrorKind;

const KEYS: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    Once(ErrorKind),
    FromThenOn(ErrorKind),
    /// The disk is as full as it is: nothing grows until there is room.
    Full,
}

fn begin_failure(volume: &SimVolume, failure: Failure, operation: u64) {
    match failure {
        Failure::Once(kind) => volume.fail_at(volume.operations() + operation, kind),
        Failure::FromThenOn(kind) => volume.fail_from(volume.operations() + operation, kind),
        Failure::Full => {}
    }
}

/// Whether nothing of what failed may have changed anything, and the index goes on without being opened again.
fn is_harmless(error: &UpdateError) -> bool {
    error.io_kind() == Some(ErrorKind::StorageFull) && error.to_string().contains("nothing was logged")
}

/// Runs a sequence whose disk fails at an operation; the operations there were, and whether any failed.
fn run(backend: Backend, seed: u64, (failure, at): (Failure, u64)) -> (u64, bool) {
    let volume = SimVolume::new();
    let mut session = Session::begin(&volume, backend, 40);
    let before = volume.operations();
    begin_failure(&volume, failure, at);
    let mut failed = false;
    for (number, step) in steps(seed, 70, KEYS).into_iter().enumerate() {
        if failure == Failure::Full && number as u64 == at {
            volume.set_capacity(volume.used());
        }
        let context = format!("{backend} {seed}: {failure:?} at {at}, step {number} {step:?}");
        let Err(error) = session.take((number, step)) else { continue };
        failed = true;
        assert!(error.io_kind().is_some() || matches!(step, Step::Reopen), "{context}: {error}");
        // The index can be read, and has what it had, or what it was to have.
        let possible = session.history().possible();
        let which = Model::which(&possible, &session.live, KEYS, &context);
        possible[which].check(&session.live, &session.volume, &context);
        if is_harmless(&error) {
            assert_eq!(which, 0, "{context}: {error}");
            session.history().pending.clear();
        } else if matches!(step, Step::Insert(_) | Step::Upsert(_) | Step::Delete(_)) {
            let refused = session.take((9000, Step::Upsert(KEYS - 1))).unwrap_err();
            assert!(refused.to_string().contains("takes no more"), "{context}: {error}, then {refused}");
        }
        volume.heal();
        volume.set_capacity(u64::MAX);
        // Whatever is not sure is decided when the index is opened again. Every other time it is not.
        let update = matches!(step, Step::Insert(_) | Step::Upsert(_) | Step::Delete(_));
        if (update && !is_harmless(&error)) || number % 2 == 0 || at % 2 == 0 {
            session.live = open(&session.volume, Durability::Each).unwrap();
            session.history.lock().unwrap().decide(&session.live, KEYS, &context);
            session.check(&context);
        }
    }
    volume.heal();
    session.live = open(&session.volume, Durability::Each).unwrap();
    session.check(&format!("{backend} {seed}: {failure:?} at {at}, at the end"));
    (volume.operations() - before, failed)
}

#[test]
fn a_disk_that_fails_at_any_operation_takes_nothing_with_it() {
    for (backend, seed) in [(Backend::Odin, 31), (Backend::Fresh, 32)] {
        let (operations, failed) = run(backend, seed, (Failure::Once(ErrorKind::Other), u64::MAX >> 1));
        assert!(operations > 100 && !failed, "{operations} operations");
        for failure in [
            Failure::Once(ErrorKind::StorageFull),
            Failure::Once(ErrorKind::Other),
            Failure::FromThenOn(ErrorKind::Other),
        ] {
            for at in (0..operations).step_by(2) {
                run(backend, seed, (failure, at));
            }
        }
    }
}

#[test]
fn a_full_disk_stops_updates_until_there_is_room() {
    for (backend, seed) in [(Backend::Odin, 33), (Backend::Fresh, 34)] {
        let failed = (0..70).filter(|&at| run(backend, seed, (Failure::Full, at)).1).count();
        assert!(failed > 20, "{backend}: {failed} runs met the full disk");
    }
}
