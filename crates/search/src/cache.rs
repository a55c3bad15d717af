//! The cache axis: which records are held in memory, so that a search need not read them.

use gleann_vector::Matrix;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What searches ask before they read a record. Immutable once loaded, and shared by all cores; in an index that changes,
/// records that are no longer what is on disk are no longer held.
#[derive(Debug, Default)]
pub enum Cache {
    /// Every record is read from the disk.
    #[default]
    Empty,
    /// Every record is read from the disk, and how often each is wanted is counted: to choose what to hold.
    Counting(Demand),
    /// Some records are held.
    Held(Records),
}

/// How often each record was wanted.
#[derive(Debug)]
pub struct Demand(Vec<AtomicU32>);

/// Records held in memory.
#[derive(Debug)]
pub struct Records {
    /// Ascending.
    nodes: Vec<u32>,
    /// Row i is the record of `nodes[i]`.
    bytes: Matrix<u8>,
    /// Those that are no longer what is on disk.
    stale: Vec<AtomicBool>,
}

impl Cache {
    /// A cache that counts for an index of `nodes` nodes.
    pub fn counting(nodes: u32) -> Self {
        Cache::Counting(Demand((0..nodes).map(|_| AtomicU32::new(0)).collect()))
    }

    /// The record of a node, if it is held.
    #[inline]
    pub(crate) fn record(&self, node: u32) -> Option<&[u8]> {
        match self {
            Cache::Empty => None,
            Cache::Counting(Demand(counts)) => {
                counts[node as usize].fetch_add(1, Ordering::Relaxed);
                None
            }
            Cache::Held(Records { nodes, bytes, stale }) => {
                let row = nodes.binary_search(&node).ok()?;
                (!stale[row].load(Ordering::Acquire)).then(|| bytes.row(row))
            }
        }
    }

    /// No longer holds the records of nodes that `moved` names. To be called before anybody searches by what has changed;
    /// those that search by what was there before read these records then.
    pub fn forget(&self, moved: impl Fn(u32) -> bool) {
        if let Cache::Held(Records { nodes, stale, .. }) = self {
            for (_, stale) in nodes.iter().zip(stale).filter(|(node, _)| moved(**node)) {
                stale.store(true, Ordering::Release);
            }
        }
    }

    /// Number of records held.
    pub fn held(&self) -> usize {
        let Cache::Held(records) = self else { return 0 };
        records.stale.iter().filter(|stale| !stale.load(Ordering::Relaxed)).count()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Cache::Empty => 0,
            Cache::Counting(Demand(counts)) => 4 * counts.len(),
            Cache::Held(Records { nodes, bytes, .. }) => {
                Records::BESIDE as usize * nodes.len() + bytes.as_slice().len()
            }
        }
    }
}

/// The first `most` nodes in breadth-first order from `entries`; `list` appends the neighbours of a node.
///
/// # Errors
/// What `list` fails with.
pub fn breadth_first<E>(
    entries: impl IntoIterator<Item = u32>,
    most: usize,
    mut list: impl FnMut(u32, &mut Vec<u32>) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let (mut met, mut order, mut neighbours) = (HashSet::new(), Vec::new(), Vec::new());
    let mut meet = |order: &mut Vec<u32>, id: u32| {
        if order.len() < most && met.insert(id) {
            order.push(id);
        }
    };
    entries.into_iter().for_each(|id| meet(&mut order, id));
    let mut next = 0;
    while next < order.len() && order.len() < most {
        neighbours.clear();
        list(order[next], &mut neighbours)?;
        neighbours.iter().for_each(|&id| meet(&mut order, id));
        next += 1;
    }
    Ok(order)
}

impl Demand {
    /// The nodes that were wanted at all, most wanted first, equals by id.
    pub fn most_wanted(&self) -> Vec<u32> {
        let wanted = (0..).zip(&self.0).map(|(node, count)| (count.load(Ordering::Relaxed), node));
        let mut wanted: Vec<(u32, u32)> = wanted.filter(|&(count, _)| count > 0).collect();
        wanted.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        wanted.into_iter().map(|(_, node)| node).collect()
    }
}

impl Records {
    /// Bytes of memory that a record held takes beside itself.
    pub const BESIDE: u64 = 5;

    /// The records of `nodes`, row i of `bytes` being that of node i.
    ///
    /// # Panics
    /// If the nodes are not ascending, or there is not one record for each.
    pub fn new(nodes: Vec<u32>, bytes: Matrix<u8>) -> Self {
        assert_eq!(nodes.len(), bytes.rows(), "nodes and records");
        assert!(nodes.is_sorted_by(|a, b| a < b), "cached nodes out of order");
        let stale = nodes.iter().map(|_| AtomicBool::new(false)).collect();
        Self { nodes, bytes, stale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_records_are_found_and_demand_is_counted() {
        let held = Cache::Held(Records::new(vec![3, 7], Matrix::from_rows(&[1u8, 2, 3, 4], 2)));
        assert_eq!((held.record(3), held.record(7)), (Some(&[1u8, 2][..]), Some(&[3u8, 4][..])));
        assert_eq!((held.record(5), held.record(8), held.held()), (None, None, 2));
        held.forget(|node| node == 3);
        assert_eq!((held.record(3), held.record(7), held.held()), (None, Some(&[3u8, 4][..]), 1));
        let counting = Cache::counting(9);
        for node in [4, 8, 4, 2] {
            assert_eq!(counting.record(node), None);
        }
        let Cache::Counting(demand) = counting else { unreachable!("it counts") };
        assert_eq!(demand.most_wanted(), [4, 2, 8]);
    }
}
