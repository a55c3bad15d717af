//! Updates in the middle of checkpoints and merges, with a power loss on top.

use crate::crash::check_image;
use crate::model::History;
use crate::steps::{Numbers, Session, Step, begin};
use crate::watched::Watched;
use gleann_storage::Volume;
use gleann_update::Backend;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const KEYS: u64 = 150;

/// Whether no lock of the index is held while this file changes.
fn can_meddle(name: &str) -> bool {
    !name.is_empty() && !name.starts_with("wal-")
}

fn meddle((backend, mixed): (Backend, bool), seed: u64, rows: u64) -> usize {
    let watched = Watched::new();
    let volume: Arc<dyn Volume> = Arc::new(watched.clone());
    let model = begin(&volume, backend, rows);
    let mut session = Session::open(&volume, model).unwrap();
    session.mixed = mixed;
    let meddled = Arc::new(AtomicUsize::new(0));
    let numbers = Arc::new(Mutex::new(Numbers(seed)));
    for round in 0..12 {
        let updates = numbers.lock().unwrap().below(30);
        for _ in 0..updates {
            let step = numbers.lock().unwrap().update(KEYS);
            session.take((2000 * round, step)).unwrap();
        }
        let (other, count, random) = (session.clone(), meddled.clone(), numbers.clone());
        let mut operation = 2000 * round;
        watched.watch(move |volume, name| {
            operation += 1;
            let seed = random.lock().unwrap().below(4);
            if can_meddle(name) {
                count.fetch_add(1, Ordering::Relaxed);
                for _ in 0..3 {
                    let step = random.lock().unwrap().update(KEYS);
                    other.update((operation * 7, step)).unwrap();
                }
                if seed == 1 {
                    other.live.flush().unwrap();
                    other.history().settle();
                }
            }
            let history: History = other.history().clone();
            let survival = if seed == 3 { u64::MAX } else { seed };
            let context = format!("{backend} {seed}: round {round}, operation {operation} ({name})");
            check_image(volume.crash_image(survival), &history, (6, &context));
        });
        let step = if round % 3 == 2 { Step::Checkpoint } else { Step::Repair };
        session.take((0, step)).unwrap();
        watched.look_away();
        session.check(&format!("{backend} {seed}: after round {round}"));
        session.live.flush().unwrap();
        session.history().settle();
        if round % 4 == 3 {
            session.take((0, Step::Reopen)).unwrap();
            session.check(&format!("{backend} {seed}: round {round}, opened again"));
        }
    }
    meddled.load(Ordering::Relaxed)
}

#[test]
fn updates_in_the_middle_of_a_checkpoint_are_neither_lost_nor_half_done() {
    for manner in [(Backend::Odin, false), (Backend::Fresh, false), (Backend::Odin, true)] {
        for (seed, rows) in [(41, 0), (42, 50), (43, 140)] {
            let meddled = meddle(manner, seed, rows);
            assert!(meddled > 40, "{manner:?}: {meddled} times");
        }
    }
}
