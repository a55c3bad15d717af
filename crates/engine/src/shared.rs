//! What the handle of an open index and its background work share.

use crate::error::OpenError;
use crate::generation::{OpenGeneration, remove_leftovers};
use crate::info::IndexInfo;
use crate::live::DirectoryLock;
use crate::options::OpenOptions;
use arc_swap::ArcSwap;
use gleann_storage::{Generation, IndexDirectory};
use gleann_update::UpdateError;
use parking_lot::{Mutex, RwLock};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Vectors without a graph at which updates wait for it, as a multiple of those for which it is built.
const MOST_UNBUILT: u64 = 4;

/// An open index.
pub(crate) struct Shared {
    /// As of its opening.
    pub(crate) info: IndexInfo,
    pub(crate) options: OpenOptions,
    generation: ArcSwap<OpenGeneration>,
    /// Held, shared, by whoever updates, and alone by the switch to another generation. Why nothing can be updated any
    /// more, once that is so.
    pub(crate) gate: RwLock<Option<UpdateError>>,
    /// Held by the one compaction there may be at a time.
    pub(crate) compacting: Mutex<()>,
    /// Vectors from which on a graph is built of an index that has none.
    pub(crate) bootstrap: AtomicU64,
    /// Of a live index; let go last.
    _lock: Option<DirectoryLock>,
}

impl Shared {
    /// Opens the index in `dir`.
    ///
    /// # Errors
    /// As [`Index::open`](crate::Index::open).
    pub(crate) fn open(dir: &Path, options: OpenOptions) -> Result<Self, OpenError> {
        let (lock, current, directory) = if IndexDirectory::is_live(dir) {
            let lock = DirectoryLock::take(dir)?;
            let current = Generation::current(dir)?;
            (Some(lock), current, IndexDirectory::open_live(dir)?)
        } else {
            (None, Generation(0), IndexDirectory::open(dir)?)
        };
        let (generation, info) = OpenGeneration::open(dir, (current, &directory), &options)?;
        // Only now: what `CURRENT` names is whole, so nothing else can be the index.
        if lock.is_some() {
            remove_leftovers(dir, current)?;
        }
        let bootstrap = AtomicU64::new(options.updates.bootstrap.max(1));
        Ok(Self {
            info,
            options,
            generation: ArcSwap::from_pointee(generation),
            gate: RwLock::new(None),
            compacting: Mutex::new(()),
            bootstrap,
            _lock: lock,
        })
    }

    /// The generation in force.
    pub(crate) fn generation(&self) -> Arc<OpenGeneration> {
        self.generation.load_full()
    }

    /// Puts a generation in the place of the one in force. The caller has the gate alone.
    pub(crate) fn supersede(&self, next: Arc<OpenGeneration>) {
        let old = self.generation.swap(next);
        old.supersede();
    }

    /// Calls `update` with the generation in force, which no other replaces meanwhile.
    ///
    /// # Errors
    /// Nothing can be updated any more, or what `update` fails with.
    pub(crate) fn update<R>(
        &self,
        update: impl FnOnce(&OpenGeneration) -> Result<R, UpdateError>,
    ) -> Result<R, UpdateError> {
        let gate = self.gate.read();
        match &*gate {
            Some(error) => Err(error.clone()),
            None => update(&self.generation()),
        }
    }

    /// Builds the graph of all vectors anew.
    ///
    /// # Errors
    /// As [`Index::compact`](crate::Index::compact).
    pub(crate) fn compact(&self) -> Result<(), UpdateError> {
        let _turn = self.compacting.lock();
        if let Some(error) = &*self.gate.read() {
            return Err(error.clone());
        }
        // The old generation ends here, unless a search or an update still holds it.
        let old = self.generation();
        old.updates()?.compact(self, &old)
    }

    /// Number of vectors, if there is no graph of them yet.
    pub(crate) fn unbuilt(&self) -> Option<u64> {
        self.generation().any_updates()?.unbuilt()
    }

    /// Whether there are vectors enough for a first graph.
    pub(crate) fn is_graph_due(&self) -> bool {
        self.unbuilt().is_some_and(|vectors| vectors >= self.bootstrap.load(Ordering::Relaxed))
    }

    /// Waits for the first graph if there are many more vectors than should be without: memory stays bounded.
    pub(crate) fn wait_for_graph(&self) {
        let most = self.bootstrap.load(Ordering::Relaxed).saturating_mul(MOST_UNBUILT);
        if self.unbuilt().is_some_and(|vectors| vectors >= most) {
            drop(self.compacting.lock());
        }
    }
}
