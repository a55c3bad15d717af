//! Which node has a key: a hash table of ids alone, since the node table knows each node's key.

use gleann_search::{NodeState, NodeTable};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The live nodes of the graph by key; about 7 bytes a node.
#[derive(Debug, Default)]
pub struct KeyMap {
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl KeyMap {
    /// The map of the live nodes among the first `places`.
    ///
    /// # Errors
    /// A key that two live nodes have.
    pub fn of(nodes: &NodeTable, places: u32) -> Result<Self, u64> {
        let mut map = Self::default();
        map.ids.reserve(places as usize, |_| 0);
        for id in (0..places).filter(|&id| nodes.state(id) == NodeState::Live) {
            if map.get(nodes, nodes.key(id)).is_some() {
                return Err(nodes.key(id));
            }
            map.insert(nodes, id);
        }
        Ok(map)
    }

    /// The node of a key.
    pub fn get(&self, nodes: &NodeTable, key: u64) -> Option<u32> {
        self.ids.find(self.hasher.hash_one(key), |&id| nodes.key(id) == key).copied()
    }

    /// Adds a node whose key no other has.
    pub fn insert(&mut self, nodes: &NodeTable, id: u32) {
        let Self { ids, hasher } = self;
        ids.insert_unique(hasher.hash_one(nodes.key(id)), id, |&id| hasher.hash_one(nodes.key(id)));
    }

    /// Takes the node of a key out.
    pub fn remove(&mut self, nodes: &NodeTable, key: u64) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let entry = self.ids.find_entry(hash, |&id| nodes.key(id) == key).ok()?;
        Some(entry.remove().0)
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.ids.allocation_size()
    }
}
