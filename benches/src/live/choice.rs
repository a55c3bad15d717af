//! Which vectors go and which come, from a seed.

use super::changes::Change;
use super::set::LiveSet;
use anyhow::{Result, ensure};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// Chooses what a workload deletes, and what it inserts in its place.
#[derive(Debug)]
pub struct Choice {
    random: Pcg64Mcg,
    /// Rows that were never live, in their order.
    unused: std::ops::Range<u32>,
    /// Rows that were deleted, the longest ago first.
    deleted: VecDeque<u32>,
}

impl Choice {
    /// Tags and rows below `live` are in the index; those below `rows` are there to come.
    pub fn new(live: u32, rows: u32, seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed), unused: live..rows, deleted: VecDeque::new() }
    }

    /// `count` random live tags to be deleted, in random order.
    ///
    /// # Errors
    /// There are not so many.
    pub fn deletes(&mut self, set: &LiveSet, count: u64) -> Result<Vec<Change>> {
        ensure!(count <= set.live(), "{count} vectors to delete, {} are live", set.live());
        let mut tags: Vec<u32> = set.entries().map(|(tag, _)| tag).collect();
        let count = count as usize;
        // The first steps of a shuffle: every choice of `count` is as likely as any other.
        for at in 0..count {
            let other = self.random.random_range(at..tags.len());
            tags.swap(at, other);
        }
        tags.truncate(count);
        self.deleted.extend(&tags);
        Ok(tags.into_iter().map(|tag| Change::Delete { tag }).collect())
    }

    /// `count` tags to be inserted: rows that were never live first, then those deleted longest ago, under their old tags.
    ///
    /// # Errors
    /// There are not so many.
    pub fn inserts(&mut self, count: u64) -> Result<Vec<Change>> {
        let available = self.unused.len() + self.deleted.len();
        ensure!(
            count <= available as u64,
            "{count} vectors to insert, and {available} that are not live; give a base with more rows, or delete more"
        );
        let next = |_| self.unused.next().or_else(|| self.deleted.pop_front());
        let rows = (0..count).map_while(next);
        Ok(rows.map(|row| Change::Insert { tag: row, row }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_unused_come_first_and_the_deleted_come_back() {
        let mut set = LiveSet::of_rows(100, 110);
        let mut choice = Choice::new(100, 110, 1);
        let apply = |changes: &[Change], set: &mut LiveSet| {
            for change in changes {
                match change.result() {
                    (tag, Some(row)) => assert_eq!(set.put(tag, row), None),
                    (tag, None) => assert!(set.remove(tag).is_some()),
                }
            }
        };
        let first = choice.deletes(&set, 7).unwrap();
        assert_eq!(first.iter().map(|change| change.result().0).collect::<HashSet<_>>().len(), 7);
        apply(&first, &mut set);
        let inserts = choice.inserts(7).unwrap();
        assert_eq!(inserts[0], Change::Insert { tag: 100, row: 100 });
        apply(&inserts, &mut set);
        let second = choice.deletes(&set, 7).unwrap();
        apply(&second, &mut set);
        let inserts = choice.inserts(7).unwrap();
        let tags: Vec<u32> = inserts.iter().map(|change| change.result().0).collect();
        assert_eq!(tags[..3], [107, 108, 109]);
        assert_eq!(tags[3..], first.iter().map(|change| change.result().0).collect::<Vec<_>>()[..4]);
        apply(&inserts, &mut set);
        assert_eq!(set.live(), 100);
        assert_eq!(Choice::new(100, 110, 1).deletes(&LiveSet::of_rows(100, 110), 7).unwrap(), first);
        assert!(choice.deletes(&set, 101).unwrap_err().to_string().contains("100 are live"));
        assert!(choice.inserts(11).unwrap_err().to_string().contains("10 that are not live"));
    }
}
