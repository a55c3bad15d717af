//! The state that changes with every operation, behind one lock: who has which key, which places are free, and the
//! version that searches take.

use crate::buffer::Buffer;
use crate::key_map::KeyMap;
use crate::operation::Operation;
use crate::placement::Placement;
use crate::wal::Lsn;
use gleann_search::{Changes, Link, NodeState, NodeTable, Overlay, Unmerged, Version, View};
use gleann_storage::{Layout, NewRecord, PageTable, encode_record};
use gleann_vector::Element;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};

/// Room for places to come when the node table grows: a share of what is there, and so many.
const GROWTH: usize = 4;
const LEAST_GROWTH: usize = 1024;

/// Whoever holds this changes the index.
pub(crate) struct Writer<T: Element> {
    pub(crate) keys: KeyMap,
    pub(crate) placement: Placement,
    pub(crate) view: View,
    /// Vectors that are not in the graph, oldest first; the last takes new ones.
    pub(crate) buffers: Vec<Held<T>>,
    /// Deleted nodes of the graph that lists still name.
    pub(crate) dead: u64,
    /// Keys that were put or deleted since a copy began, if one has.
    pub(crate) changed: Option<HashSet<u64>>,
    /// The last record of the log that is in the blocks, as far as it is about the graph.
    pub(crate) graph: Lsn,
    /// Whether lists are being repaired, so that those on disk will not be what they are now.
    pub(crate) repairing: bool,
    changes: Arc<Changes<T>>,
    /// Places that are free once nobody reads by a table any more, oldest first.
    retired: VecDeque<(Weak<PageTable>, Vec<u32>)>,
    layout: Layout,
}

/// Vectors that are not in the graph, and which of them has a key.
pub(crate) struct Held<T: Element> {
    pub(crate) buffer: Arc<Buffer<T>>,
    pub(crate) slots: HashMap<u64, u32>,
}

/// A node that enters the graph.
pub(crate) struct NewNode<'a> {
    pub(crate) key: u64,
    pub(crate) node: u32,
    pub(crate) list: &'a [u32],
    pub(crate) links: &'a [(u32, Link)],
    pub(crate) vector: &'a [u8],
    pub(crate) code: &'a [u8],
}

impl<T: Element> Writer<T> {
    pub(crate) fn new(layout: Layout, view: View, keys: KeyMap, changes: Arc<Changes<T>>) -> Self {
        let places = (view.table.records().len() * layout.records_per_block()) as u32;
        let placement = Placement::new(layout, places, |id| view.nodes.state(id) == NodeState::Free);
        let dead = (0..places).filter(|&id| view.nodes.state(id) == NodeState::Dead).count() as u64;
        Self {
            keys,
            placement,
            view,
            buffers: Vec::new(),
            dead,
            changed: None,
            graph: Lsn(0),
            repairing: false,
            changes,
            retired: VecDeque::new(),
            layout,
        }
    }

    /// Lets searches that begin from now on see the state as it is.
    pub(crate) fn publish(&self) {
        let unmerged = self.buffers.iter().map(|held| held.buffer.clone() as Arc<dyn Unmerged<T>>).collect();
        self.changes.publish(Version { view: Arc::new(self.view.clone()), unmerged });
    }

    /// What the graph holds of each place.
    pub(crate) fn nodes(&self) -> &NodeTable {
        &self.view.nodes
    }

    /// The node of a key.
    pub(crate) fn node_of(&self, key: u64) -> Option<u32> {
        self.keys.get(&self.view.nodes, key)
    }

    /// The overlay that takes changes.
    pub(crate) fn active(&self) -> &Arc<Overlay> {
        self.view.overlays.last().expect("a view has an overlay that takes changes")
    }

    /// Takes the place for a new node, nearest neighbours first. The place is its own until it is given back.
    pub(crate) fn take_place(&mut self, list: &[u32]) -> Option<u32> {
        self.reclaim();
        let node = self.placement.take(list)?;
        self.make_room(node);
        Some(node)
    }

    /// Places given up by a checkpoint are free once nobody can be reading what they held.
    pub(crate) fn reclaim(&mut self) {
        while self.retired.front().is_some_and(|(table, _)| table.strong_count() == 0) {
            let (_, ids) = self.retired.pop_front().expect("there is a first one");
            ids.into_iter().for_each(|id| self.placement.give_back(id));
        }
        // The counts are read without order: what readers did before they let go comes before what is written now.
        fence(Ordering::Acquire);
    }

    /// Gives places up for as long as somebody may read by `table`.
    pub(crate) fn retire(&mut self, table: &Arc<PageTable>, ids: Vec<u32>) {
        self.retired.push_back((Arc::downgrade(table), ids));
    }

    /// Nodes have gone whose places nobody may take while `table` is read by.
    pub(crate) fn free_places(&mut self, table: &Arc<PageTable>, gone: Vec<u32>) {
        self.dead -= gone.len() as u64;
        gone.iter().for_each(|&id| self.view.nodes.mark(id, NodeState::Free));
        self.retire(table, gone);
    }

