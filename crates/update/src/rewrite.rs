//! The pass over the blocks that writes changes out: what is new goes to its place, what joined lists becomes part of them,
//! and if deleted nodes are to go, every list that names one is repaired (the delete and patch phases of StreamingMerge, in
//! one pass; for OdinANN the checkpoint and the consolidation).

use crate::checkpoint::Frozen;
use crate::crew::Worker;
use crate::error::UpdateError;
use crate::figures::Figures;
use crate::linking::Joining;
use crate::live::Live;
use crate::pages::Commit;
use crate::reach::Reach;
use crate::repair::{RepairJob, RepairParams, RepairSource};
use bitvec::vec::BitVec;
use gleann_graph::PruneParams;
use gleann_lios::{Resumable, Step};
use gleann_quant::Codebook;
use gleann_search::{Link, NodeState, NodeTable, Overlay, Turn, Written, join, room};
use gleann_storage::{
    Area, Layout, LogicalBlock, PageTable, Record, is_vacant, record_bytes, replace_list, vacate_record,
};
use gleann_vector::{Element, NodeId};
use hashbrown::HashMap;
use parking_lot::Mutex;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Blocks that are computed, then written, at a time.
const BLOCKS_AT_ONCE: usize = 512;

/// One pass.
pub(crate) struct Rewriter<'a, T: Element> {
    pub(crate) live: &'a Live<T>,
    /// What is on disk.
    pub(crate) table: Arc<PageTable>,
    /// What goes there, oldest first.
    pub(crate) frozen: Vec<Arc<Overlay>>,
    /// How links join full lists.
    pub(crate) joining: Joining,
    pub(crate) nodes: Arc<NodeTable>,
    /// What each place held when the pass began; `Free` behind the end.
    pub(crate) states: Vec<NodeState>,
    /// Where searches began then.
    pub(crate) entry: Option<u32>,
    /// Whether the nodes that were dead then are to go.
    pub(crate) repair: bool,
    /// What an earlier checkpoint has written of the frozen overlays before it failed.
    pub(crate) written: Written,
    /// Blocks after which the table is switched; none: all at once.
    pub(crate) portion: Option<u32>,
    /// Whether a list had to be shortened.
    pub(crate) shortened: AtomicBool,
}

/// What a pass came to.
pub(crate) struct Rewritten {
    /// What is still to be finished.
    pub(crate) commit: Commit,
    /// Nodes that went.
    pub(crate) gone: Vec<u32>,
    /// Where searches begin: where they did, or if that node has gone, near there.
    pub(crate) entry: Option<u32>,
}

/// A node that is to go, and its list.
type DeadList = (u32, Box<[u32]>);

/// The memory of one thread.
struct Scratch<'a> {
    job: RepairJob<Survivors<'a>>,
    list: Vec<u32>,
    before: Vec<u32>,
}

/// A block on its way through a pass.
struct OpenBlock {
    /// Its position among those that are computed at a time.
    at: usize,
    index: u32,
    bytes: Vec<u8>,
    changed: bool,
    /// The record that is next.
    slot: u32,
    /// What may have been cut off the list of that record, if it is being repaired.
    repairing: Option<Vec<u32>>,
}

/// Blocks that several share.
struct Share {
    left: Mutex<Vec<OpenBlock>>,
    done: Mutex<Vec<Option<Vec<u8>>>>,
    failure: Mutex<Option<UpdateError>>,
}

/// One member's part in them.
struct BlockWorker<'a, T: Element> {
    pass: &'a Rewriter<'a, T>,
    share: &'a Share,
    reach: &'a Reach,
    scratch: Scratch<'a>,
    open: Option<OpenBlock>,
}

/// A portion that is to come into force.
pub(crate) struct Switched<'a> {
    /// The commit under way.
    pub(crate) commit: Commit,
    /// What the pass reads by.
    pub(crate) table: &'a mut Arc<PageTable>,
    /// The records of nodes below are written.
    pub(crate) nodes: u32,
    /// Where searches are to begin.
    pub(crate) entry: Option<u32>,
}

/// Brings a portion into force, and begins the commit of the next.
pub(crate) type Switch<'a> = dyn FnMut(Switched<'_>) -> Result<Commit, UpdateError> + 'a;

