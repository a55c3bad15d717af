//! Working memory of the parallel phases, lent from a pool so that nothing is allocated once every thread has
//! had its turn.

use crate::{BuildDistance, Candidate, Gathered, Prune, PruneParams, Searcher};
use gleann_vector::{Element, Matrix};
use std::sync::{Mutex, PoisonError};

/// What one thread needs to search and prune.
#[derive(Debug)]
pub(crate) struct Scratch<T: Element> {
    pub(crate) searcher: Searcher,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) ids: Vec<u32>,
    distances: Vec<f32>,
    prune: Prune,
    gathered: Gathered<T>,
}

impl<T: Element> Scratch<T> {
    fn new() -> Self {
        Self {
            searcher: Searcher::new(),
            candidates: Vec::new(),
            ids: Vec::new(),
            distances: Vec::new(),
            prune: Prune::new(),
            gathered: Gathered::empty(),
        }
    }

    /// Adds the ids of [`Scratch::ids`] to the candidates of `centre`.
    pub(crate) fn measure_ids(&mut self, vectors: &Matrix<T>, distance: &BuildDistance<T>, centre: u32) {
        for &id in &self.ids {
            vectors.prefetch(id as usize);
        }
        self.distances.resize(self.ids.len(), 0.0);
        distance.to_rows(vectors, centre, &self.ids, &mut self.distances);
        let measured = self.ids.iter().zip(&self.distances);
        self.candidates.extend(measured.map(|(&id, &distance)| Candidate { distance, id }));
    }

    /// Prunes the candidates of `centre`.
    pub(crate) fn prune(
        &mut self,
        vectors: &Matrix<T>,
        distance: &BuildDistance<T>,
        params: PruneParams,
        centre: u32,
    ) -> &[u32] {
        self.prune.start(params, centre, &self.candidates);
        self.gathered.gather(vectors, distance, self.prune.pool().iter().map(|candidate| candidate.id));
        self.prune.run(&mut self.gathered.pairs(distance))
    }
}

/// The scratches that are not in use.
#[derive(Debug)]
pub(crate) struct Scratches<T: Element> {
    idle: Mutex<Vec<Scratch<T>>>,
}

impl<T: Element> Scratches<T> {
    pub(crate) fn new() -> Self {
        Self { idle: Mutex::new(Vec::new()) }
    }

    /// Runs `work` with a scratch; its content is whatever was left in it.
    pub(crate) fn with<O>(&self, work: impl FnOnce(&mut Scratch<T>) -> O) -> O {
        let lent = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = lent.unwrap_or_else(Scratch::new);
        let output = work(&mut scratch);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        output
    }
}
