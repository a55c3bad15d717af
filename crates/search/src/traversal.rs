//! One search as a state machine without I/O: it says which blocks to read next and takes in what has come.
//!
//! A candidate is *fresh* until its block is asked for, *in flight* until the block has come, *landed* once its
//! exact distance is known and its neighbour list is kept, and *expanded* when its neighbours have been scored.
//! The result is the k best exact distances among everything that was read. The search ends when every
//! candidate in the pool is expanded.

use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::options::{SearchKind, SearchOptions};
use crate::stats::QueryStats;
use crate::visited::Visited;
use crate::width::RunningWidth;
use crate::{beam, pipe};
use gleann_quant::DistanceTable;
use gleann_storage::{BlockId, Record, record_bytes};
use gleann_vector::{Element, NodeId, Pool};

/// About how many vertices a search expands on its way to the query's neighbourhood, beside those in its pool.
const APPROACH_HOPS: usize = 20;

/// Where a candidate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    InFlight,
    /// Its neighbours are kept in this slot of the lists.
    Landed(u16),
    Expanded,
}

/// What a search can do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It can go on at once.
    Again,
    /// It needs a block that is in flight.
    Wait,
    /// It has ended; reads still in flight are of no use to it.
    Done,
}

#[derive(Debug, Clone, Copy)]
struct Outstanding {
    block: BlockId,
    node: u32,
    estimate: f32,
}

/// The state of one search. Reused from search to search, so that a search allocates nothing once warm.
pub(crate) struct Traversal {
    pub(crate) pool: Pool<State>,
    pub(crate) width: RunningWidth,
    pub(crate) stats: QueryStats,
    kind: SearchKind,
    table: DistanceTable,
    visited: Visited,
    exact: Vec<(f32, u32)>,
    outstanding: Vec<Outstanding>,
    /// Blocks in flight: fewer than `outstanding` where one block holds several candidates.
    blocks: usize,
    lists: Lists,
    scratch: Scratch,
    /// No entry before this position needs anything any more.
    open: usize,
}

#[derive(Default)]
struct Scratch {
    query: Vec<f32>,
    unseen: Vec<u32>,
    estimates: Vec<f32>,
    expanding: Vec<u16>,
}

impl Traversal {
    pub(crate) fn new() -> Self {
        let SearchOptions { kind, width, .. } = SearchOptions::default();
        Self {
            pool: Pool::new(1),
            width: RunningWidth::new(width, kind),
            stats: QueryStats::default(),
            kind,
            table: DistanceTable::new(),
            visited: Visited::new(),
            exact: Vec::new(),
            outstanding: Vec::new(),
            blocks: 0,
            lists: Lists::default(),
            scratch: Scratch::default(),
            open: 0,
        }
    }

