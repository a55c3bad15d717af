//! Buffered inserts and merges.

use crate::model::Model;
use crate::world::{create, open, vector};
use gleann_storage::{SimVolume, VirtualClock, Volume, VolumeIo};
use gleann_update::{Backend, Committed, Delete, Durability, Live, Outcome, Rewrite, UpdateError};
use std::io;
use std::sync::Arc;

/// A clock of no use to anybody: nothing here has a deadline.
#[derive(Clone)]
pub struct Still;

impl gleann_storage::Clock for Still {
    fn now_ns(&self) -> u64 {
        0
    }
}

pub fn merge(live: &Arc<Live<f32>>, volume: &Arc<dyn Volume>) -> Result<(), UpdateError> {
    let disk = || -> io::Result<VolumeIo> {
        let file = volume.open("graph.gln")?.ok_or(io::ErrorKind::NotFound)?;
        Ok(VolumeIo::new(file, 128))
    };
    live.merge(&disk, &Still)
}

fn put(live: &Arc<Live<f32>>, (key, vector): (u64, &[f32]), replace: bool) -> Result<Outcome, UpdateError> {
    let Committed { outcome, lsn, .. } = live.put(key, vector, replace)?;
    live.settled(lsn)?;
    Ok(outcome)
}

#[test]
fn random_operations_do_what_the_model_says() {
    let _ = VirtualClock::default();
    for (seed, rows) in [(1u64, 60u64), (2, 0), (3, 1), (4, 150), (5, 300)] {
        let volume: Arc<dyn Volume> = Arc::new(SimVolume::new());
        let vectors: Vec<_> = (0..rows).map(vector).collect();
        create(&volume, Backend::Fresh, &vectors);
        let mut model = Model((0..rows).zip(vectors).collect());
        let mut live = open(&volume, Durability::Each).unwrap();
        model.check(&live, &volume, "at the beginning");
        let mut state = seed;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        for number in 0..400u64 {
            let (kind, key, new) = (below(22), below(120), vector(1000 + number));
            let known = model.0.contains_key(&key);
            match kind {
                0..9 => {
                    let expected = if known { Outcome::Taken } else { Outcome::Inserted };
                    assert_eq!(put(&live, (key, &new), false).unwrap(), expected);
                    model.0.entry(key).or_insert(new);
                }
                9..12 => {
                    let expected = if known { Outcome::Replaced } else { Outcome::Inserted };
                    assert_eq!(put(&live, (key, &new), true).unwrap(), expected);
                    model.0.insert(key, new);
                }
                12..18 => {
                    let expected = if known { Delete::Deleted } else { Delete::NotFound };
                    let (outcome, lsn) = live.delete(key).unwrap();
                    assert_eq!(outcome, expected);
                    live.settled(lsn).unwrap();
                    model.0.remove(&key);
                }
                18 | 19 => merge(&live, &volume).unwrap(),
                20 => live.checkpoint(Rewrite::Repaired).unwrap(),
                _ => {
                    drop(live);
                    live = open(&volume, Durability::Each).unwrap();
                }
            }
            if number % 10 == 9 || kind >= 18 {
                model.check(&live, &volume, &format!("seed {seed}, operation {number} of kind {kind}"));
            }
        }
        assert_eq!(live.figures().live, model.0.len() as u64);
    }
}
