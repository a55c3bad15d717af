//! The ids a search has met: a small open-addressing table. A search meets a few thousand ids whatever the size
//! of the graph, so the table stays in the near caches where stamps for every node would not.

/// A set of ids; clearing keeps the memory. Without places until it is cleared for the first time.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// `id + 1`, or 0 where free; a power of two of places.
    slots: Vec<u32>,
    len: usize,
    /// Places the last clearing asked for.
    asked: usize,
}

const FEWEST_SLOTS: usize = 64;
/// Places that are made at once at most: a large pool in a large graph may meet fewer ids than it could.
const FIRST_SLOTS: usize = 8192;

impl Seen {
    /// Without places yet: to be cleared before use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the set, to take about `expected` ids. Where it had to grow it stays so large, as long as as many are
    /// expected: what comes next is likely to be alike.
    pub fn clear(&mut self, expected: usize) {
        let asked = (expected.min(FIRST_SLOTS / 2) * 2).next_power_of_two().max(FEWEST_SLOTS);
        if asked == self.asked {
            self.slots.fill(0);
        } else {
            self.slots.clear();
            self.slots.resize(asked, 0);
        }
        (self.len, self.asked) = (0, asked);
    }

    /// Adds `id` (below `u32::MAX`); whether it is new.
    #[inline]
    pub fn insert(&mut self, id: u32) -> bool {
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
        seen.clear(3);
        assert_eq!(seen.slots.len(), FEWEST_SLOTS);
        let ids = || (0..50_000u32).map(|i| i.wrapping_mul(2_654_435_761) & 0x7FFF_FFFF);
        let distinct: std::collections::HashSet<u32> = ids().collect();
        assert_eq!(ids().filter(|&id| seen.insert(id)).count(), distinct.len());
        assert_eq!(ids().filter(|&id| seen.insert(id)).count(), 0);
        assert!(seen.insert(u32::MAX - 1) && !seen.insert(u32::MAX - 1));
        let grown = seen.slots.len();
        seen.clear(1);
        assert_eq!(seen.slots.len(), grown, "as many are expected");
        assert!(ids().take(100).all(|id| seen.insert(id)));
        seen.clear(1 << 30);
        assert_eq!(seen.slots.len(), FIRST_SLOTS);
        assert!(ids().take(100).all(|id| seen.insert(id)));
    }
}
