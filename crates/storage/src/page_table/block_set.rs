//! A set of block numbers, one bit each: which blocks of a file are free, or named.

/// Numbers of blocks. Takes one bit for every number up to the highest it ever held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockSet {
    words: Vec<u64>,
    len: u64,
    /// No word before this one has a bit.
    first: usize,
}

const BITS: u32 = u64::BITS;

fn place(block: u32) -> (usize, u64) {
    ((block / BITS) as usize, 1 << (block % BITS))
}

impl BlockSet {
    /// Number of blocks in the set.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the set has no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the set has this block.
    pub fn contains(&self, block: u32) -> bool {
        let (word, bit) = place(block);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds a block; false if it was there.
    pub fn insert(&mut self, block: u32) -> bool {
        let (word, bit) = place(block);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u64::from(new);
        self.first = self.first.min(word);
        new
    }

    /// Takes a block out; false if it was not there.
    pub fn remove(&mut self, block: u32) -> bool {
        let there = self.contains(block);
        if there {
            let (word, bit) = place(block);
            self.words[word] &= !bit;
            self.len -= 1;
        }
        there
    }

    /// Takes out the lowest block.
    pub fn pop_first(&mut self) -> Option<u32> {
        let ahead = self.words[self.first.min(self.words.len())..].iter().position(|&bits| bits != 0)?;
        self.first += ahead;
        let block = self.first as u32 * BITS + self.words[self.first].trailing_zeros();
        self.remove(block);
        Some(block)
    }

    /// How many of the blocks directly below `end` the set has without a gap.
    pub fn run_below(&self, end: u32) -> u32 {
        let mut block = end;
        while block > 0 {
            let (word, bit) = place(block - 1);
            let bits = self.words.get(word).copied().unwrap_or(0);
            if block.is_multiple_of(BITS) && bits == u64::MAX {
                block -= BITS;
            } else if bits & bit != 0 {
                block -= 1;
            } else {
                break;
            }
        }
        end - block
    }

    /// Takes out every block from `end` on.
    pub fn truncate(&mut self, end: u32) {
        let (word, bit) = place(end);
        if word < self.words.len() {
            self.words.truncate(word + 1);
            self.words[word] &= bit - 1;
            self.len = self.words.iter().map(|bits| u64::from(bits.count_ones())).sum();
        }
    }

    /// The blocks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(word, &bits)| {
            let next = |bits: &u64| Some(bits & (bits - 1)).filter(|&rest| rest != 0);
            let rests = std::iter::successors(Some(bits).filter(|&bits| bits != 0), next);
            rests.map(move |rest| word as u32 * BITS + rest.trailing_zeros())
        })
    }
}

impl Extend<u32> for BlockSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, blocks: I) {
        for block in blocks {
            self.insert(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((0..5u8, 0..300u32), 0..200)) {
            let (mut set, mut model) = (BlockSet::default(), BTreeSet::new());
            for (step, block) in steps {
                match step {
                    0 => prop_assert_eq!(set.insert(block), model.insert(block)),
                    1 => prop_assert_eq!(set.remove(block), model.remove(&block)),
                    2 => prop_assert_eq!(set.pop_first(), model.pop_first()),
                    3 => {
                        set.truncate(block);
                        model.split_off(&block);
                    }
                    _ => {
                        set.extend(block / 2..block);
                        model.extend(block / 2..block);
                    }
                }
                prop_assert_eq!(set.len(), model.len() as u64);
                prop_assert_eq!(set.contains(block), model.contains(&block));
                let run = (0..block).rev().take_while(|below| model.contains(below)).count();
                prop_assert_eq!(set.run_below(block), run as u32);
                prop_assert!(set.iter().eq(model.iter().copied()));
            }
        }
    }
}
