//! The temporary index as its callers see it.

use super::lists::{Lists, NOWHERE};
use super::rows::Rows;
use super::scratch::TempScratch;
use crate::sync::AtomicU32;
use gleann_graph::{PruneParams, PruneSpace};
use gleann_vector::{Distance, Element, Matrix, Metric};
use rayon::prelude::*;

/// Parameters of a temporary index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TempParams {
    /// R: the ids a list is pruned to (≥ 1); it may grow by [`TempParams::SLACK`] before it is pruned again.
    pub degree: usize,
    /// Pool of the searches that find candidates.
    pub list: usize,
    /// α of the prune, on squared distances (see [`PruneParams`]).
    pub alpha: f32,
}

impl TempParams {
    /// What a list may grow to, as a multiple of R.
    pub const SLACK: f32 = 1.3;

    /// Places of a list.
    fn places(&self) -> usize {
        ((self.degree as f32 * Self::SLACK) as usize).max(self.degree + 1)
    }
}

impl Default for TempParams {
    fn default() -> Self {
        Self { degree: 32, list: 64, alpha: 1.2 }
    }
}

/// There is no room for what was to be inserted; nothing has been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the temporary index holds {len} vectors, {more} more exceed its capacity of {capacity}: merge it first"
)]
pub struct Full {
    /// Slots in use.
    pub len: usize,
    /// Vectors that were to be added.
    pub more: usize,
    /// Slots there are.
    pub capacity: usize,
}

/// A Vamana graph in memory that grows and is searched at once, from any number of threads.
///
/// A vector gets a *slot*, its number in order of arrival, and keeps it. Deleted slots are left out of results, still
/// walked through, and not used again: a temporary index is dropped when it has been merged.
pub struct TempIndex<T: Element> {
    /// The metric's own distance, for queries.
    pub(super) distance: Distance<T>,
    /// What vectors are pruned by, but for their extra components.
    pub(super) prune_kernel: Distance<T>,
    space: PruneSpace,
    params: TempParams,
    pub(super) rows: Rows<T>,
    pub(super) lists: Lists,
    /// The first slot that was linked, or [`NOWHERE`].
    pub(super) entry: AtomicU32,
}

/// Candidates a prune looks at.
const MAX_CANDIDATES: usize = 750;
/// Rows a task of a bulk build links.
const TASK: usize = 64;

impl<T: Element> TempIndex<T> {
    /// An empty index with room for `capacity` vectors, all of it allocated now. `space` is the space that pruning
    /// happens in, of the metric and dimension of `distance`.
    ///
    /// # Panics
    /// If metric or dimension of `space` and `distance` differ, or `capacity` is not below `u32::MAX`.
    pub fn new(distance: Distance<T>, space: PruneSpace, params: TempParams, capacity: usize) -> Self {
        let (metric, dim) = (distance.metric(), distance.dim());
        assert_eq!((metric, dim), (space.metric(), space.dim()), "a space of another kind");
        assert!(capacity < u32::MAX as usize, "slots are 32 bits wide");
        let params = TempParams { degree: params.degree.max(1), list: params.list.max(1), ..params };
        let extended = metric == Metric::InnerProduct;
        let kernel = if extended { Distance::new(Metric::L2, dim) } else { distance };
        Self {
            distance,
            prune_kernel: kernel,
            space,
            params,
            rows: Rows::new(capacity, dim, extended),
            lists: Lists::new(capacity, params.places()),
            entry: AtomicU32::new(NOWHERE),
        }
    }

    /// Adds a vector under `key` and links it; its slot. Keys need not be unique here.
    ///
    /// # Errors
    /// [`Full`] where every slot is in use.
    ///
    /// # Panics
    /// If `vector` has another dimension.
    pub fn insert(&self, key: u64, vector: &[T], scratch: &mut TempScratch<T>) -> Result<u32, Full> {
        assert_eq!(vector.len(), self.distance.dim(), "a vector of another dimension");
        let slot = self.add(key, vector)?;
        self.link(slot, scratch);
        Ok(slot)
    }

