//! The set of vectors that an index should hold: which tags are live, and whose row each has.

/// Marks a tag that is not live.
const DEAD: u32 = u32::MAX;

/// Tags, which are numbers below a bound, and the row of the base whose vector each live one has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSet {
    rows: Vec<u32>,
    live: u64,
}

impl LiveSet {
    /// No live tag; tags are below `bound`.
    pub fn empty(bound: u64) -> Self {
        let bound =
            usize::try_from(bound).expect("a bound is a number of rows, and those are at most u32::MAX");
        Self { rows: vec![DEAD; bound], live: 0 }
    }

    /// Tags and rows below `bound`, of which the first `count` are live under their own numbers.
    ///
    /// # Panics
    /// If `count` is above `bound`.
    pub fn of_rows(count: u64, bound: u64) -> Self {
        assert!(count <= bound, "more live rows than rows");
        let mut set = Self::empty(bound);
        set.rows.iter_mut().zip(0..count as u32).for_each(|(row, number)| *row = number);
        set.live = count;
        set
    }

    /// Number of live tags.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// The row of a live tag.
    pub fn row_of(&self, tag: u32) -> Option<u32> {
        self.rows.get(tag as usize).copied().filter(|&row| row != DEAD)
    }

    /// Makes a tag live with the vector of a row; the row it had before.
    ///
    /// # Panics
    /// If the tag is not below the bound.
    pub fn put(&mut self, tag: u32, row: u32) -> Option<u32> {
        debug_assert_ne!(row, DEAD);
        let before = self.row_of(tag);
        self.rows[tag as usize] = row;
        self.live += u64::from(before.is_none());
        before
    }

    /// Ends a tag; the row it had.
    pub fn remove(&mut self, tag: u32) -> Option<u32> {
        let before = self.row_of(tag)?;
        self.rows[tag as usize] = DEAD;
        self.live -= 1;
        Some(before)
    }

    /// Live tags with their rows, in the order of tags.
    pub fn entries(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0u32..).zip(&self.rows).filter(|(_, row)| **row != DEAD).map(|(tag, row)| (tag, *row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_go_and_move() {
        let mut set = LiveSet::of_rows(3, 6);
        assert_eq!(
            (set.put(5, 0), set.put(1, 4), set.remove(0), set.remove(0)),
            (None, Some(1), Some(0), None)
        );
        assert_eq!(set.entries().collect::<Vec<_>>(), [(1, 4), (2, 2), (5, 0)]);
        assert_eq!((set.live(), set.row_of(5), set.row_of(0), set.row_of(9)), (3, Some(0), None, None));
    }
}
