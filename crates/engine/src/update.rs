//! Updating an open index, from any thread.

use crate::generation::OpenGeneration;
use crate::index::Index;
use crate::live::{AnyUpdates, LiveStats, Updates, inserts, snapshot, upserts};
use gleann_update::{Delete, Insert, Outcome, Rewrite, Survey, UpdateError, Upsert};
use gleann_vector::{Element, Key};
use std::path::Path;

/// Operations of a batch between two moments at which another generation may take over.
const AT_ONCE: usize = 1024;

impl Index {
    /// Inserts a vector under a key that is not taken. When this returns, every search that begins finds it, and it
    /// survives a crash as the durability option says.
    ///
    /// # Errors
    /// The index is static, the vector does not fit it, or the log cannot be written.
    pub fn insert<T: Element>(&self, key: Key, vector: &[T]) -> Result<Insert, UpdateError> {
        single(inserts(self.put(&[key], vector, false)?))
    }

    /// Inserts a vector, in place of the one of its key if there is one.
    ///
    /// # Errors
    /// As [`Index::insert`].
    pub fn upsert<T: Element>(&self, key: Key, vector: &[T]) -> Result<Upsert, UpdateError> {
        single(upserts(self.put(&[key], vector, true)?))
    }

    /// Deletes the vector of a key. No search that begins after this has returned finds it.
    ///
    /// # Errors
    /// The index is static, or the log cannot be written.
    pub fn delete(&self, key: Key) -> Result<Delete, UpdateError> {
        single(self.delete_batch(&[key]))
    }

