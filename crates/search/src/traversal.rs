//! One search as a state machine without I/O: it says which blocks to read next and takes in what has come.
//!
//! A candidate is *fresh* until its block is asked for, *in flight* until the block has come, *landed* once its
//! exact distance is known and its neighbour list is kept, and *expanded* when its neighbours have been scored.
//! The result is the k best exact distances among everything that was read. The search ends when no candidate in
//! the pool is worth a read any more ([`Stop`](crate::Stop)).

use crate::arrival::Outstanding;
use crate::entry::Entry;
use crate::error::SearchError;
use crate::estimates::Estimates;
use crate::harvest::Harvest;
use crate::index::SearchIndex;
use crate::lists::Lists;
use crate::live::{Changes, View};
use crate::mem_graph::{Navigator, Sought};
use crate::options::{OptionsError, SearchKind, SearchOptions};
use crate::page_search::PageScratch;
use crate::plan::{Next, Plan};
use crate::stats::{Nearest, QueryStats};
use crate::visited::Visited;
use crate::width::RunningWidth;
use crate::{beam, pipe};
use gleann_quant::DistanceTable;
use gleann_storage::BlockId;
use gleann_vector::{Element, NodeId, Pool};
use std::sync::Arc;

/// About how many vertices a search expands on its way to the query's neighbourhood, beside those in its pool.
const APPROACH_HOPS: usize = 20;

/// Results that a search of a changing index keeps beyond those asked for.
const SPARE_RESULTS: usize = 8;

/// Where a candidate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    InFlight,
    /// Its neighbours are kept in this slot of the lists.
    Landed(u16),
    Expanded,
}

/// What came of asking for a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Issue {
    /// Its block is in flight.
    Read,
    /// It was held in memory, and has landed.
    Hit,
    /// No candidate is worth a read.
    Nothing,
}

/// The state of one search. Reused from search to search, so that a search allocates nothing once warm.
pub struct Traversal {
    pub(crate) pool: Pool<State>,
    pub(crate) width: RunningWidth,
    pub(crate) stats: QueryStats,
    pub(crate) options: SearchOptions,
    pub(crate) visited: Visited,
    /// The k nearest of everything read.
    pub(crate) nearest: Pool<()>,
    pub(crate) outstanding: Vec<Outstanding>,
    /// Blocks in flight: fewer than `outstanding` where one block holds several candidates.
    pub(crate) blocks: usize,
    pub(crate) lists: Lists,
    pub(crate) page: PageScratch,
    table: DistanceTable,
    navigator: Navigator,
    /// Neighbours that must be read to be judged: only where nothing estimates them.
    unjudged: Vec<u32>,
    scratch: Scratch,
    /// What the search sees of an index that changes.
    pub(crate) view: Option<Arc<View>>,
    /// What an insert needs of what the search meets, where it is for one.
    pub(crate) harvest: Option<Harvest>,
    /// Results wanted.
    k: usize,
    /// Internal ids are below.
    pub(crate) nodes: u32,
    /// (user key, ordering distance) of the nearest that are not in the graph yet.
    unmerged: Vec<(u64, f32)>,
    /// The record of a node that is not on disk.
    new_record: Vec<u64>,
    /// No entry before this position needs anything any more.
    open: usize,
}

#[derive(Default)]
struct Scratch {
    query: Vec<f32>,
    unseen: Vec<u32>,
    places: Vec<u32>,
    estimates: Vec<f32>,
    expanding: Vec<u16>,
}

impl Default for Traversal {
    fn default() -> Self {
        let options = SearchOptions::default();
        Self {
            pool: Pool::new(1),
            width: RunningWidth::new(options.width, options.kind),
            stats: QueryStats::default(),
            options,
            visited: Visited::new(),
            nearest: Pool::new(1),
            outstanding: Vec::new(),
            blocks: 0,
            lists: Lists::default(),
            page: PageScratch::default(),
            table: DistanceTable::new(),
            navigator: Navigator::default(),
            unjudged: Vec::new(),
            scratch: Scratch::default(),
            view: None,
            harvest: None,
            k: 0,
            nodes: 0,
            unmerged: Vec::new(),
            new_record: Vec::new(),
            open: 0,
        }
    }
}

impl<T: Element> Plan<SearchIndex<T>> for Traversal {
    fn prefetch(&self, query: &[T]) {
        gleann_vector::prefetch(query);
        self.table.prefetch();
        self.visited.prefetch_all();
    }

