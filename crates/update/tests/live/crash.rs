//! A power loss before every operation of the disk.

use crate::model::{History, Model};
use crate::steps::{Numbers, Session, Step, begin, steps};
use crate::watched::Watched;
use crate::world::{self, Shape, vector, write_static};
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Backend, Durability, UpdateError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const KEYS: u64 = 150;
/// Nothing that was not synced survives, everything does, some does.
const SEEDS: [u64; 4] = [0, u64::MAX, 1, 2];

/// Opens what a power loss has left: what was settled is there, of what was pending the first few; and the index goes on.
pub fn check_image(image: SimVolume, history: &History, (steps, context): (usize, &str)) {
    let volume: Arc<dyn Volume> = Arc::new(image);
    let mut session =
        Session::open(&volume, Model::default()).unwrap_or_else(|error| panic!("{context}: {error}"));
    *session.history() = history.clone();
    session.history.lock().unwrap().decide(&session.live, KEYS, context);
    session.check(context);
    let mut numbers = Numbers(steps as u64 + history.settled.0.len() as u64);
    for number in 0..steps {
        let step = numbers.step(KEYS);
        session.take((5000 + number, step)).unwrap_or_else(|error| panic!("{context}, {step:?}: {error}"));
    }
    session.check(&format!("{context}, {steps} steps later"));
}

fn crash_everywhere((backend, mixed): (Backend, bool), (seed, rows): (u64, u64), stride: usize) -> usize {
    let watched = Watched::new();
    let volume: Arc<dyn Volume> = Arc::new(watched.clone());
    let model = begin(&volume, backend, rows);
    let mut session = Session::open(&volume, model).unwrap();
    session.mixed = mixed;
    let now = Arc::new(Mutex::new((0, Step::Reopen)));
    let checked = Arc::new(AtomicUsize::new(0));
    let (count, step, history) = (checked.clone(), now.clone(), session.history.clone());
    let mut operation = 0;
    watched.watch(move |volume, name| {
        operation += 1;
        if operation % stride != 0 {
            return;
        }
        let survival = SEEDS[operation / stride % SEEDS.len()];
        let (at, step) = *step.lock().unwrap();
        let context = format!(
            "{backend} {seed}: power loss {survival} before operation {operation} ({name}), step {at} {step:?}"
        );
        let history = history.lock().unwrap().clone();
        check_image(volume.crash_image(survival), &history, (10, &context));
        count.fetch_add(1, Ordering::Relaxed);
    });
    for (number, step) in steps(seed, 90, KEYS).into_iter().enumerate() {
        *now.lock().unwrap() = (number, step);
        session.take((number, step)).unwrap();
    }
    watched.look_away();
    session.check("without a crash");
    checked.load(Ordering::Relaxed)
}

#[test]
fn what_was_acknowledged_survives_a_power_loss_at_any_operation() {
    let manners = [(Backend::Odin, false, 1), (Backend::Fresh, false, 2), (Backend::Odin, true, 3)];
    for (backend, mixed, stride) in manners {
        for (seed, rows) in [(21, 40), (22, 0), (23, 150)] {
            let checked = crash_everywhere((backend, mixed), (seed, rows), stride);
            assert!(checked * stride > 200, "{backend}: {checked} crashes");
        }
    }
}

#[test]
fn an_index_is_made_live_whole_or_can_be_made_live_again() {
    for (backend, rows) in [(Backend::Odin, 55), (Backend::Fresh, 0)] {
        let vectors: Vec<_> = (0..rows).map(vector).collect();
        let model = Model((0..rows).zip(vectors.iter().copied()).collect());
        let watched = Watched::new();
        let volume: Arc<dyn Volume> = Arc::new(watched.clone());
        let index = Arc::new(write_static(&volume, Shape::small(), &vectors));
        let (again, history) = (index.clone(), History { settled: model, pending: Vec::new() });
        let checked = Arc::new(AtomicUsize::new(0));
        let count = checked.clone();
        watched.watch(move |volume, _| {
            for seed in 0..8 {
                let image = volume.crash_image(seed);
                let shared: Arc<dyn Volume> = Arc::new(image.clone());
                let context = format!("making it live, power loss {seed}");
                match world::open(&shared, Durability::Each) {
                    Ok(_) => {}
                    Err(UpdateError::Unfinished { .. } | UpdateError::Pages(_)) => {
                        again.adopt(&shared, backend).unwrap();
                    }
                    Err(error) => panic!("{context}: {error}"),
                }
                check_image(image, &history, (20, &context));
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        index.adopt(&volume, backend).unwrap();
        watched.look_away();
        assert!(checked.load(Ordering::Relaxed) > 64);
    }
}
