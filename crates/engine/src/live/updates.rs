//! The side of an open index that takes updates, callable from any thread.

use crate::build::LARGEST_COMPONENT;
use crate::generation::OpenGeneration;
use crate::live::board::Board;
use crate::live::compact::compact;
use crate::live::stats::{LiosStats, LiveStats, UpdateCpu};
use crate::live::worker::{Job, Keeper, Reply};
use crate::shared::Shared;
use gleann_lios::{Lios, Queue, TracePoint};
use gleann_storage::{OsVolume, Volume};
use gleann_update::{Delete, Insert, Inserted, Live, Outcome, Rewrite, Survey, UpdateError, Upsert};
use gleann_vector::{Element, check_finite};
use std::any::Any;
use std::sync::Arc;
use std::thread::JoinHandle;

/// What takes the updates of an open live index.
pub(crate) struct Updates<T: Element> {
    pub(crate) live: Arc<Live<T>>,
    /// Inserts on their way to whoever has time for them; closed once the index is closing.
    pub(crate) jobs: Arc<Queue<Job<T>>>,
    pub(crate) nudge: Option<flume::Sender<()>>,
    pub(crate) keeper: Option<Arc<Keeper<T>>>,
    pub(crate) joins: Vec<JoinHandle<()>>,
    pub(crate) cpu: Arc<UpdateCpu>,
    pub(crate) board: Arc<Board>,
    /// The use of stalls, if they are used.
    pub(crate) lios: Option<Arc<Lios>>,
}

/// What does not depend on the element type.
pub(crate) trait AnyUpdates: Send + Sync {
    fn delete(&self, keys: &[u64]) -> Vec<Result<Delete, UpdateError>>;
    fn flush(&self) -> Result<(), UpdateError>;
    fn rewrite(&self, rewrite: Rewrite) -> Result<(), UpdateError>;
    fn snapshot(&self, volume: Arc<OsVolume>) -> Result<(), UpdateError>;
    fn compact(&self, shared: &Shared, own: &OpenGeneration) -> Result<(), UpdateError>;
    /// Number of vectors, if there is no graph of them yet.
    fn unbuilt(&self) -> Option<u64>;
    fn stats(&self) -> LiveStats;
    /// The latest intervals of the tuner, if there is one.
    fn tuner_trace(&self) -> Vec<TracePoint>;
    fn survey(&self) -> Result<Survey, UpdateError>;
    /// Keeps why work in the background could not be done.
    fn note_failure(&self, failure: String);
    fn as_any(&self) -> &dyn Any;
}

impl<T: Element> Updates<T> {
    /// Puts vectors into the index, row-major, one for each key. Outcomes are in the order of the keys.
    pub(crate) fn put(
        &self,
        keys: &[u64],
        vectors: &[T],
        replace: bool,
    ) -> Vec<Result<Outcome, UpdateError>> {
        let dim = self.live.index().layout.dim();
        if self.live.is_buffered() {
            return self.put_buffered(keys, vectors, replace);
        }
        let waiting: Vec<Result<flume::Receiver<Inserted>, UpdateError>> = keys
            .iter()
            .enumerate()
            .map(|(at, &key)| {
                let vector = vectors.get(at * dim..(at + 1) * dim).unwrap_or(&[]);
                self.send(key, vector, replace)
            })
            .collect();
        let outcomes: Vec<Inserted> =
            waiting.into_iter().map(|waiting| waiting?.recv().unwrap_or(Err(UpdateError::Closed))).collect();
        self.settle(outcomes)
    }

    /// Puts vectors into the temporary index, by the calling thread.
    fn put_buffered(&self, keys: &[u64], vectors: &[T], replace: bool) -> Vec<Result<Outcome, UpdateError>> {
        let dim = self.live.index().layout.dim();
        let mut outcomes = Vec::with_capacity(keys.len());
        for (at, &key) in keys.iter().enumerate() {
            let vector = vectors.get(at * dim..(at + 1) * dim).unwrap_or(&[]);
            outcomes.push(self.check(key, vector).and_then(|()| self.live.put(key, vector, replace)));
            if self.live.is_merge_due() {
                self.nudge_if_due();
                self.live.wait_for_room();
            }
        }
        self.settle(outcomes)
    }

