//! What has changed since a checkpoint: records of new nodes, and edges that joined the lists of others.

use hashbrown::HashMap;
use parking_lot::RwLock;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Independent locks, so that searches of several cores and writers seldom meet.
const SHARDS: usize = 64;
/// What a hash table spends for an entry beside key and value, about.
const ENTRY_BYTES: usize = 8;

/// How many neighbours the list of a record of `degree` may have in memory, until it is written: where a link was decided
/// on a list that has been repaired since, nobody has to leave for it.
pub fn room(degree: usize) -> usize {
    degree + degree.div_ceil(4).max(4)
}

/// An edge that joins a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The new neighbour.
    pub joins: u32,
    /// Who makes room for it; none where there is room.
    pub leaves: Option<u32>,
}

/// Changes on top of a page table, or of an older overlay.
#[derive(Debug)]
pub struct Overlay {
    shards: Box<[RwLock<Shard>]>,
    records: AtomicUsize,
    lists: AtomicUsize,
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Shard {
    records: HashMap<u32, Box<[u8]>>,
    links: HashMap<u32, SmallVec<[Link; 2]>>,
}

impl Default for Overlay {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            records: AtomicUsize::new(0),
            lists: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }
    }
}

impl Overlay {
    /// An overlay of no change.
    pub fn new() -> Self {
        Self::default()
    }

    fn shard(&self, node: u32) -> &RwLock<Shard> {
        &self.shards[node as usize % SHARDS]
    }

    /// Adds the record of a new node, encoded as on disk.
    pub fn add_record(&self, node: u32, record: Box<[u8]>) {
        let bytes = record.len() + size_of::<(u32, Box<[u8]>)>() + ENTRY_BYTES;
        let before = self.shard(node).write().records.insert(node, record);
        assert!(before.is_none(), "node {node} is born twice");
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records.fetch_add(1, Ordering::Release);
    }

    /// Lets a neighbour join the list of a node.
    pub fn link(&self, node: u32, link: Link) {
        let mut shard = self.shard(node).write();
        let links = shard.links.entry(node).or_default();
        if links.is_empty() {
            let bytes = size_of::<(u32, SmallVec<[Link; 2]>)>() + ENTRY_BYTES;
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.lists.fetch_add(1, Ordering::Release);
        } else {
            self.bytes.fetch_add(size_of::<Link>(), Ordering::Relaxed);
        }
        links.push(link);
    }

    /// Calls `seen` with the record of a new node, if it is one of this overlay; whether it is.
    #[inline]
    pub fn with_record(&self, node: u32, seen: impl FnOnce(&[u8])) -> bool {
        if self.records.load(Ordering::Acquire) == 0 {
            return false;
        }
        let shard = self.shard(node).read();
        let record = shard.records.get(&node);
        if let Some(record) = record {
            seen(record);
        }
        record.is_some()
    }

    /// Whether a node is new.
    pub fn has_record(&self, node: u32) -> bool {
        self.with_record(node, |_| {})
    }

    /// Calls `seen` with the links that joined the list of a node, oldest first, if there are any.
    #[inline]
    pub fn with_links(&self, node: u32, seen: impl FnOnce(&[Link])) {
        if self.lists.load(Ordering::Acquire) == 0 {
            return;
        }
        if let Some(links) = self.shard(node).read().links.get(&node) {
            seen(links);
        }
    }

    /// Number of links that joined the list of a node.
    pub fn links_of(&self, node: u32) -> usize {
        let mut count = 0;
        self.with_links(node, |links| count = links.len());
        count
    }

    /// The new nodes, ascending.
    pub fn new_nodes(&self) -> Vec<u32> {
        self.collect(|shard| shard.records.keys().copied().collect())
    }

    /// The nodes whose lists have changed, ascending.
    pub fn changed_nodes(&self) -> Vec<u32> {
        self.collect(|shard| shard.links.keys().copied().collect())
    }

    fn collect(&self, of: impl Fn(&Shard) -> Vec<u32>) -> Vec<u32> {
        let mut nodes: Vec<u32> = self.shards.iter().flat_map(|shard| of(&shard.read())).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Number of new nodes.
    pub fn len(&self) -> usize {
        self.records.load(Ordering::Relaxed)
    }

    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.lists.load(Ordering::Relaxed) == 0
    }

    /// Bytes of memory, about.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Lets a link join the list in `list`, whose first `length` places are taken. Where the list is full up to its [`room`]
/// and has not the neighbour that was to leave, the last one leaves: lists are nearest first when they are written.
pub fn join(list: &mut [u32], length: &mut usize, link: Link) {
    let taken = &mut list[..*length];
    if taken.contains(&link.joins) {
        return;
    }
    let leaves = link.leaves.and_then(|leaves| taken.iter().position(|&id| id == leaves));
    match (leaves, taken.len()) {
        (Some(position), _) => taken[position] = link.joins,
        (None, taken) if taken < list.len() => {
            list[taken] = link.joins;
            *length += 1;
        }
        (None, taken) => list[taken - 1] = link.joins,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_join_lists() {
        let (mut list, mut length) = ([5, 6, 0], 2);
        let mut joins = |joins, leaves| {
            join(&mut list, &mut length, Link { joins, leaves });
            list[..length].to_vec()
        };
        assert_eq!(joins(7, None), [5, 6, 7]);
        assert_eq!(joins(6, Some(5)), [5, 6, 7], "it is there already");
        assert_eq!(joins(8, Some(5)), [8, 6, 7]);
        assert_eq!(joins(9, Some(5)), [8, 6, 9], "5 has left: the last one does");
        assert_eq!(joins(4, None), [8, 6, 4]);
    }

    #[test]
    fn records_and_links_are_found() {
        let overlay = Overlay::new();
        assert!(overlay.is_empty() && !overlay.has_record(3));
        overlay.add_record(67, Box::new([1, 2]));
        overlay.link(3, Link { joins: 67, leaves: None });
        overlay.link(3, Link { joins: 4, leaves: Some(67) });
        let mut seen = Vec::new();
        assert!(overlay.with_record(67, |record| seen.extend_from_slice(record)));
        assert!(!overlay.with_record(3, |_| unreachable!("not new")));
        assert_eq!((seen, overlay.links_of(3), overlay.links_of(67)), (vec![1, 2], 2, 0));
        assert_eq!((overlay.new_nodes(), overlay.changed_nodes()), (vec![67], vec![3]));
        assert!(overlay.memory_bytes() > 0 && !overlay.is_empty());
    }
}
