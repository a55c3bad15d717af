//! Updating an open index, from any thread.

use crate::index::Index;
use crate::live::{AnyUpdates, LiveStats, Updates, inserts, snapshot, upserts};
use gleann_update::{Delete, Insert, Outcome, Rewrite, UpdateError, Upsert};
use gleann_vector::{Element, Key};
use std::path::Path;

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
        match self.updates() {
            Ok(updates) => updates.delete(keys),
            Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// The vector of a key.
    ///
    /// # Errors
    /// The index is static or of another element type, or the vector cannot be read.
    pub fn get<T: Element>(&self, key: Key) -> Result<Option<Vec<T>>, UpdateError> {
        self.updates_of::<T>(key)?.live.get(key)
    }

    /// Makes everything that was acknowledged survive a crash, whatever the durability option.
    ///
    /// # Errors
    /// The index is static, or the log cannot be written.
    pub fn flush(&self) -> Result<(), UpdateError> {
        self.updates()?.flush()
    }

    /// Writes out what has changed since the last time, so that it takes no memory and no log any more. Searches and
    /// updates go on meanwhile.
    ///
    /// # Errors
    /// The index is static, or the system refused; the index is as before.
    pub fn merge(&self) -> Result<(), UpdateError> {
        self.updates()?.rewrite(Rewrite::Changes)
    }

    /// As [`Index::merge`], and takes deleted vectors out of the graph: lists that name them are repaired, and their
    /// places are free for others. Searches and updates go on meanwhile.
    ///
    /// # Errors
    /// As [`Index::merge`].
    pub fn consolidate(&self) -> Result<(), UpdateError> {
        self.updates()?.rewrite(Rewrite::Repaired)
    }

    /// Copies the index as it is now into `dir`, which must not exist: a live index of its own, without a log to replay or
    /// the space between blocks. Everything acknowledged before is part of it. Searches and updates go on meanwhile. The
    /// directory appears whole or not at all.
    ///
    /// # Errors
    /// The index is static, `dir` exists, a block is damaged, or the system refused.
    pub fn snapshot(&self, dir: impl AsRef<Path>) -> Result<(), UpdateError> {
        let updates = self.updates()?;
        snapshot(&self.info().path, dir.as_ref(), |volume| updates.snapshot(volume))
    }

    /// What a live index says of its state; none if it is static.
    pub fn live_stats(&self) -> Option<LiveStats> {
        self.any_updates().map(AnyUpdates::stats)
    }

    fn put<T: Element>(
        &self,
        keys: &[Key],
        vectors: &[T],
        replace: bool,
    ) -> Result<Vec<Result<Outcome, UpdateError>>, UpdateError> {
        let first = keys.first().copied().unwrap_or(0);
        Ok(self.updates_of::<T>(first)?.put(keys, vectors, replace))
    }

    fn updates(&self) -> Result<&dyn AnyUpdates, UpdateError> {
        self.any_updates().ok_or_else(|| UpdateError::ReadOnly {
            path: self.info().path.clone(),
            found: "a static index takes no updates; make it live first (make_live, or `update --make-live`)",
        })
    }

    fn updates_of<T: Element>(&self, key: Key) -> Result<&Updates<T>, UpdateError> {
        let expected = self.info().layout.element();
        self.updates()?.as_any().downcast_ref().ok_or_else(|| UpdateError::Vector {
            key,
            found: format!("its elements are {}, those of the index {expected}", T::TYPE),
        })
    }
}

fn single<O>(outcomes: Vec<Result<O, UpdateError>>) -> Result<O, UpdateError> {
    outcomes.into_iter().next().unwrap_or(Err(UpdateError::Closed))
}