    fn begin(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        options: &SearchOptions,
        k: usize,
    ) -> Result<(), OptionsError> {
        self.begin_at(index, index.changes.as_deref(), query, (options, k))
    }

    fn step(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        reads: &mut Vec<BlockId>,
    ) -> Result<Next, SearchError> {
        match self.options.kind {
            SearchKind::Beam => beam::step(self, index, query, reads),
            SearchKind::Pipe => pipe::step(self, index, query, reads),
        }
    }

    fn arrive(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), SearchError> {
        self.take_in(index, query, block, bytes)
    }

    fn missing(&self) -> usize {
        match self.options.kind {
            SearchKind::Beam => self.blocks,
            SearchKind::Pipe => 1,
        }
    }

    fn wanted(&self) -> usize {
        self.width.now().saturating_sub(self.outstanding.len())
    }

    fn can_step(&self) -> bool {
        self.options.kind == SearchKind::Pipe || self.outstanding.is_empty()
    }

    fn finish(&mut self, _: &SearchIndex<T>) -> Nearest {
        self.take_nearest()
    }

    fn place(&self, block: BlockId) -> BlockId {
        let place = self.view.as_ref().and_then(|view| view.place(block));
        place.unwrap_or(block)
    }

    fn stats(&mut self) -> &mut QueryStats {
        &mut self.stats
    }
}

