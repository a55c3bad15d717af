//! The ids a search has met: an open-addressed table that is cleared between searches, not reallocated. Its
//! size follows the search, not the index, so that hundreds of searches can be in flight on a core.

/// Multiplier of Fibonacci hashing: 2³² divided by the golden ratio.
const SPREAD: u32 = 0x9e37_79b9;
const EMPTY: u32 = u32::MAX;

/// A set of node ids below `u32::MAX`.
#[derive(Debug)]
pub(crate) struct Visited {
    table: Vec<u32>,
    shift: u32,
    len: usize,
}

impl Visited {
    pub(crate) fn new() -> Self {
        let mut set = Self { table: Vec::new(), shift: 0, len: 0 };
        set.clear(1024);
        set
    }

    /// Empties the set; `expected` ids should fit without growing.
    pub(crate) fn clear(&mut self, expected: usize) {
        let slots = (2 * expected).next_power_of_two().max(64);
        self.table.clear();
        self.table.resize(slots, EMPTY);
        self.shift = 32 - slots.trailing_zeros();
        self.len = 0;
    }

    /// Adds an id; whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, id: u32) -> bool {
        debug_assert_ne!(id, EMPTY);
        let mask = self.table.len() - 1;
        let mut at = (id.wrapping_mul(SPREAD) >> self.shift) as usize;
        loop {
            let found = self.table[at & mask];
            if found == id {
                return false;
            }
            if found == EMPTY {
                break;
            }
            at += 1;
        }
        self.table[at & mask] = id;
        self.len += 1;
        if 2 * self.len > self.table.len() {
            self.grow();
        }
        true
    }

    /// Asks the processor for the place of an id, ahead of [`Visited::insert_all`].
    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        let at = (id.wrapping_mul(SPREAD) >> self.shift) as usize & (self.table.len() - 1);
        gleann_vector::prefetch(&self.table[at..=at]);
    }

    /// Asks the processor for all of it.
    pub(crate) fn prefetch_all(&self) {
        gleann_vector::prefetch(&self.table);
    }

    /// Adds ids; appends the new ones to `fresh`, in order. Whether an id is new is close to a coin toss, so the
    /// common cases (its place is empty, or holds it) are decided without a branch.
    pub(crate) fn insert_all(&mut self, ids: &[u32], fresh: &mut Vec<u32>) {
        while 2 * (self.len + ids.len()) > self.table.len() {
            self.grow();
        }
        let start = fresh.len();
        fresh.resize(start + ids.len(), 0);
        let mask = self.table.len() - 1;
        let mut count = start;
        for &id in ids {
            let mut at = (id.wrapping_mul(SPREAD) >> self.shift) as usize & mask;
            while self.table[at] != EMPTY && self.table[at] != id {
                at = (at + 1) & mask;
            }
            fresh[count] = id;
            count += usize::from(self.table[at] == EMPTY);
            self.table[at] = id;
        }
        fresh.truncate(count);
        self.len += count - start;
    }

    #[cold]
    fn grow(&mut self) {
        let ids: Vec<u32> = self.table.iter().copied().filter(|&id| id != EMPTY).collect();
        self.clear(self.table.len());
        for id in ids {
            self.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn takes_lists_as_it_takes_single_ids(lists in prop::collection::vec(prop::collection::vec(0u32..500, 0..70), 0..40)) {
            let (mut one, mut all) = (Visited::new(), Visited::new());
            one.clear(1);
            all.clear(1);
            for list in lists {
                let expected: Vec<u32> = list.iter().copied().filter(|&id| one.insert(id)).collect();
                let mut fresh = vec![7];
                all.insert_all(&list, &mut fresh);
                prop_assert_eq!(&fresh[1..], &expected);
            }
        }

        #[test]
        fn is_a_set(ids in prop::collection::vec(0u32..3000, 0..4000), expected in 0usize..100) {
            let mut set = Visited::new();
            set.clear(expected);
            let mut model = HashSet::new();
            for id in ids {
                prop_assert_eq!(set.insert(id), model.insert(id));
            }
        }
    }
}
