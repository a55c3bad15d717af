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

/// Sequences by backend: more where somebody asks for more.
fn sequences() -> u64 {
    std::env::var("GLEANN_SEQUENCES")
        .map_or(1000, |count| count.parse().expect("GLEANN_SEQUENCES is a number"))
}

#[test]
fn thousands_of_short_sequences_do_what_the_model_says() {
    for backend in [Backend::Odin, Backend::Fresh] {
        for seed in 0..sequences() {
            let mut session = Session::begin(&SimVolume::new(), backend, seed % 7 * 5);
            session.mixed = backend == Backend::Odin && seed % 3 == 0;
            for (number, step) in steps(1 << 32 | seed, 25, 30).into_iter().enumerate() {
                let context = format!("{backend}, seed {seed}, step {number} {step:?}");
                session.take((number, step)).unwrap_or_else(|error| panic!("{context}: {error}"));
            }
            session.check(&format!("{backend}, seed {seed}, at the end"));
            session
                .take((25, Step::Reopen))
                .unwrap_or_else(|error| panic!("{backend}, seed {seed}: {error}"));
            session.check(&format!("{backend}, seed {seed}, opened again"));
        }
    }
}