    /// Waits until all of it lasts: what comes last is durable last.
    fn settle(&self, outcomes: Vec<Inserted>) -> Vec<Result<Outcome, UpdateError>> {
        let last = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()?.lsn).max();
        let settled = self.live.settled(last);
        // What was replaced may have become too much.
        self.nudge_if_due();
        outcomes.into_iter().map(|outcome| settled.clone().and(Ok(outcome?.outcome))).collect()
    }

    fn check(&self, key: u64, vector: &[T]) -> Result<(), UpdateError> {
        let dim = self.live.index().layout.dim();
        let wrong = |found: String| UpdateError::Vector { key, found };
        if vector.len() != dim {
            return Err(wrong(format!("it has {} dimensions, the index has {dim}", vector.len())));
        }
        check_finite(vector, dim, 0).map_err(|error| wrong(error.to_string()))?;
        match vector.iter().position(|x| x.to_f32().abs() > LARGEST_COMPONENT) {
            None => Ok(()),
            // As in a build, which a compaction of the index is.
            Some(at) => Err(wrong(format!(
                "component {at} is {}, expected at most 1e16 in magnitude, beyond which squared distances overflow: \
                 scale the data down",
                vector[at].to_f32()
            ))),
        }
    }

    fn send(&self, key: u64, vector: &[T], replace: bool) -> Result<flume::Receiver<Inserted>, UpdateError> {
        self.check(key, vector)?;
        let (reply, inserted): (Reply, _) = flume::bounded(1);
        let job = Job { key, vector: vector.to_vec(), replace, job: reply };
        self.jobs.push(job).map_err(|_| UpdateError::Closed)?;
        self.board.wake();
        Ok(inserted)
    }

    /// Writes changes out; waits for that.
    pub(crate) fn rewrite_now(&self, rewrite: Rewrite) -> Result<(), UpdateError> {
        self.keeper.as_ref().ok_or(UpdateError::Closed)?.rewrite(rewrite)
    }

    fn nudge_if_due(&self) {
        if let Some(nudge) = &self.nudge
            && self.keeper.as_ref().is_some_and(|keeper| keeper.is_due())
        {
            // One nudge that waits is enough.
            let _ = nudge.try_send(());
        }
    }
}

impl<T: Element> AnyUpdates for Updates<T> {
    fn delete(&self, keys: &[u64]) -> Vec<Result<Delete, UpdateError>> {
        let outcomes: Vec<_> = keys.iter().map(|&key| self.live.delete(key)).collect();
        let last = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()?.1).max();
        let settled = self.live.settled(last);
        self.nudge_if_due();
        outcomes.into_iter().map(|outcome| settled.clone().and(Ok(outcome?.0))).collect()
    }

    fn flush(&self) -> Result<(), UpdateError> {
        self.live.flush()
    }

    fn rewrite(&self, rewrite: Rewrite) -> Result<(), UpdateError> {
        self.rewrite_now(rewrite)
    }

    fn compact(&self, shared: &Shared, own: &OpenGeneration) -> Result<(), UpdateError> {
        compact::<T>(shared, own)
    }

    fn unbuilt(&self) -> Option<u64> {
        self.live.is_unbuilt().then(|| self.live.len() as u64)
    }

    fn snapshot(&self, volume: Arc<OsVolume>) -> Result<(), UpdateError> {
        let volume: Arc<dyn Volume> = volume;
        let keeper = self.keeper.as_ref().ok_or(UpdateError::Closed)?;
        keeper.threads.install(|| self.live.snapshot(&volume))
    }

    fn stats(&self) -> LiveStats {
        let lios = self.lios.as_ref().map(|lios| LiosStats::of(lios));
        LiveStats {
            backend: self.live.backend(),
            figures: self.live.figures(),
            update_cpu_ns: self.cpu.total_ns() + lios.map_or(0, |lios| lios.update_ns()),
            lios,
            queued: self.jobs.depth() as u64,
            failure: self.keeper.as_ref().and_then(|keeper| keeper.failure.lock().clone()),
        }
    }

    fn tuner_trace(&self) -> Vec<TracePoint> {
        self.lios.as_ref().map(|lios| lios.tuner().trace()).unwrap_or_default()
    }

    fn survey(&self) -> Result<Survey, UpdateError> {
        self.live.survey()
    }

    fn note_failure(&self, failure: String) {
        if let Some(keeper) = &self.keeper {
            *keeper.failure.lock() = Some(failure);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T: Element> Drop for Updates<T> {
    fn drop(&mut self) {
        // The workers do what they have, and end.
        self.jobs.close();
        self.nudge = None;
        for join in self.joins.drain(..) {
            let _ = join.join();
        }
        self.keeper = None;
        if let Err(error) = self.live.flush() {
            log::error!("the log could not be made durable while the index was closed: {error}");
        }
    }
}

/// As outcomes of inserts.
pub(crate) fn inserts(outcomes: Vec<Result<Outcome, UpdateError>>) -> Vec<Result<Insert, UpdateError>> {
    outcomes.into_iter().map(|outcome| outcome.map(Outcome::of_insert)).collect()
}

/// As outcomes of upserts.
pub(crate) fn upserts(outcomes: Vec<Result<Outcome, UpdateError>>) -> Vec<Result<Upsert, UpdateError>> {
    outcomes.into_iter().map(|outcome| outcome.map(Outcome::of_upsert)).collect()
}