    /// Inserts many vectors, row-major, one for each key. Outcomes are in the order of the keys; one that fails does not
    /// keep the others from being inserted.
    ///
    /// # Errors
    /// For each, as [`Index::insert`].
    pub fn insert_batch<T: Element>(&self, keys: &[Key], vectors: &[T]) -> Vec<Result<Insert, UpdateError>> {
        match self.put(keys, vectors, false) {
            Ok(outcomes) => inserts(outcomes),
            Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Upserts many vectors, as [`Index::insert_batch`] inserts them.
    ///
    /// # Errors
    /// For each, as [`Index::insert`].
    pub fn upsert_batch<T: Element>(&self, keys: &[Key], vectors: &[T]) -> Vec<Result<Upsert, UpdateError>> {
        match self.put(keys, vectors, true) {
            Ok(outcomes) => upserts(outcomes),
            Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Deletes many vectors.
    ///
    /// # Errors
    /// For each, as [`Index::delete`].
    pub fn delete_batch(&self, keys: &[Key]) -> Vec<Result<Delete, UpdateError>> {
        let pieces = keys.chunks(AT_ONCE).flat_map(|keys| {
            let outcomes = self.shared().update(|generation| Ok(generation.updates()?.delete(keys)));
            outcomes.unwrap_or_else(|error| keys.iter().map(|_| Err(error.clone())).collect())
        });
        pieces.collect()
    }

    /// The vector of a key.
    ///
    /// # Errors
    /// The index is static or of another element type, or the vector cannot be read.
    pub fn get<T: Element>(&self, key: Key) -> Result<Option<Vec<T>>, UpdateError> {
        self.updates_of::<T>(&self.shared().generation(), key)?.live.get(key)
    }

    /// Makes everything that was acknowledged survive a crash, whatever the durability option.
    ///
    /// # Errors
    /// The index is static, or the log cannot be written.
    pub fn flush(&self) -> Result<(), UpdateError> {
        self.shared().update(|generation| generation.updates()?.flush())
    }

    /// Writes out what has changed since the last time, so that it takes no memory and no log any more; what is buffered goes
    /// into the graph. Searches and updates go on meanwhile. Of an index that began empty and has no graph yet, one is built.
    ///
    /// # Errors
    /// The index is static, or the system refused; the index is as before.
    pub fn merge(&self) -> Result<(), UpdateError> {
        self.rewrite(Rewrite::Changes)
    }

    /// As [`Index::merge`], and takes deleted vectors out of the graph: lists that name them are repaired, and their
    /// places are free for others. Searches and updates go on meanwhile.
    ///
    /// # Errors
    /// As [`Index::merge`].
    pub fn consolidate(&self) -> Result<(), UpdateError> {
        self.rewrite(Rewrite::Repaired)
    }

    fn rewrite(&self, rewrite: Rewrite) -> Result<(), UpdateError> {
        let generation = self.shared().generation();
        match generation.updates()?.unbuilt() {
            Some(0) => Ok(()),
            Some(_) => self.compact(),
            None => generation.updates()?.rewrite(rewrite),
        }
    }

    /// Builds the graph anew, of all vectors and with a new codebook, as a build would that had got them at once; which vectors
    /// share a page, places of deleted vectors and space are as after that. Searches and updates go on meanwhile, and are right
    /// throughout; updates wait for a moment at the end. Takes the time and memory of a build, and until the end the space of
    /// both. Figures begin anew.
    ///
    /// # Errors
    /// The index is static, the build failed, or the system refused; the index is as before.
    pub fn compact(&self) -> Result<(), UpdateError> {
        self.shared().compact()
    }

    /// Copies the index as it is now into `dir`, which must not exist: a live index of its own, without the space between
    /// blocks. Everything acknowledged before is part of it. Searches and updates go on meanwhile. The directory appears
    /// whole or not at all.
    ///
    /// # Errors
    /// The index is static, `dir` exists, a block is damaged, or the system refused.
    pub fn snapshot(&self, dir: impl AsRef<Path>) -> Result<(), UpdateError> {
        let generation = self.shared().generation();
        let updates = generation.updates()?;
        snapshot(&generation.directory(), dir.as_ref(), |volume| updates.snapshot(volume))
    }

    /// What a live index says of its state; none if it is static.
    pub fn live_stats(&self) -> Option<LiveStats> {
        self.shared().generation().any_updates().map(AnyUpdates::stats)
    }

    /// How the tuner has judged its latest intervals, the oldest first: the live form of LIOS Figure 8. Empty where searching
    /// cores do not work on updates, or always use the same share of their stalls. Times are of the engine's clock.
    pub fn tuner_trace(&self) -> Vec<gleann_lios::TracePoint> {
        self.shared().generation().any_updates().map(AnyUpdates::tuner_trace).unwrap_or_default()
    }

    /// What updates have made of the graph on disk, as the last checkpoint has left it: how full lists are, which neighbours
    /// share a page, whom no way leads to. Reads the whole index once; searches and updates go on meanwhile.
    ///
    /// # Errors
    /// The index is static, a block is damaged, or the system refused.
    pub fn survey(&self) -> Result<Survey, UpdateError> {
        self.shared().generation().updates()?.survey()
    }

    /// Puts vectors, row-major, so many at a time that a switch to another generation need not wait long.
    fn put<T: Element>(
        &self,
        keys: &[Key],
        vectors: &[T],
        replace: bool,
    ) -> Result<Vec<Result<Outcome, UpdateError>>, UpdateError> {
        let dim = self.info().layout.dim();
        let mut outcomes = Vec::with_capacity(keys.len());
        for (piece, keys) in keys.chunks(AT_ONCE).enumerate() {
            self.shared().wait_for_graph();
            let rest = vectors.get(piece * AT_ONCE * dim..).unwrap_or(&[]);
            let put = self
                .shared()
                .update(|generation| Ok(self.updates_of::<T>(generation, keys[0])?.put(keys, rest, replace)));
            match put {
                Ok(put) => outcomes.extend(put),
                Err(error) if piece == 0 => return Err(error),
                Err(error) => outcomes.extend(keys.iter().map(|_| Err(error.clone()))),
            }
            self.nudge();
        }
        Ok(outcomes)
    }

    fn updates_of<'a, T: Element>(
        &self,
        generation: &'a OpenGeneration,
        key: Key,
    ) -> Result<&'a Updates<T>, UpdateError> {
        let expected = self.info().layout.element();
        generation.updates_of()?.ok_or_else(|| UpdateError::Vector {
            key,
            found: format!("its elements are {}, those of the index {expected}", T::TYPE),
        })
    }
}

fn single<O>(outcomes: Vec<Result<O, UpdateError>>) -> Result<O, UpdateError> {
    outcomes.into_iter().next().unwrap_or(Err(UpdateError::Closed))
}
