//! Random operations, whatever the backend.

use crate::steps::{Session, Step, steps};
use gleann_storage::SimVolume;
use gleann_update::Backend;

/// Random steps of an index of so many rows.
fn take_steps(backend: Backend, mixed: bool, (seed, rows): (u64, u64)) {
    let mut session = Session::begin(&SimVolume::new(), backend, rows);
    session.mixed = mixed;
    session.check("at the beginning");
    for (number, step) in steps(seed, 300, 120).into_iter().enumerate() {
        let context = format!("{backend}, mixed {mixed}, seed {seed}, step {number} {step:?}");
        session.take((number, step)).unwrap_or_else(|error| panic!("{context}: {error}"));
        if number % 10 == 9 || matches!(step, Step::Repair | Step::Reopen) {
            session.check(&context);
        }
    }
}

#[test]
fn random_operations_do_what_the_model_says() {
    for backend in [Backend::Odin, Backend::Fresh] {
        for shape in [(1, 60), (2, 0), (3, 1), (4, 150), (5, 300), (6, 12)] {
            take_steps(backend, false, shape);
        }
    }
}

#[test]
fn direct_and_buffered_inserts_go_together() {
    for shape in [(11, 60), (12, 0), (13, 1), (14, 150), (15, 300)] {
        take_steps(Backend::Odin, true, shape);
    }
}