    /// Adds a vector under `key` that is linked later, by [`TempIndex::link`]. Until then a search finds it only where it
    /// scans everything.
    ///
    /// # Errors
    /// [`Full`] where every slot is in use.
    ///
    /// # Panics
    /// If `vector` has another dimension.
    pub fn add(&self, key: u64, vector: &[T]) -> Result<u32, Full> {
        let mut claim = self.rows.claim(1).ok_or_else(|| self.full(1))?;
        let written = self.rows.write(&mut claim, vector, key, self.space.extra(vector));
        Ok(written.expect("a claim of one slot takes one vector"))
    }

    /// Links the slots from `first` on that have been added and not linked, in parallel on the caller's rayon pool.
    pub fn link_from(&self, first: u32) {
        let slots: Vec<u32> = (first..self.len() as u32).filter(|&slot| self.is_live(slot)).collect();
        slots.par_chunks(TASK).for_each_init(TempScratch::new, |scratch, slots| {
            slots.iter().for_each(|&slot| self.link(slot, scratch));
        });
    }

    /// Adds many vectors, linked in parallel on the caller's rayon pool. They get consecutive slots in their order, from
    /// the one returned on; which edges they get depends on what the threads meet.
    ///
    /// # Errors
    /// [`Full`] where there are fewer free slots than vectors; then none is added.
    ///
    /// # Panics
    /// If there is not one key for each vector, or the vectors have another dimension.
    pub fn build(&self, keys: &[u64], vectors: &Matrix<T>) -> Result<u32, Full> {
        assert_eq!(keys.len(), vectors.rows(), "not a key for each vector");
        let mut claim = self.rows.claim(keys.len()).ok_or_else(|| self.full(keys.len()))?;
        let mut slots = Vec::with_capacity(keys.len());
        for (row, &key) in keys.iter().enumerate() {
            let vector = vectors.row(row);
            slots.extend(self.rows.write(&mut claim, vector, key, self.space.extra(vector)));
        }
        assert_eq!(slots.len(), keys.len(), "a claim takes what was asked for");
        slots.par_chunks(TASK).for_each_init(TempScratch::new, |scratch, slots| {
            slots.iter().for_each(|&slot| self.link(slot, scratch));
        });
        Ok(slots.first().copied().unwrap_or(self.len() as u32))
    }

    fn full(&self, more: usize) -> Full {
        Full { len: self.len(), more, capacity: self.capacity() }
    }

    /// Takes a slot out of all results of searches that begin after this; whether it was live.
    pub fn delete(&self, slot: u32) -> bool {
        self.rows.delete(slot)
    }

    /// Whether a slot holds a vector that has not been deleted.
    pub fn is_live(&self, slot: u32) -> bool {
        self.rows.is_live(slot)
    }

    /// The key of a slot.
    ///
    /// # Panics
    /// If no insert has returned that slot, and none is about to.
    pub fn key(&self, slot: u32) -> u64 {
        self.rows.key(slot)
    }

    /// The vector of a slot, deleted or not.
    ///
    /// # Panics
    /// If no insert has returned that slot, and none is about to.
    pub fn vector(&self, slot: u32) -> &[T] {
        self.rows.vector(slot)
    }

    /// The list of a slot, deleted slots included. While the index changes, ids of an older and a newer list may be mixed.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn neighbours(&self, slot: u32) -> Vec<u32> {
        self.lists.lock(slot).ids().collect()
    }

    /// Slots in use, deleted ones included; inserts under way have theirs already.
    pub fn len(&self) -> usize {
        self.rows.claimed()
    }

    /// Whether nothing was ever inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Slots that are not deleted.
    pub fn live(&self) -> usize {
        self.rows.live()
    }

    /// Slots there are.
    pub fn capacity(&self) -> usize {
        self.rows.capacity()
    }

    /// The parameters.
    pub fn params(&self) -> &TempParams {
        &self.params
    }

    /// The space that pruning happens in.
    pub fn space(&self) -> &PruneSpace {
        &self.space
    }

    /// Bytes of memory, whether used or not.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes() + self.lists.memory_bytes()
    }

    pub(super) fn prune_params(&self) -> PruneParams {
        let TempParams { degree, alpha, .. } = self.params;
        PruneParams { degree, alpha, max_candidates: MAX_CANDIDATES, saturate: true }
    }
}

impl<T: Element> std::fmt::Debug for TempIndex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TempIndex<{}>({} of {} slots, {} live)", T::TYPE, self.len(), self.capacity(), self.live())
    }
}
