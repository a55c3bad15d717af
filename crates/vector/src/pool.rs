//! The candidate pool of every greedy search here: a bounded array sorted by (distance, id).

/// One candidate. `S` is whatever the search needs to know of it: a flag, a state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<S> {
    /// Ordering distance (or its estimate) to the query.
    pub distance: f32,
    /// Internal id.
    pub id: u32,
    /// The search's own mark.
    pub state: S,
}

/// What became of an insertion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inserted<S> {
    /// Position the candidate took.
    pub position: usize,
    /// The entry that fell off the end of a full pool.
    pub evicted: Option<Entry<S>>,
}

/// At most `capacity` candidates, ascending by (distance, id). The caller keeps ids unique.
#[derive(Debug, Clone)]
pub struct Pool<S> {
    entries: Vec<Entry<S>>,
    capacity: usize,
}

impl<S: Copy> Pool<S> {
    /// An empty pool of at most `capacity` (≥ 1) candidates.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self { entries: Vec::with_capacity(capacity), capacity }
    }

    /// Empties the pool and sets a new capacity; allocates only to grow.
    pub fn reset(&mut self, capacity: usize) {
        self.entries.clear();
        self.capacity = capacity.max(1);
        self.entries.reserve(self.capacity);
    }

    /// Whether a candidate at `distance` would be taken (ties at the end of a full pool are refused).
    #[inline]
    pub fn admits(&self, distance: f32) -> bool {
        self.entries.len() < self.capacity || distance < self.worst()
    }

    /// Distance of the last entry, or infinity where there is room.
    #[inline]
    pub fn worst(&self) -> f32 {
        if self.entries.len() < self.capacity {
            return f32::INFINITY;
        }
        self.entries.last().map_or(f32::INFINITY, |entry| entry.distance)
    }

    /// Inserts a candidate whose id is not in the pool; `None` where the pool is full of nearer ones.
    #[inline]
    pub fn insert(&mut self, distance: f32, id: u32, state: S) -> Option<Inserted<S>> {
        if !self.admits(distance) {
            return None;
        }
        let position = self.lower_bound(distance, id);
        let evicted = if self.entries.len() == self.capacity { self.entries.pop() } else { None };
        self.entries.insert(position, Entry { distance, id, state });
        Some(Inserted { position, evicted })
    }

    /// Position of the candidate `id` whose distance is `distance`, if it is (still) in the pool.
    #[inline]
    pub fn find(&self, distance: f32, id: u32) -> Option<usize> {
        let position = self.lower_bound(distance, id);
        self.entries.get(position).is_some_and(|entry| entry.id == id).then_some(position)
    }

    #[inline]
    fn lower_bound(&self, distance: f32, id: u32) -> usize {
        self.entries
            .partition_point(|entry| entry.distance.total_cmp(&distance).then(entry.id.cmp(&id)).is_lt())
    }

    /// The candidates, nearest first.
    #[inline]
    pub fn entries(&self) -> &[Entry<S>] {
        &self.entries
    }

    /// The mark of the entry at `position`, to be changed.
    ///
    /// # Panics
    /// If `position` is not below the number of entries.
    #[inline]
    pub fn state_mut(&mut self, position: usize) -> &mut S {
        &mut self.entries[position].state
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_the_nearest_in_order(distances in prop::collection::vec(0u8..50, 0..200), capacity in 1usize..40) {
            let mut pool = Pool::new(capacity);
            for (id, &distance) in distances.iter().enumerate() {
                pool.insert(f32::from(distance), id as u32, ());
            }
            let mut expected: Vec<(u8, u32)> = distances.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            expected.truncate(capacity);
            let found: Vec<u8> = pool.entries().iter().map(|e| e.distance as u8).collect();
            prop_assert_eq!(found, expected.iter().map(|e| e.0).collect::<Vec<_>>());
            prop_assert!(pool.entries().windows(2).all(|w| (w[0].distance, w[0].id) < (w[1].distance, w[1].id)));
        }
    }
}