    /// Prepares a search for `query` with a pool of `list` candidates.
    pub(crate) fn begin<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        options: &SearchOptions,
        list: usize,
    ) {
        self.pool.reset(list);
        self.width = RunningWidth::new(options.width, options.kind);
        self.kind = options.kind;
        self.stats = QueryStats::default();
        let expected = (list + APPROACH_HOPS) * index.layout.degree() * 3 / 4;
        self.visited.clear(expected.min(index.nodes as usize));
        self.exact.clear();
        self.outstanding.clear();
        self.blocks = 0;
        self.lists.reset(index.layout.degree());
        self.open = 0;
        let Scratch { query: floats, unseen, .. } = &mut self.scratch;
        floats.clear();
        floats.extend(query.iter().map(|x| x.to_f32()));
        self.table.fill(&index.codebook, floats);
        unseen.clear();
        index.entry.seeds(unseen);
        unseen.retain(|&id| self.visited.insert(id));
        self.admit_unseen(index);
    }

    /// Does the next piece of work and appends the blocks to read.
    pub(crate) fn step<T: Element>(&mut self, index: &SearchIndex<T>, reads: &mut Vec<BlockId>) -> Step {
        match self.kind {
            SearchKind::Beam => beam::step(self, index, reads),
            SearchKind::Pipe => pipe::step(self, index, reads),
        }
    }

    /// Reads asked for that have not come.
    pub(crate) fn in_flight(&self) -> usize {
        self.outstanding.len()
    }

    /// Reads that must come before the next step can do anything.
    pub(crate) fn missing(&self) -> usize {
        match self.kind {
            SearchKind::Beam => self.blocks,
            SearchKind::Pipe => 1,
        }
    }

    /// The most reads the next step may ask for.
    pub(crate) fn wanted(&self) -> usize {
        self.width.now().saturating_sub(self.outstanding.len())
    }

    /// Whether a step could do something now that a block has come.
    pub(crate) fn can_step(&self) -> bool {
        self.kind == SearchKind::Pipe || self.outstanding.is_empty()
    }

    /// Asks for the nearest fresh candidate; whether there was one. A block that is in flight already is not
    /// read twice.
    pub(crate) fn issue_nearest<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        reads: &mut Vec<BlockId>,
    ) -> bool {
        let Some(position) = self.first(|state| state == State::Fresh) else { return false };
        let entry = self.pool.entries()[position];
        *self.pool.state_mut(position) = State::InFlight;
        let block = index.layout.block_of(NodeId(entry.id));
        if !self.outstanding.iter().any(|other| other.block == block) {
            reads.push(block);
            self.blocks += 1;
            self.stats.reads += 1;
        }
        self.outstanding.push(Outstanding { block, node: entry.id, estimate: entry.distance });
        true
    }

    /// Tells the width policy how far the search has asked.
    pub(crate) fn note_issue(&mut self) {
        let first_unread = self.first(|state| state == State::Fresh).unwrap_or(self.pool.len());
        self.width.on_issue(first_unread);
    }

    /// Takes in a block that was asked for.
    pub(crate) fn arrive<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), SearchError> {
        self.blocks -= 1;
        let mut at = 0;
        while at < self.outstanding.len() {
            if self.outstanding[at].block != block {
                at += 1;
                continue;
            }
            let Outstanding { node, estimate, .. } = self.outstanding.swap_remove(at);
            let raw = record_bytes(&index.layout, bytes, index.layout.slot_of(NodeId(node)));
            let record = Record::decode(&index.layout, raw, index.nodes)
                .map_err(|cause| SearchError::Record { node, cause })?;
            self.exact.push((index.distance.between(query, record.vector::<T>()), node));
            self.stats.exact += 1;
            let place = self.pool.find(estimate, node);
            self.width.on_arrival(place.is_some());
            if let Some(position) = place {
                // By the time the list is expanded, what it needs is on its way into the cache.
                for id in record.neighbours() {
                    self.visited.prefetch(id);
                    index.codes.prefetch(id);
                }
                *self.pool.state_mut(position) = State::Landed(self.lists.keep(record.neighbours()));
            }
        }
        Ok(())
    }

    /// Expands the nearest landed candidate; whether there was one.
    pub(crate) fn expand_nearest<T: Element>(&mut self, index: &SearchIndex<T>) -> bool {
        let Some(position) = self.first(|state| matches!(state, State::Landed(_))) else { return false };
        if let State::Landed(list) = std::mem::replace(self.pool.state_mut(position), State::Expanded) {
            self.expand_list(index, list);
        }
        true
    }

    /// Expands every landed candidate, nearest first, also those that the others push out of the pool.
    pub(crate) fn expand_landed<T: Element>(&mut self, index: &SearchIndex<T>) {
        let mut expanding = std::mem::take(&mut self.scratch.expanding);
        for position in self.open..self.pool.len() {
            let state = self.pool.state_mut(position);
            if let State::Landed(list) = *state {
                *state = State::Expanded;
                expanding.push(list);
            }
        }
        for list in expanding.drain(..) {
            self.expand_list(index, list);
        }
        self.scratch.expanding = expanding;
    }

    /// Whether any candidate of the pool is still to be read or expanded.
    pub(crate) fn is_open(&mut self) -> bool {
        self.first(|_| true).is_some()
    }

    /// The `k` nearest of everything read, by exact distance.
    pub(crate) fn nearest(&mut self, k: usize) -> Vec<(u32, f32)> {
        self.exact.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.exact.iter().take(k).map(|&(distance, id)| (id, distance)).collect()
    }

    fn first(&mut self, wanted: impl Fn(State) -> bool) -> Option<usize> {
        let entries = self.pool.entries();
        while entries.get(self.open).is_some_and(|entry| entry.state == State::Expanded) {
            self.open += 1;
        }
        let open = &entries[self.open..];
        open.iter()
            .position(|entry| entry.state != State::Expanded && wanted(entry.state))
            .map(|offset| self.open + offset)
    }

    fn expand_list<T: Element>(&mut self, index: &SearchIndex<T>, list: u16) {
        self.scratch.unseen.clear();
        self.visited.insert_all(self.lists.list(list), &mut self.scratch.unseen);
        self.lists.release(list);
        self.admit_unseen(index);
    }

    fn admit_unseen<T: Element>(&mut self, index: &SearchIndex<T>) {
        let Scratch { unseen, estimates, .. } = &mut self.scratch;
        estimates.clear();
        estimates.resize(unseen.len(), 0.0);
        self.table.estimate(&index.codes, unseen, estimates);
        self.stats.comparisons += unseen.len() as u32;
        for (&id, &estimate) in unseen.iter().zip(estimates.iter()) {
            let Some(inserted) = self.pool.insert(estimate, id, State::Fresh) else { continue };
            self.open = self.open.min(inserted.position);
            if let Some(State::Landed(list)) = inserted.evicted.map(|entry| entry.state) {
                self.lists.release(list);
            }
        }
    }
}

/// Neighbour lists of landed candidates, in one allocation.
#[derive(Default)]
struct Lists {
    ids: Vec<u32>,
    stride: usize,
    free: Vec<u16>,
}

impl Lists {
    fn reset(&mut self, degree: usize) {
        self.stride = degree + 1;
        self.free.clear();
        self.free.extend((0..(self.ids.len() / self.stride) as u16).rev());
    }

    fn keep(&mut self, neighbours: impl ExactSizeIterator<Item = u32>) -> u16 {
        let list = self.free.pop().unwrap_or_else(|| {
            let list = (self.ids.len() / self.stride) as u16;
            self.ids.resize((list as usize + 1) * self.stride, 0);
            list
        });
        let place = &mut self.ids[list as usize * self.stride..][..self.stride];
        place[0] = neighbours.len() as u32;
        for (to, id) in place[1..].iter_mut().zip(neighbours) {
            *to = id;
        }
        list
    }

    fn list(&self, list: u16) -> &[u32] {
        let place = &self.ids[list as usize * self.stride..][..self.stride];
        &place[1..=place[0] as usize]
    }

    fn release(&mut self, list: u16) {
        self.free.push(list);
    }
}
