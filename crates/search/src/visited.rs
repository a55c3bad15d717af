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