    /// Makes the node table long enough for a node.
    pub(crate) fn make_room(&mut self, node: u32) {
        let places = self.view.nodes.places();
        if node as usize >= places {
            let wanted = (node as usize + 1).max(places + places / GROWTH + LEAST_GROWTH);
            self.view.nodes = Arc::new(self.view.nodes.grown(wanted));
            self.publish();
        }
    }

    /// Puts a node into the graph; a vector of its key goes. Its place has been taken, and its log record written.
    pub(crate) fn insert(&mut self, new: &NewNode<'_>) {
        self.note(new.key);
        // Searches find what goes until they can find what comes.
        let replaced = self.keys.remove(&self.view.nodes, new.key);
        if replaced.is_none() {
            self.remove(new.key);
        }
        let active = self.active().clone();
        self.settle(new, &active);
        self.keys.insert(&self.view.nodes, new.node);
        if let Some(node) = replaced {
            self.bury(node);
        }
        // With no live neighbour there is nothing that leads here.
        if new.list.is_empty() || self.view.entry.is_none() {
            self.view.entry = Some(new.node);
            self.publish();
        }
    }

    /// Writes a node into the node table and an overlay, and links it.
    pub(crate) fn settle(&self, new: &NewNode<'_>, overlay: &Overlay) {
        let mut record = vec![0; self.layout.record_bytes()].into_boxed_slice();
        let vector: Vec<T> = bytemuck::pod_collect_to_vec(new.vector);
        let fields = NewRecord { vector: &vector, neighbours: new.list, codes: &[] };
        encode_record(&self.layout, &fields, &mut record);
        // Before the place counts as taken: a search that knows it from elsewhere must find the record.
        overlay.add_record(new.node, record);
        // SAFETY: the place was free and is now the caller's; `reclaim` gives no place out while somebody may read by a
        // table in which it was taken.
        unsafe { self.view.nodes.settle(new.node, new.key, new.code) };
        new.links.iter().for_each(|&(node, link)| overlay.link(node, link));
    }

    /// Whether a key is taken.
    pub(crate) fn has(&self, key: u64) -> bool {
        self.node_of(key).is_some() || self.buffers.iter().any(|held| held.slots.contains_key(&key))
    }

    /// Number of vectors.
    pub(crate) fn live(&self) -> usize {
        self.keys.len() + self.buffers.iter().map(|held| held.slots.len()).sum::<usize>()
    }

    /// Puts a vector into the buffer that takes new ones, in place of another of its key: its buffer and slot, which is
    /// still to be linked.
    pub(crate) fn put(
        &mut self,
        key: u64,
        vector: &[T],
        new: impl FnOnce() -> Buffer<T>,
    ) -> (Arc<Buffer<T>>, u32) {
        self.remove(key);
        self.buffer(key, vector, new)
    }

    /// As [`Writer::put`], of a key that has no vector in the buffers, and whatever it has in the graph.
    pub(crate) fn buffer(
        &mut self,
        key: u64,
        vector: &[T],
        new: impl FnOnce() -> Buffer<T>,
    ) -> (Arc<Buffer<T>>, u32) {
        let added = self.buffers.last().and_then(|held| held.buffer.index().add(key, vector).ok());
        let slot = added.unwrap_or_else(|| {
            self.buffers.push(Held { buffer: Arc::new(new()), slots: HashMap::new() });
            self.publish();
            let last = self.buffers.last().expect("one was added");
            last.buffer.index().add(key, vector).expect("a new buffer has room")
        });
        let held = self.buffers.last_mut().expect("one took the vector");
        held.slots.insert(key, slot);
        (held.buffer.clone(), slot)
    }

    /// Takes the vector of a key out of the results of searches; whether there was one.
    pub(crate) fn remove(&mut self, key: u64) -> bool {
        self.note(key);
        if self.remove_buffered(key) {
            return true;
        }
        let Some(node) = self.keys.remove(&self.view.nodes, key) else { return false };
        self.bury(node);
        true
    }

    /// The same of a vector that is buffered.
    pub(crate) fn remove_buffered(&mut self, key: u64) -> bool {
        let found = self.buffers.iter_mut().find_map(|held| Some((&held.buffer, held.slots.remove(&key)?)));
        found.is_some_and(|(buffer, slot)| buffer.index().delete(slot))
    }

    /// Whatever changes the vector of a key says so, for the copy that may be under way.
    fn note(&mut self, key: u64) {
        if let Some(changed) = &mut self.changed {
            changed.insert(key);
        }
    }

    /// A node goes: it is walked through, and is no result.
    pub(crate) fn bury(&mut self, node: u32) {
        self.view.nodes.mark(node, NodeState::Dead);
        self.dead += 1;
    }

    /// The log record of a node that enters the graph.
    pub(crate) fn record_of(new: &NewNode<'_>) -> Vec<u8> {
        let NewNode { key, node, list, links, vector, .. } = *new;
        let mut record = Vec::new();
        Operation::Insert { key, node, list: list.to_vec(), links: links.to_vec(), vector }
            .encode(&mut record);
        record
    }
}
