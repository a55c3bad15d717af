//! Random sequences of operations, and what they come to in index and model.

use crate::model::{History, Model};
use crate::world::{create, insert_unsettled, open, repair, vector};
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Backend, Delete, Durability, Live, Lsn, Outcome, Rewrite, UpdateError};
use std::sync::{Arc, Mutex, MutexGuard};

/// One step of a sequence.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Insert(u64),
    Upsert(u64),
    Delete(u64),
    Checkpoint,
    Repair,
    Reopen,
}

/// Random numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A step that is about one key of so many.
    pub fn update(&mut self, keys: u64) -> Step {
        match self.below(17) {
            0..8 => Step::Insert(self.below(keys)),
            8..11 => Step::Upsert(self.below(keys)),
            _ => Step::Delete(self.below(keys)),
        }
    }

    pub fn step(&mut self, keys: u64) -> Step {
        match self.below(20) {
            0..17 => self.update(keys),
            17 => Step::Checkpoint,
            18 => Step::Repair,
            _ => Step::Reopen,
        }
    }
}

pub fn steps(seed: u64, count: usize, keys: u64) -> Vec<Step> {
    let mut numbers = Numbers(seed);
    (0..count).map(|_| numbers.step(keys)).collect()
}

/// A new index of so many rows, with the keys 0, 1, …
pub fn begin(volume: &Arc<dyn Volume>, backend: Backend, rows: u64) -> Model {
    let vectors: Vec<_> = (0..rows).map(vector).collect();
    create(volume, backend, &vectors);
    Model((0..rows).zip(vectors).collect())
}

/// An open index and what it should hold.
#[derive(Clone)]
pub struct Session {
    pub live: Arc<Live<f32>>,
    pub volume: Arc<dyn Volume>,
    pub history: Arc<Mutex<History>>,
    /// Whether some vectors are buffered although others are inserted directly, as after a compaction.
    pub mixed: bool,
}

impl Session {
    pub fn open(volume: &Arc<dyn Volume>, model: Model) -> Result<Self, UpdateError> {
        let history = Arc::new(Mutex::new(History { settled: model, pending: Vec::new() }));
        Ok(Self { live: open(volume, Durability::Each)?, volume: volume.clone(), history, mixed: false })
    }

    /// A session of a new index.
    pub fn begin(volume: &SimVolume, backend: Backend, rows: u64) -> Self {
        let shared: Arc<dyn Volume> = Arc::new(volume.clone());
        let model = begin(&shared, backend, rows);
        Self::open(&shared, model).unwrap()
    }

    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap()
    }

    /// What the index holds.
    pub fn model(&self) -> Model {
        self.history().latest()
    }

    /// Takes a step, and waits until it lasts. After an error of an update, it is pending in the history.
    pub fn take(&mut self, (number, step): (usize, Step)) -> Result<(), UpdateError> {
        let lsn = match step {
            // What is buffered stays so, whatever a checkpoint does.
            Step::Checkpoint if (self.mixed || self.live.is_buffered()) && number % 2 == 0 => {
                return self.live.checkpoint(Rewrite::Repaired);
            }
            Step::Checkpoint => return self.live.checkpoint(Rewrite::Changes),
            Step::Repair => return repair(&self.live, &self.volume),
            Step::Reopen => {
                self.live = open(&self.volume, Durability::Each)?;
                return Ok(());
            }
            update => self.update((number, update))?,
        };
        self.live.settled(lsn)?;
        self.history().settle();
        Ok(())
    }

    /// Makes an update that a crash may still take away.
    pub fn update(&self, (number, step): (usize, Step)) -> Result<Option<Lsn>, UpdateError> {
        let fresh = vector(1000 + number as u64);
        let (Step::Insert(key) | Step::Upsert(key) | Step::Delete(key)) = step else {
            panic!("{step:?} is no update")
        };
        let there = self.model().0.contains_key(&key);
        let replace = matches!(step, Step::Upsert(_));
        if matches!(step, Step::Delete(_)) {
            if there {
                self.history().pending.push((key, None));
            }
            let (outcome, lsn) = self.live.delete(key)?;
            assert_eq!(outcome, if there { Delete::Deleted } else { Delete::NotFound });
            return Ok(lsn);
        }
        let expected = match (there, replace) {
            (false, _) => Outcome::Inserted,
            (true, true) => Outcome::Replaced,
            (true, false) => Outcome::Taken,
        };
        if expected != Outcome::Taken {
            self.history().pending.push((key, Some(fresh)));
        }
        let committed = if self.mixed && number % 4 == 1 {
            self.live.put(key, &fresh, replace)?
        } else {
            insert_unsettled(&self.live, &self.volume, (key, fresh, replace))?
        };
        assert_eq!(committed.outcome, expected);
        Ok(committed.lsn)
    }

    /// Holds the index against the model.
    pub fn check(&self, context: &str) {
        self.model().check(&self.live, &self.volume, context);
    }
}
