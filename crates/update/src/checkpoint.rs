//! A checkpoint: what has changed goes to disk, and the log before it is no longer needed. Searches and updates go on
//! meanwhile.
//!
//! 1. Under the lock, the overlay that took changes is frozen and another takes its place; the log begins a segment.
//! 2. A pass over the blocks writes what is frozen, into blocks that nobody reads.
//! 3. The new table comes into force by one rename.
//! 4. Under the lock, the next version of the index has the new table, and no longer the frozen overlay.
//!
//! A crash before the rename leaves the old table and a log that holds everything since; after it, the new table and a
//! log that begins with the segment of step 1.

use crate::areas::write_areas;
use crate::buffer::Buffer;
use crate::error::UpdateError;
use crate::figures::Figures;
use crate::live::Live;
use crate::pages::Commit;
use crate::rewrite::{Rewriter, Rewritten, Switched};
use crate::root::{Portion, Root};
use crate::wal::Lsn;
use crate::writer::{Held, Writer};
use gleann_search::{NodeState, NodeTable, Overlay, Written};
use gleann_storage::{Area, PageTable};
use gleann_vector::Element;
use hashbrown::HashMap;
use std::sync::Arc;

/// Portions of a checkpoint, and the fewest blocks of one.
const PORTIONS: u32 = 8;
const LEAST_PORTION: u32 = 2048;

/// What a checkpoint writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// What has changed.
    Changes,
    /// What has changed, and every list that names a deleted node: those go, and their places are free.
    Repaired,
}

/// What a checkpoint began with.
pub(crate) struct Frozen {
    pub(crate) overlays: Vec<Arc<Overlay>>,
    pub(crate) table: Arc<PageTable>,
    pub(crate) nodes: Arc<NodeTable>,
    pub(crate) states: Vec<NodeState>,
    pub(crate) entry: Option<u32>,
    /// The log goes on here once the checkpoint stands, and began there before.
    pub(crate) segment: u64,
    pub(crate) last_segment: u64,
    /// The last record of the log that is part of the checkpoint.
    pub(crate) lsn: Lsn,
    /// The last that is in the blocks as of the checkpoint before.
    pub(crate) last_graph: Lsn,
    pub(crate) written: Written,
}

/// A table that is on the disk, and not yet in force.
pub(crate) struct Sealed {
    table: Arc<PageTable>,
    entry: Option<u32>,
    gone: Vec<u32>,
}

/// Temporary indexes, oldest first.
type Buffers<T> = Vec<Arc<Buffer<T>>>;

impl<T: Element> Live<T> {
    /// Writes out what has changed. Waits for a checkpoint that is under way.
    ///
    /// # Errors
    /// The system refused, or a block is damaged: the index is as before, and this can be tried again.
    pub fn checkpoint(&self, rewrite: Rewrite) -> Result<(), UpdateError> {
        let _turn = self.maintenance.lock();
        let repair = rewrite == Rewrite::Repaired;
        let (mut frozen, _) = self.freeze(false, repair)?;
        let written = self.write_out(&mut frozen, repair);
        self.writer.lock().repairing = false;
        written?;
        Figures::add(&self.figures.checkpoints, 1);
        Ok(self.wal.remove_before(frozen.segment)?)
    }

    /// Steps 2 to 4.
    fn write_out(&self, frozen: &mut Frozen, repair: bool) -> Result<(), UpdateError> {
        let portion = if repair { None } else { self.portion(frozen) };
        let mut rewriter = Rewriter { repair, portion, ..Rewriter::of(self, frozen) };
        let mut switch = |portion: Switched<'_>| self.switch_portion(frozen, portion);
        let rewritten = rewriter.run(self.pages.begin()?, &mut switch)?;
        let sealed = self.seal(frozen, &rewriter, rewritten, |_| ())?;
        let mut writer = self.writer.lock();
        self.bring_into_force(&mut writer, frozen, (&rewriter.table, sealed));
        writer.publish();
        Ok(())
    }

    /// Step 3: what belongs to the records that a pass has written, and the table. `amend` has the last word on what each
    /// place holds.
    pub(crate) fn seal(
        &self,
        frozen: &Frozen,
        rewriter: &Rewriter<'_, T>,
        rewritten: Rewritten,
        amend: impl FnOnce(&mut [NodeState]),
    ) -> Result<Sealed, UpdateError> {
        let Rewritten { mut commit, gone, entry } = rewritten;
        let new: Vec<u32> = rewriter.frozen.iter().flat_map(|overlay| overlay.new_nodes()).collect();
        let places = self.places_of(commit.blocks(Area::Records));
        let mut block = vec![0; self.index.layout.block_bytes()];
        write_areas(&mut commit, (&rewriter.nodes, &rewriter.states), (&new, places), &mut block)?;
        let mut states = rewriter.states_after(places);
        amend(&mut states);
        let root = Root {
            backend: self.backend,
            entry,
            first_segment: frozen.segment,
            max_norm: self.max_norm,
            graph: frozen.lsn,
            written: Portion::default(),
            states,
        };
        // The states show what was done up to now, and nothing may last that the log does not know.
        self.wal.flush()?;
        Ok(Sealed { table: commit.finish(&root.to_bytes())?, entry, gone })
    }

