//! Adjacency that changes while it is read.

use crate::sync::{AtomicU32, Mutex, MutexGuard};
use std::sync::atomic::Ordering;

/// One list a node, with a fixed number of places. Writers hold the node's lock; readers hold nothing: a reader that
/// meets a change may see ids of the old list and of the new one together. For a search that is as good as either, for
/// all of them are ids of published nodes.
pub(super) struct Lists {
    /// A row a node: the degree, then the ids.
    words: Box<[AtomicU32]>,
    locks: Box<[Mutex<()>]>,
    /// The node whose list keeps this one for good; [`NOWHERE`] for the entry and what is not anchored yet.
    anchors: Box<[AtomicU32]>,
    places: usize,
}

/// No node.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Lists {
    /// Empty lists of `places` ids at most.
    pub(super) fn new(nodes: usize, places: usize) -> Self {
        let words = nodes.checked_mul(places + 1).expect("lists too large");
        Self {
            words: (0..words).map(|_| AtomicU32::new(0)).collect(),
            locks: (0..nodes).map(|_| Mutex::new(())).collect(),
            anchors: (0..nodes).map(|_| AtomicU32::new(NOWHERE)).collect(),
            places,
        }
    }

    fn row(&self, node: u32) -> &[AtomicU32] {
        &self.words[node as usize * (self.places + 1)..][..=self.places]
    }

    /// The ids of a list, as they are at this moment.
    #[inline]
    pub(super) fn ids(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let row = self.row(node);
        // Acquire: every place below the degree has been written, and what a list names has been published.
        let degree = row[0].load(Ordering::Acquire) as usize;
        row[1..=degree].iter().map(|word| word.load(Ordering::Acquire))
    }

    /// Where a node is anchored.
    pub(super) fn anchor(&self, node: u32) -> u32 {
        self.anchors[node as usize].load(Ordering::Acquire)
    }

    /// Locks a list against other writers.
    pub(super) fn lock(&self, node: u32) -> LockedList<'_> {
        LockedList { lists: self, node, row: self.row(node), _lock: self.locks[node as usize].lock() }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.locks[..]) + size_of_val(&self.anchors[..])
    }
}

/// A list that only its holder changes.
pub(super) struct LockedList<'a> {
    lists: &'a Lists,
    node: u32,
    row: &'a [AtomicU32],
    _lock: MutexGuard<'a, ()>,
}

impl LockedList<'_> {
    /// The ids.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let degree = self.row[0].load(Ordering::Relaxed) as usize;
        self.row[1..=degree].iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// Adds an id; false where there is no place.
    pub(super) fn push(&self, id: u32) -> bool {
        let degree = self.row[0].load(Ordering::Relaxed);
        if degree as usize == self.lists.places {
            return false;
        }
        self.row[1 + degree as usize].store(id, Ordering::Release);
        self.row[0].store(degree + 1, Ordering::Release);
        true
    }

    /// Replaces the list. Whoever reads it meanwhile meets every id that was there and stays: ids stay in their places,
    /// and those behind the new end are written before it as well, while they can still be read where they were.
    ///
    /// # Panics
    /// If there are more ids than places.
    pub(super) fn replace(&self, ids: &[u32]) {
        let places = &self.row[1..=self.lists.places];
        let old = self.row[0].load(Ordering::Relaxed) as usize;
        let places = &places[..ids.len()];
        let stays = |at: usize, place: &AtomicU32| at < old && ids.contains(&place.load(Ordering::Relaxed));
        let stay = places.iter().enumerate().filter(|&(at, place)| stays(at, place));
        let stay: Vec<u32> = stay.map(|(_, place)| place.load(Ordering::Relaxed)).collect();
        let mut come = ids.iter().copied().filter(|id| !stay.contains(id));
        for (at, place) in places.iter().enumerate() {
            if !stays(at, place)
                && let Some(id) = come.next()
            {
                place.store(id, Ordering::Release);
            }
        }
        self.row[0].store(ids.len() as u32, Ordering::Release);
    }

    /// Whether this list keeps `id` for good.
    pub(super) fn anchors(&self, id: u32) -> bool {
        self.lists.anchor(id) == self.node
    }

    /// Lets this list keep `id` for good, once it holds it. To be called by the one thread that inserts `id`.
    pub(super) fn anchor(&self, id: u32) {
        self.lists.anchors[id as usize].store(self.node, Ordering::Release);
    }
}