/// The nodes that are to go.
#[derive(Default)]
struct Dead {
    lists: HashMap<u32, Box<[u32]>>,
    /// A bit for each node: every neighbour of every list is asked about, and few of them are dead.
    bits: BitVec,
}

impl Dead {
    fn of(lists: HashMap<u32, Box<[u32]>>) -> Self {
        let end = lists.keys().max().map_or(0, |&last| last as usize + 1);
        let mut bits = BitVec::repeat(false, end);
        lists.keys().for_each(|&id| bits.set(id as usize, true));
        Self { lists, bits }
    }

    fn is(&self, id: u32) -> bool {
        self.bits.get(id as usize).is_some_and(|bit| *bit)
    }
}

/// What repairs read.
#[derive(Clone, Copy)]
struct Survivors<'a> {
    dead: &'a Dead,
    nodes: &'a NodeTable,
    codebook: &'a Codebook,
}

impl RepairSource for Survivors<'_> {
    fn is_live(&self, id: u32) -> bool {
        !self.dead.is(id)
    }

    fn dead_list(&self, id: u32) -> &[u32] {
        self.dead.lists.get(&id).map_or(&[], |list| list)
    }

    fn vector(&self, id: u32, out: &mut [f32]) {
        self.codebook.decode(self.nodes.codes().code(id), out);
    }

    fn prefetch(&self, id: u32) {
        self.nodes.codes().prefetch(id);
    }
}

impl<'a, T: Element> Rewriter<'a, T> {
    /// A pass that writes what is frozen, all at once and without repairs. It takes the table, so that nobody else keeps what
    /// is written anew from being free.
    pub(crate) fn of(live: &'a Live<T>, frozen: &mut Frozen) -> Self {
        Self {
            live,
            table: std::mem::take(&mut frozen.table),
            frozen: frozen.overlays.clone(),
            joining: Joining::DeltaPrune,
            nodes: frozen.nodes.clone(),
            states: frozen.states.clone(),
            entry: frozen.entry,
            repair: false,
            written: frozen.written,
            portion: None,
            shortened: AtomicBool::new(false),
        }
    }
}