impl Traversal {
    /// Begins a search of an index that changes as `changes` say.
    pub(crate) fn begin_at<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        changes: Option<&Changes<T>>,
        query: &[T],
        (options, k): (&SearchOptions, usize),
    ) -> Result<(), OptionsError> {
        let list = options.check(k)?;
        self.k = k;
        self.nodes = index.nodes;
        self.look(changes, query, list);
        self.pool.reset(list);
        // Some of what is found may be deleted before the search ends.
        let spare = if self.view.is_some() { SPARE_RESULTS } else { 0 };
        self.nearest.reset((k + spare).min(self.nodes as usize));
        self.width = RunningWidth::new(options.width, options.kind);
        self.options = *options;
        self.stats = QueryStats::default();
        let expected = (list + APPROACH_HOPS) * index.layout.degree() * 3 / 4;
        self.visited.clear(expected.min(self.nodes as usize));
        self.outstanding.clear();
        self.blocks = 0;
        self.lists.reset(&index.layout, self.view.is_some());
        self.unjudged.clear();
        self.open = 0;
        if let Some(codebook) = index.estimates.codebook() {
            let floats = &mut self.scratch.query;
            floats.clear();
            floats.extend(query.iter().map(|x| x.to_f32()));
            self.table.fill(codebook, floats);
        }
        let entered = self.enter(index, query);
        if entered.is_err() {
            // Whoever keeps a version keeps what it names from being written over.
            self.view = None;
        }
        entered
    }

    /// Takes the latest version of the index, and the `k` nearest of what is not in its graph.
    fn look<T: Element>(&mut self, changes: Option<&Changes<T>>, query: &[T], list: usize) {
        self.unmerged.clear();
        let Some(changes) = changes else { return };
        let version = changes.latest();
        self.nodes = version.view.nodes.places() as u32;
        for source in &version.unmerged {
            source.nearest(query, self.k, list, &mut self.unmerged);
        }
        self.view = Some(version.view.clone());
    }

    /// The k nearest of everything read, and of what is not in the graph; lets go of the version that was searched.
    pub(crate) fn take_nearest(&mut self) -> Nearest {
        let entries = self.nearest.entries().iter();
        let Some(view) = self.view.take() else {
            return entries.map(|entry| (entry.id.into(), entry.distance)).collect();
        };
        // Deleted since it was met: it need not be shown.
        let live = entries.filter(|entry| view.is_live(entry.id));
        let mut nearest: Vec<(u64, f32)> =
            live.map(|entry| (view.nodes.key(entry.id), entry.distance)).collect();
        nearest.append(&mut self.unmerged);
        // A key whose vector is being replaced may have been met twice: the nearer counts.
        nearest.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        nearest.dedup_by_key(|hit| hit.0);
        nearest.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        nearest.truncate(self.k);
        nearest
    }

    /// Puts the entry points into the pool.
    fn enter<T: Element>(&mut self, index: &SearchIndex<T>, query: &[T]) -> Result<(), OptionsError> {
        let Self { navigator, visited, scratch, table, stats, view, .. } = self;
        let view = view.as_deref();
        scratch.unseen.clear();
        scratch.estimates.clear();
        match self.options.entry {
            Entry::Medoid => {
                if let Some(id) = view.map_or(index.entry.medoid, |view| view.entry) {
                    visited.insert(id);
                    scratch.unseen.push(id);
                    let estimate = index.estimates.of_medoid(table, id, view);
                    stats.comparisons += u32::from(estimate.is_finite());
                    scratch.estimates.push(estimate);
                }
            }
            Entry::MemGraph { list, points } => {
                let mem_graph = index.entry.mem_graph.as_ref().ok_or(OptionsError::NoMemGraph)?;
                let size = (list.into(), points.into());
                let sought = Sought { table, distance: &index.distance, query };
                stats.comparisons += mem_graph.seeds(navigator, &sought, size, |id, estimate| {
                    if view.is_none_or(|view| view.knows(id)) && visited.insert(id) {
                        scratch.unseen.push(id);
                        scratch.estimates.push(estimate);
                    }
                });
            }
        }
        if self.scratch.unseen.is_empty() {
            self.enter_at_entry(index);
        }
        self.admit_unseen(index);
        Ok(())
    }

    /// Begins where an index that changes says: what a navigation graph knows may have gone since.
    pub(crate) fn enter_at_entry<T: Element>(&mut self, index: &SearchIndex<T>) {
        let Some(view) = self.view.as_deref() else { return };
        if let Some(id) = view.entry
            && self.visited.insert(id)
        {
            let estimate = index.estimates.of_medoid(&self.table, id, Some(view));
            self.stats.comparisons += 1;
            self.admit(estimate, id, State::Fresh);
        }
    }

    /// Candidates asked for that have not come.
    pub(crate) fn in_flight(&self) -> usize {
        self.outstanding.len()
    }

    /// Asks for the nearest fresh candidate, or for a neighbour that must be read to be judged. A block that is in
    /// flight already is not read twice.
    ///
    /// # Errors
    /// A record held in memory is damaged.
    pub(crate) fn issue_nearest<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        reads: &mut Vec<BlockId>,
    ) -> Result<Issue, SearchError> {
        let (node, estimate) = match self.unjudged.pop() {
            Some(node) => (node, None),
            None => {
                let Some(position) = self.first(|state| state == State::Fresh) else {
                    return Ok(Issue::Nothing);
                };
                *self.pool.state_mut(position) = State::InFlight;
                let entry = self.pool.entries()[position];
                (entry.id, Some(entry.distance))
            }
        };
        let block = index.layout.block_of(NodeId(node));
        let wanted = Outstanding { block, node, estimate };
        if self.land_new(index, query, &wanted)? {
            return Ok(Issue::Hit);
        }
        if let Some(bytes) = index.cache.record(node) {
            self.stats.cache_hits += 1;
            self.land(index, query, &wanted, (bytes, self.nodes))?;
            return Ok(Issue::Hit);
        }
        if !self.outstanding.iter().any(|other| other.block == block) {
            reads.push(block);
            self.blocks += 1;
            self.stats.reads += 1;
        }
        self.outstanding.push(wanted);
        Ok(Issue::Read)
    }

    /// Takes in a candidate that is not on disk yet; whether it is one.
    fn land_new<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        wanted: &Outstanding,
    ) -> Result<bool, SearchError> {
        let Some(view) = &self.view else { return Ok(false) };
        // Copied, so that no lock is held while it is measured; in words, so that it is aligned for every element.
        let record = &mut self.new_record;
        let is_new = view.with_new_record(wanted.node, |bytes| {
            record.resize(bytes.len().div_ceil(8), 0);
            bytemuck::cast_slice_mut(record)[..bytes.len()].copy_from_slice(bytes);
        });
        if is_new {
            self.stats.cache_hits += 1;
            let record = std::mem::take(&mut self.new_record);
            let bytes = &bytemuck::cast_slice(&record)[..index.layout.record_bytes()];
            // It may be newer than the version that is searched, and name nodes that are newer still.
            let landed = self.land(index, query, wanted, (bytes, u32::MAX));
            self.new_record = record;
            landed?;
        }
        Ok(is_new)
    }

    /// Tells the width policy how far the search has asked.
    pub(crate) fn note_issue(&mut self) {
        let first_unread = self.first(|state| state == State::Fresh).unwrap_or(self.pool.len());
        self.width.on_issue(first_unread);
    }

    /// Expands the nearest landed candidate; whether there was one.
    pub(crate) fn expand_nearest<T: Element>(&mut self, index: &SearchIndex<T>) -> bool {
        let Some(position) = self.first(|state| matches!(state, State::Landed(_))) else { return false };
        if let State::Landed(list) = std::mem::replace(self.pool.state_mut(position), State::Expanded) {
            self.expand_list(index, list);
        }
        true
    }

    /// Expands the landed candidates, nearest first, also those that the others push out of the pool. Where every
    /// neighbour costs a read, only as many as the width.
    pub(crate) fn expand_landed<T: Element>(&mut self, index: &SearchIndex<T>) {
        let most = if index.estimates.codebook().is_some() { usize::MAX } else { self.width.now() };
        let mut expanding = std::mem::take(&mut self.scratch.expanding);
        let limit = self.limit();
        for position in self.open..self.pool.len() {
            if expanding.len() == most || self.pool.entries()[position].distance > limit {
                break;
            }
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

    /// Whether anything is still to be read or expanded.
    pub(crate) fn is_open(&mut self) -> bool {
        let awaited = |wanted: &Outstanding| wanted.estimate.is_none();
        !self.unjudged.is_empty() || self.outstanding.iter().any(awaited) || self.first(|_| true).is_some()
    }

    /// Whether neighbours wait to be read so that they can be judged.
    pub(crate) fn has_unjudged(&self) -> bool {
        !self.unjudged.is_empty()
    }

    /// Takes `node` from those that wait to be read, now that it has come with its page; whether it was among them.
    pub(crate) fn was_unjudged(&mut self, node: u32) -> bool {
        let waiting = self.unjudged.iter().position(|&other| other == node);
        waiting.map(|at| self.unjudged.remove(at)).is_some()
    }

    /// The largest distance at which a candidate is still of interest.
    fn limit(&self) -> f32 {
        self.options.stop.limit(self.nearest.worst())
    }

    /// The first candidate of interest in a state that is `wanted`, and is not expanded.
    fn first(&mut self, wanted: impl Fn(State) -> bool) -> Option<usize> {
        let limit = self.limit();
        let entries = self.pool.entries();
        while entries.get(self.open).is_some_and(|entry| entry.state == State::Expanded) {
            self.open += 1;
        }
        let open = &entries[self.open..];
        let offset = open.iter().position(|entry| entry.state != State::Expanded && wanted(entry.state))?;
        (open[offset].distance <= limit).then_some(self.open + offset)
    }

    /// Adds a candidate.
    pub(crate) fn admit(&mut self, distance: f32, id: u32, state: State) {
        let rejected = match self.pool.insert(distance, id, state) {
            None => Some(state),
            Some(inserted) => {
                self.open = self.open.min(inserted.position);
                inserted.evicted.map(|entry| entry.state)
            }
        };
        if let Some(State::Landed(list)) = rejected {
            self.lists.release(list);
        }
    }

    fn expand_list<T: Element>(&mut self, index: &SearchIndex<T>, list: u16) {
        self.stats.expanded += 1;
        let Scratch { unseen, places, estimates, .. } = &mut self.scratch;
        unseen.clear();
        match &index.estimates {
            Estimates::Memory { codes, .. } => {
                let codes = self.view.as_ref().map_or(codes, |view| view.nodes.codes());
                self.visited.insert_all(self.lists.ids(list), unseen);
                // What is newer than the version that is searched.
                unseen.retain(|&id| (id as usize) < codes.len());
                estimates.resize(unseen.len(), 0.0);
                self.table.estimate(codes, unseen, estimates);
            }
            Estimates::Record { .. } => {
                places.clear();
                for (place, &id) in (0..).zip(self.lists.ids(list)) {
                    if self.visited.insert(id) {
                        unseen.push(id);
                        places.push(place);
                    }
                }
                estimates.resize(unseen.len(), 0.0);
                self.table.estimate_at(self.lists.codes(list), places, estimates);
            }
            Estimates::Off => {
                self.visited.insert_all(self.lists.ids(list), unseen);
                estimates.clear();
            }
        }
        self.lists.release(list);
        self.stats.comparisons += estimates.len() as u32;
        self.admit_unseen(index);
    }

    /// Makes candidates of the unseen, at their estimates; without estimates they are to be read.
    fn admit_unseen<T: Element>(&mut self, index: &SearchIndex<T>) {
        if let Estimates::Off = index.estimates {
            // Taken from the end: the first of a list is read first.
            self.unjudged.extend(self.scratch.unseen.iter().rev());
            return;
        }
        for at in 0..self.scratch.unseen.len() {
            self.admit(self.scratch.estimates[at], self.scratch.unseen[at], State::Fresh);
        }
    }
}
