//! Random operations, whatever the backend.

use crate::steps::{Session, Step, steps};
use gleann_storage::SimVolume;
use gleann_update::Backend;

#[test]
fn random_operations_do_what_the_model_says() {
    for backend in [Backend::Odin, Backend::Fresh] {
        for (seed, rows) in [(1, 60), (2, 0), (3, 1), (4, 150), (5, 300), (6, 12)] {
            let mut session = Session::begin(&SimVolume::new(), backend, rows);
            session.check("at the beginning");
            for (number, step) in steps(seed, 300, 120).into_iter().enumerate() {
                session.take((number, step)).unwrap();
                if number % 10 == 9 || matches!(step, Step::Repair | Step::Reopen) {
                    session.check(&format!("{backend}, seed {seed}, step {number} {step:?}"));
                }
            }
        }
    }
}
