//! Direct inserts.

use crate::model::Model;
use crate::world::{create, insert, open, vector};
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Backend, Delete, Durability, Live, Outcome, Rewrite, UpdateError};
use std::sync::Arc;

/// One step of a sequence.
#[derive(Debug, Clone, Copy)]
enum Step {
    Insert(u64),
    Upsert(u64),
    Delete(u64),
    Checkpoint,
    Repair,
    Reopen,
}

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn steps(seed: u64, count: usize, keys: u64) -> Vec<Step> {
    let mut numbers = Numbers(seed);
    (0..count)
        .map(|_| match numbers.below(20) {
            0..8 => Step::Insert(numbers.below(keys)),
            8..11 => Step::Upsert(numbers.below(keys)),
            11..17 => Step::Delete(numbers.below(keys)),
            17 => Step::Checkpoint,
            18 => Step::Repair,
            _ => Step::Reopen,
        })
        .collect()
}

fn begin(volume: &SimVolume, rows: u64) -> (Arc<dyn Volume>, Model) {
    let shared: Arc<dyn Volume> = Arc::new(volume.clone());
    let vectors: Vec<_> = (0..rows).map(vector).collect();
    create(&shared, Backend::Odin, &vectors);
    (shared, Model((0..rows).zip(vectors).collect()))
}

/// Takes a step with index and model. The error of the index leaves the model as it was.
fn take(
    step: (usize, Step),
    live: &mut Arc<Live<f32>>,
    volume: &Arc<dyn Volume>,
    model: &mut Model,
) -> Result<(), UpdateError> {
    let (number, step) = step;
    let fresh = vector(1000 + number as u64);
    match step {
        Step::Insert(key) => {
            let expected = if model.0.contains_key(&key) { Outcome::Taken } else { Outcome::Inserted };
            assert_eq!(insert(live, volume, (key, fresh, false))?, expected);
            model.0.entry(key).or_insert(fresh);
        }
        Step::Upsert(key) => {
            let expected = if model.0.contains_key(&key) { Outcome::Replaced } else { Outcome::Inserted };
            assert_eq!(insert(live, volume, (key, fresh, true))?, expected);
            model.0.insert(key, fresh);
        }
        Step::Delete(key) => {
            let expected = if model.0.contains_key(&key) { Delete::Deleted } else { Delete::NotFound };
            let (outcome, lsn) = live.delete(key)?;
            assert_eq!(outcome, expected);
            live.settled(lsn)?;
            model.0.remove(&key);
        }
        Step::Checkpoint => live.checkpoint(Rewrite::Changes)?,
        Step::Repair => live.checkpoint(Rewrite::Repaired)?,
        Step::Reopen => *live = open(volume, Durability::Each)?,
    }
    Ok(())
}

#[test]
fn random_operations_do_what_the_model_says() {
    for (seed, rows) in [(1, 60), (2, 0), (3, 1), (4, 150), (5, 300), (6, 12)] {
        let volume = SimVolume::new();
        let (shared, mut model) = begin(&volume, rows);
        let mut live = open(&shared, Durability::Each).unwrap();
        model.check(&live, &shared, "at the beginning");
        for (number, step) in steps(seed, 300, 120).into_iter().enumerate() {
            take((number, step), &mut live, &shared, &mut model).unwrap();
            if number % 10 == 9 || matches!(step, Step::Repair | Step::Reopen) {
                model.check(&live, &shared, &format!("seed {seed}, step {number} {step:?}"));
            }
        }
    }
}