impl<T: Element> Rewriter<'_, T> {
    /// Writes every block that changes.
    ///
    /// # Errors
    /// A block is damaged, or the system refused.
    pub(crate) fn run(
        &mut self,
        mut commit: Commit,
        switch: &mut Switch<'_>,
    ) -> Result<Rewritten, UpdateError> {
        let dead = if self.repair { Dead::of(self.dead_lists()?) } else { Dead::default() };
        let blocks = self.blocks();
        let reach = if self.repair {
            Reach::new(&self.states, self.layout().degree(), self.live.options.repair_bytes)
        } else {
            Reach::Cut(Mutex::default())
        };
        let entry = self.entry_without(&dead);
        let mut since_switch = 0;
        for chunk in blocks.chunks(BLOCKS_AT_ONCE.min(self.portion.unwrap_or(u32::MAX) as usize)) {
            // Blocks behind the end come with the rest of what belongs to them, in the last portion.
            let on_disk = (chunk[0] as usize) < self.table.records().len();
            if self.portion.is_some_and(|portion| on_disk && since_switch >= portion) {
                // A list that had to be shortened may cut somebody off until the end of the pass.
                if self.shortened.load(Ordering::Relaxed) {
                    self.portion = None;
                } else {
                    let nodes = chunk[0] * self.layout().records_per_block() as u32;
                    commit = switch(Switched { commit, table: &mut self.table, nodes, entry })?;
                    since_switch = 0;
                }
            }
            let written = self.renewed(chunk, &dead, &reach)?;
            for (&index, block) in chunk.iter().zip(written) {
                if let Some(mut block) = block {
                    commit.write(LogicalBlock { area: Area::Records, index }, &mut block)?;
                    Figures::add(&self.live.figures.blocks_written, 1);
                    since_switch += 1;
                }
            }
        }
        if let Some(entry) = entry {
            self.lead_to_all(reach, &mut commit, entry)?;
        }
        let mut gone: Vec<u32> = dead.lists.into_keys().collect();
        gone.sort_unstable();
        Ok(Rewritten { commit, gone, entry })
    }

    /// What each of the first `places` places holds once the pass stands. What was taken since it began is not part of it;
    /// what was deleted since may be.
    pub(crate) fn states_after(&self, places: u32) -> Vec<NodeState> {
        let state = |id: u32| match self.states.get(id as usize) {
            None | Some(NodeState::Free) => NodeState::Free,
            Some(NodeState::Dead) if self.repair => NodeState::Free,
            Some(_) => self.nodes.state(id),
        };
        (0..places).map(state).collect()
    }

    /// Where searches begin once these have gone.
    fn entry_without(&self, dead: &Dead) -> Option<u32> {
        let entry = self.entry?;
        let Some(list) = dead.lists.get(&entry) else { return Some(entry) };
        let is_live = |&id: &u32| self.states.get(id as usize) == Some(&NodeState::Live);
        list.iter().copied().find(is_live).or_else(|| (0..self.states.len() as u32).find(is_live))
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.live.index.layout
    }

    /// The blocks to look at, ascending: all if lists are repaired.
    fn blocks(&self) -> Vec<u32> {
        let block_of = |id: u32| self.layout().block_of(NodeId(id)).0;
        let on_disk = self.table.records().len() as u32;
        let new = self.frozen.iter().flat_map(|overlay| overlay.new_nodes());
        let mut blocks: Vec<u32> = new.map(block_of).collect();
        let end = blocks.iter().max().map_or(on_disk, |&last| on_disk.max(last + 1));
        if self.repair {
            return (0..end).collect();
        }
        blocks.extend(on_disk..end);
        blocks.extend(self.frozen.iter().flat_map(|overlay| overlay.changed_nodes()).map(block_of));
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    fn scratch<'a>(&'a self, dead: &'a Dead) -> Scratch<'a> {
        let link = &self.live.options.link;
        let prune = PruneParams {
            degree: link.degree,
            alpha: link.alpha,
            max_candidates: link.candidates.max(2 * link.degree),
            saturate: true,
        };
        let params = RepairParams { prune, policy: self.live.options.repair };
        let survivors = Survivors { dead, nodes: &self.nodes, codebook: self.live.codebook() };
        Scratch {
            job: RepairJob::new(survivors, self.live.space, params),
            list: Vec::new(),
            before: Vec::new(),
        }
    }

    /// The lists of the nodes that are to go, with what has joined them.
    fn dead_lists(&self) -> Result<HashMap<u32, Box<[u32]>>, UpdateError> {
        let dead: Vec<u32> =
            (0..self.states.len() as u32).filter(|&id| self.states[id as usize] == NodeState::Dead).collect();
        let by_block: Vec<&[u32]> = dead
            .chunk_by(|&a, &b| self.layout().block_of(NodeId(a)) == self.layout().block_of(NodeId(b)))
            .collect();
        let lists: Result<Vec<Vec<DeadList>>, UpdateError> = by_block
            .par_iter()
            .map(|ids| {
                let block = self.read(self.layout().block_of(NodeId(ids[0])).0)?;
                let mut list = Vec::new();
                let mut lists = Vec::with_capacity(ids.len());
                for &id in *ids {
                    self.current_list(id, self.place(&block, id), &mut list)?;
                    lists.push((id, list.as_slice().into()));
                }
                Ok(lists)
            })
            .collect();
        Ok(lists?.into_iter().flatten().collect())
    }

    /// A block as it is on disk, or one of free places.
    fn read(&self, index: u32) -> Result<Vec<u8>, UpdateError> {
        let mut block = vec![0; self.layout().block_bytes()];
        if (index as usize) < self.table.records().len() {
            self.live.pages.read(&self.table, LogicalBlock { area: Area::Records, index }, &mut block)?;
            return Ok(block);
        }
        let layout = self.layout();
        for place in block.chunks_exact_mut(layout.record_bytes()).take(layout.records_per_block()) {
            vacate_record(layout, place);
        }
        Ok(block)
    }

    pub(crate) fn place<'a>(&self, block: &'a [u8], id: u32) -> &'a [u8] {
        record_bytes(self.layout(), block, self.layout().slot_of(NodeId(id)))
    }

    /// The list of a record with everything that has joined it; whether anything has.
    fn current_list(&self, id: u32, record: &[u8], into: &mut Vec<u32>) -> Result<bool, UpdateError> {
        let mut new = None;
        let rest = self.written.rest(&self.frozen, id);
        for overlay in rest {
            overlay.with_record(id, |record| new = Some(record.to_vec()));
        }
        let record = new.as_deref().unwrap_or(record);
        into.clear();
        if is_vacant(self.layout(), record) {
            return Ok(false);
        }
        let fields = Record::decode(self.layout(), record, self.nodes.places() as u32)
            .map_err(|cause| self.live.damaged_node(id, &cause))?;
        into.extend(fields.neighbours());
        let mut joined = false;
        for overlay in rest {
            overlay.with_links(id, |links| {
                joined = true;
                self.join_all(into, links);
            });
        }
        Ok(joined)
    }

    fn join_all(&self, list: &mut Vec<u32>, links: &[Link]) {
        match self.joining {
            Joining::Gather => {
                for link in links {
                    if !list.contains(&link.joins) {
                        list.push(link.joins);
                    }
                }
            }
            Joining::DeltaPrune => {
                let mut length = list.len();
                list.resize(room(self.layout().degree()), 0);
                links.iter().for_each(|&link| join(list, &mut length, link));
                list.truncate(length);
            }
        }
    }

    /// Shortens a list that is too long by those that a new node in it names as well, as far as there are such.
    fn drop_led_to(&self, list: &mut Vec<u32>) {
        let mut at = list.len();
        while list.len() > self.layout().degree() && at > 0 {
            at -= 1;
            let node = list[at];
            if list.iter().any(|&other| other != node && self.new_node_names(other, node)) {
                list.remove(at);
            }
        }
    }

    fn new_node_names(&self, new: u32, node: u32) -> bool {
        let is_named = |record: &[u8]| {
            Record::decode(self.layout(), record, self.nodes.places() as u32)
                .is_ok_and(|record| record.neighbours().any(|id| id == node))
        };
        let mut named = false;
        for overlay in &self.frozen {
            overlay.with_record(new, |record| named = is_named(record));
        }
        named
    }

    /// Blocks with their changes, those that have any. They are read by the threads of the caller's pool; the crew does
    /// the rest.
    fn renewed(
        &self,
        chunk: &[u32],
        dead: &Dead,
        reach: &Reach,
    ) -> Result<Vec<Option<Vec<u8>>>, UpdateError> {
        let read: Result<Vec<OpenBlock>, UpdateError> = chunk
            .par_iter()
            .enumerate()
            .map(|(at, &index)| {
                let changed = index as usize >= self.table.records().len();
                Ok(OpenBlock { at, index, bytes: self.read(index)?, changed, slot: 0, repairing: None })
            })
            .collect();
        // Taken from the end, in order.
        let mut read = read?;
        read.reverse();
        let share = Share {
            left: Mutex::new(read),
            done: Mutex::new(vec![None; chunk.len()]),
            failure: Mutex::default(),
        };
        self.live.crew.run(&|| {
            Box::new(BlockWorker {
                pass: self,
                share: &share,
                reach,
                scratch: self.scratch(dead),
                open: None,
            })
        });
        share.failure.into_inner().map_or_else(|| Ok(share.done.into_inner()), Err)
    }

    /// Goes on with a block.
    fn go_on(
        &self,
        scratch: &mut Scratch<'_>,
        open: &mut OpenBlock,
        reach: &Reach,
        spent: &mut dyn FnMut() -> bool,
    ) -> Result<Step, UpdateError> {
        let per_block = self.layout().records_per_block() as u32;
        while open.slot < per_block {
            let id = open.index * per_block + open.slot;
            let start = self.layout().slot_of(NodeId(id)) * self.layout().record_bytes();
            let place = start..start + self.layout().record_bytes();
            if let Some(cut) = open.repairing.take() {
                if scratch.job.step(spent) == Step::More {
                    open.repairing = Some(cut);
                    return Ok(Step::More);
                }
                self.take_repaired(scratch);
                open.changed |= self.end_renewal(scratch, (id, &mut open.bytes[place]), cut, reach);
            } else if self.has_record(open, id, place.clone())? {
                let (cut, to_repair) = self.begin_renewal(scratch, (id, &open.bytes[place.clone()]))?;
                if to_repair {
                    scratch.job.start(id, &scratch.list);
                    open.repairing = Some(cut);
                    continue;
                }
                open.changed |= self.end_renewal(scratch, (id, &mut open.bytes[place]), cut, reach);
            }
            open.slot += 1;
            if open.slot < per_block && spent() {
                return Ok(Step::More);
            }
        }
        Ok(Step::Done)
    }

    /// Puts a place in order; whether it has a record then, whose list is to be brought up to date.
    fn has_record(
        &self,
        open: &mut OpenBlock,
        id: u32,
        place: std::ops::Range<usize>,
    ) -> Result<bool, UpdateError> {
        let record = &mut open.bytes[place];
        match self.states.get(id as usize).copied().unwrap_or(NodeState::Free) {
            NodeState::Free => return Ok(false),
            NodeState::Dead if self.repair => {
                vacate_record(self.layout(), record);
                open.changed = true;
                return Ok(false);
            }
            _ => {}
        }
        for overlay in self.written.rest(&self.frozen, id) {
            open.changed |= overlay.with_record(id, |new| record.copy_from_slice(new));
        }
        if !is_vacant(self.layout(), record) {
            return Ok(true);
        }
        // A consolidation that was cut short has come by.
        if self.states[id as usize] == NodeState::Dead {
            return Ok(false);
        }
        Err(self.live.damaged_node(id, &"it should be here, and the place is vacant"))
    }

    /// Makes the list of a record as it is with all that joined it; what may have been cut off it, and whether it has to be
    /// repaired or shortened.
    fn begin_renewal(
        &self,
        scratch: &mut Scratch<'_>,
        (id, record): (u32, &[u8]),
    ) -> Result<(Vec<u32>, bool), UpdateError> {
        let Scratch { list, before, .. } = scratch;
        before.clear();
        let fields = Record::decode(self.layout(), record, self.nodes.places() as u32)
            .map_err(|cause| self.live.damaged_node(id, &cause))?;
        before.extend(fields.neighbours());
        self.current_list(id, record, list)?;
        let mut cut = Vec::new();
        if !self.repair && list.len() > self.layout().degree() {
            self.shortened.store(true, Ordering::Relaxed);
            cut.clone_from(list);
            if self.joining == Joining::DeltaPrune {
                self.drop_led_to(list);
            }
        }
        let to_repair = self.repair || list.len() > self.layout().degree();
        Ok((cut, to_repair))
    }

    /// What a repair has made of the list.
    fn take_repaired(&self, scratch: &mut Scratch<'_>) {
        let Scratch { job, list, .. } = scratch;
        let lost = job.result().len() < list.len() || job.result() != &list[..];
        Figures::add(&self.live.figures.lists_repaired, u64::from(lost));
        Figures::add(&self.live.figures.comparisons, job.comparisons());
        list.clear();
        list.extend_from_slice(job.result());
    }

    /// Writes the list of a record; whether it has changed.
    fn end_renewal(
        &self,
        scratch: &mut Scratch<'_>,
        (id, record): (u32, &mut [u8]),
        cut: Vec<u32>,
        reach: &Reach,
    ) -> bool {
        let Scratch { list, before, .. } = scratch;
        // Whoever a new node was said to lead to is looked at as well: its list may have changed since.
        reach.take_cut(id, cut.into_iter().filter(|member| !list.contains(member)));
        reach.take(id, list);
        let changed = list != before;
        if changed {
            replace_list(self.layout(), record, list);
        }
        changed
    }
}

impl<T: Element> Worker for BlockWorker<'_, T> {
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Turn {
        loop {
            let Some(mut open) = self.open.take().or_else(|| self.share.left.lock().pop()) else {
                return Turn::Idle;
            };
            match self.pass.go_on(&mut self.scratch, &mut open, self.reach, spent) {
                Ok(Step::More) => {
                    self.open = Some(open);
                    return Turn::Busy;
                }
                Ok(Step::Done) => {
                    let OpenBlock { at, bytes, changed, .. } = open;
                    self.share.done.lock()[at] = changed.then_some(bytes);
                }
                Err(error) => {
                    self.share.left.lock().clear();
                    self.share.failure.lock().get_or_insert(error);
                }
            }
            if spent() {
                return Turn::Busy;
            }
        }
    }

    fn wait(&mut self, _: Duration) {}
}
