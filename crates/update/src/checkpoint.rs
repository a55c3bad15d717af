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
use crate::linking::Joining;
use crate::live::Live;
use crate::rewrite::{Rewriter, Rewritten};
use crate::root::Root;
use crate::writer::{Held, Writer};
use gleann_search::{NodeState, NodeTable, Overlay};
use gleann_storage::PageTable;
use gleann_vector::Element;
use hashbrown::HashMap;
use std::sync::Arc;

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
    pub(crate) segment: u64,
}

impl<T: Element> Live<T> {
    /// Writes out what has changed. Waits for a checkpoint that is under way.
    ///
    /// # Errors
    /// The system refused, or a block is damaged: the index is as before, and this can be tried again.
    pub fn checkpoint(&self, rewrite: Rewrite) -> Result<(), UpdateError> {
        let _turn = self.maintenance.lock();
        let (frozen, _) = self.freeze(false)?;
        let repair = rewrite == Rewrite::Repaired;
        let rewriter = Rewriter {
            live: self,
            table: frozen.table.clone(),
            frozen: frozen.overlays.clone(),
            joining: Joining::DeltaPrune,
            nodes: frozen.nodes.clone(),
            states: frozen.states.clone(),
            entry: frozen.entry,
            repair,
        };
        let mut commit = self.pages.begin()?;
        let Rewritten { gone, entry } = rewriter.run(&mut commit)?;
        let new: Vec<u32> = frozen.overlays.iter().flat_map(|overlay| overlay.new_nodes()).collect();
        let places = self.places_of(commit.blocks(gleann_storage::Area::Records));
        let mut block = vec![0; self.index.layout.block_bytes()];
        write_areas(&mut commit, (&frozen.nodes, &frozen.states), (&new, places), &mut block)?;
        let states = self.states_after(&frozen, places, repair);
        let root = Root {
            backend: self.backend,
            entry,
            first_segment: frozen.segment,
            max_norm: self.max_norm,
            states,
        };
        // The states show what was done up to now, and nothing may last that the log does not know.
        self.wal.flush()?;
        let table = commit.finish(&root.to_bytes())?;
        self.publish_table(&frozen, table, entry, gone);
        Figures::add(&self.figures.checkpoints, 1);
        Ok(self.wal.remove_before(frozen.segment)?)
    }

    /// Step 1. `with_buffers`: what temporary indexes hold is to be part of the checkpoint, and an empty one takes their
    /// place; otherwise the log that speaks of them must stay.
    pub(crate) fn freeze(&self, with_buffers: bool) -> Result<(Frozen, Vec<Arc<Buffer<T>>>), UpdateError> {
        let mut writer = self.writer.lock();
        let next = self.wal.rotate()?;
        let keeps_log = !with_buffers && !writer.buffers.is_empty();
        let segment = if keeps_log { *self.wal.segments().start() } else { next };
        let buffers = writer.buffers.iter().map(|held| held.buffer.clone()).collect();
        if with_buffers && !writer.buffers.is_empty() {
            writer.buffers.push(Held { buffer: Arc::new(self.new_buffer()), slots: HashMap::new() });
        }
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
        Ok((Frozen { overlays, table, nodes, states, entry, segment }, buffers))
    }

    pub(crate) fn places_of(&self, blocks: u32) -> u32 {
        blocks * self.index.layout.records_per_block() as u32
    }

    /// What each place holds once the checkpoint stands. What was taken since it began is not part of it; what was
    /// deleted since may be.
    pub(crate) fn states_after(&self, frozen: &Frozen, places: u32, repair: bool) -> Vec<NodeState> {
        let state = |id: u32| match frozen.states.get(id as usize) {
            None | Some(NodeState::Free) => NodeState::Free,
            Some(NodeState::Dead) if repair => NodeState::Free,
            Some(_) => frozen.nodes.state(id),
        };
        (0..places).map(state).collect()
    }

    /// Step 4.
    fn publish_table(&self, frozen: &Frozen, table: Arc<PageTable>, entry: Option<u32>, gone: Vec<u32>) {
        let mut writer = self.writer.lock();
        let is_frozen =
            |overlay: &Arc<Overlay>| frozen.overlays.iter().any(|other| Arc::ptr_eq(other, overlay));
        writer.view.overlays.retain(|overlay| !is_frozen(overlay));
        (self.before_switch)();
        writer.view.table = table;
        if writer.view.entry == frozen.entry {
            writer.view.entry = entry;
        }
        writer.free_places(&frozen.table, gone);
        writer.publish();
    }
}

impl<T: Element> Writer<T> {
    /// Nodes have gone whose places nobody may take while `table` is read by.
    pub(crate) fn free_places(&mut self, table: &Arc<PageTable>, gone: Vec<u32>) {
        self.dead -= gone.len() as u64;
        gone.iter().for_each(|&id| self.view.nodes.mark(id, NodeState::Free));
        self.retire(table, gone);
    }
}