    /// Blocks of a portion. Repairs are made all at once: half of them may cut off what only deleted nodes lead to. Nor are
    /// there portions where an earlier checkpoint has failed amid its portions.
    fn portion(&self, frozen: &Frozen) -> Option<u32> {
        let blocks = frozen.table.records().len() as u32;
        let auto = (blocks / PORTIONS).max(LEAST_PORTION);
        let portion = if self.options.portion_blocks == 0 { auto } else { self.options.portion_blocks };
        (frozen.written == Written::default()).then_some(portion)
    }

    /// Brings a portion into force: for searches at once; for whoever opens the index after a crash together with the log,
    /// which begins where it did.
    fn switch_portion(&self, frozen: &Frozen, portion: Switched<'_>) -> Result<Commit, UpdateError> {
        let Switched { commit, table, nodes, entry } = portion;
        // Lists may name what is not on disk yet: the log must know of it.
        self.wal.flush()?;
        let is_new = |id: u32| frozen.overlays.iter().any(|overlay| overlay.has_record(id));
        let places = self.places_of(table.records().len() as u32);
        let state = |id: u32| match frozen.states.get(id as usize) {
            Some(NodeState::Live | NodeState::Dead) if !is_new(id) => frozen.nodes.state(id),
            _ => NodeState::Free,
        };
        let root = Root {
            backend: self.backend,
            entry: entry.filter(|&id| id < places && !is_new(id)),
            first_segment: frozen.last_segment,
            max_norm: self.max_norm,
            graph: frozen.last_graph,
            written: Portion { nodes, lsn: frozen.lsn },
            states: (0..places).map(state).collect(),
        };
        let new = commit.finish(&root.to_bytes())?;
        let mut writer = self.writer.lock();
        self.prepare_switch(&writer.view.table, &new);
        writer.retire(table, Vec::new());
        writer.view.table = new.clone();
        writer.view.written = Written { nodes, overlays: frozen.overlays.len() };
        if writer.view.entry == frozen.entry {
            writer.view.entry = entry;
        }
        writer.publish();
        drop(writer);
        *table = new;
        Ok(self.pages.begin()?)
    }

    /// Step 1. `with_buffers`: what temporary indexes hold is to be part of the checkpoint, and an empty one takes their
    /// place; otherwise the log that speaks of them must stay.
    pub(crate) fn freeze(
        &self,
        with_buffers: bool,
        repair: bool,
    ) -> Result<(Frozen, Buffers<T>), UpdateError> {
        let mut writer = self.writer.lock();
        let last_segment = *self.wal.segments().start();
        let next = self.wal.rotate()?;
        let keeps_log = !with_buffers && !writer.buffers.is_empty();
        let segment = if keeps_log { *self.wal.segments().start() } else { next };
        let buffers = writer.buffers.iter().map(|held| held.buffer.clone()).collect();
        if with_buffers && !writer.buffers.is_empty() {
            writer.buffers.push(Held { buffer: Arc::new(self.new_buffer()), slots: HashMap::new() });
        }
        writer.repairing = repair;
        let mut overlays = writer.view.overlays.to_vec();
        if writer.active().is_empty() {
            // It goes on, so that checkpoints that fail do not pile overlays up.
            overlays.pop();
        } else {
            writer.view.overlays.push(Arc::new(Overlay::new()));
        }
        writer.publish();
        let nodes = writer.view.nodes.clone();
        let places = writer.placement.places().min(nodes.places() as u32);
        let states = (0..places).map(|id| nodes.state(id)).collect();
        let (table, entry) = (writer.view.table.clone(), writer.view.entry);
        let (lsn, written) = (self.wal.last_lsn(), writer.view.written);
        let last_graph = writer.graph;
        let frozen =
            Frozen { overlays, table, nodes, states, entry, segment, last_segment, lsn, last_graph, written };
        Ok((frozen, buffers))
    }

    pub(crate) fn places_of(&self, blocks: u32) -> u32 {
        blocks * self.index.layout.records_per_block() as u32
    }

    /// Step 4: the table and what came with it is what searches find once the writer publishes it. `old` is the table that
    /// the pass has read by.
    pub(crate) fn bring_into_force(
        &self,
        writer: &mut Writer<T>,
        frozen: &Frozen,
        (old, sealed): (&Arc<PageTable>, Sealed),
    ) {
        let is_frozen =
            |overlay: &Arc<Overlay>| frozen.overlays.iter().any(|other| Arc::ptr_eq(other, overlay));
        writer.view.overlays.retain(|overlay| !is_frozen(overlay));
        writer.view.written = Written::default();
        self.prepare_switch(&writer.view.table, &sealed.table);
        writer.view.table = sealed.table;
        // Unless somebody has found another meanwhile.
        if writer.view.entry == frozen.entry {
            writer.view.entry = sealed.entry;
        }
        writer.free_places(old, sealed.gone);
        writer.graph = frozen.lsn;
        writer.repairing = false;
    }
}
