//! The ids a search has met: a small open-addressing table. A search meets a few thousand ids whatever the size
//! of the graph, so the table stays in the near caches where stamps for every node would not.

/// A set of ids; clearing keeps the memory.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `id + 1`, or 0 where free; a power of two of places.
    slots: Vec<u32>,
    len: usize,
}

const FIRST_SLOTS: usize = 8192;

impl Seen {
    pub(crate) fn new() -> Self {
        Self { slots: vec![0; FIRST_SLOTS], len: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.len = 0;
    }

    /// Adds `id` (below `u32::MAX`); whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, id: u32) -> bool {
        debug_assert!(id < u32::MAX);
        let place = probe(&self.slots, id);
        if self.slots[place] != 0 {
            return false;
        }
        self.slots[place] = id + 1;
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
        true
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![0; self.slots.len() * 2];
        for &slot in self.slots.iter().filter(|&&slot| slot != 0) {
            let place = probe(&larger, slot - 1);
            larger[place] = slot;
        }
        self.slots = larger;
    }
}

/// The place of `id`, or the free one where it belongs.
#[inline]
fn probe(slots: &[u32], id: u32) -> usize {
    let mask = slots.len() - 1;
    // Fibonacci hashing: the upper bits of the product depend on every bit of the id.
    let hash = u64::from(id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut place = (hash >> 32) as usize & mask;
    while slots[place] != 0 && slots[place] != id + 1 {
        place = (place + 1) & mask;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_until_cleared_and_grows() {
        let mut seen = Seen::new();
        let ids = || (0..50_000u32).map(|i| i.wrapping_mul(2_654_435_761) & 0x7FFF_FFFF);
        let distinct: std::collections::HashSet<u32> = ids().collect();
        assert_eq!(ids().filter(|&id| seen.insert(id)).count(), distinct.len());
        assert_eq!(ids().filter(|&id| seen.insert(id)).count(), 0);
        assert!(seen.insert(u32::MAX - 1) && !seen.insert(u32::MAX - 1));
        seen.clear();
        assert!(ids().take(100).all(|id| seen.insert(id)));
    }
}
