//! A copy of a live index as of one moment, while searches and updates go on.
//!
//! Under the lock the overlay that takes changes is set aside, so that the graph of that moment stays as it is. The blocks
//! are copied, and what the overlays say is written into the copy as a checkpoint would write it; what is buffered becomes
//! the log of the copy. The index itself writes nothing. Until the last step the copy has no root, and is no index.

use crate::areas::write_areas;
use crate::buffer::Buffer;
use crate::error::UpdateError;
use crate::linking::Joining;
use crate::live::Live;
use crate::operation::Operation;
use crate::pages::{Pages, PagesPlace};
use crate::rewrite::{Rewriter, Rewritten};
use crate::root::{Portion, Root};
use crate::wal::{Durability, Lsn, Wal, WalOptions};
use gleann_search::{NodeState, Overlay, View};
use gleann_storage::{Area, Volume};
use gleann_vector::Element;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A live index at one moment. What it names stays as it is for as long as this is held.
pub(crate) struct Moment<T: Element> {
    /// The graph: no overlay of it takes changes any more.
    pub(crate) view: View,
    /// What each place held.
    pub(crate) states: Vec<NodeState>,
    /// What was not in the graph: slots by buffer.
    pub(crate) buffered: Vec<(Arc<Buffer<T>>, Vec<u32>)>,
}

impl<T: Element> Live<T> {
    /// The index as it is now. Another overlay takes changes from here on; `also` is called before anything can change. No
    /// merge may be under way: nodes that it has settled are not in the graph yet.
    pub(crate) fn moment(&self, also: impl FnOnce(&mut crate::writer::Writer<T>)) -> Moment<T> {
        let mut writer = self.writer.lock();
        let view = writer.view.clone();
        writer.view.overlays.push(Arc::new(Overlay::new()));
        writer.publish();
        let places = (writer.placement.places() as usize).min(view.nodes.places());
        let states = (0..places as u32).map(|id| view.nodes.state(id)).collect();
        let slots = |held: &crate::writer::Held<T>| {
            let mut slots: Vec<u32> = held.slots.values().copied().collect();
            slots.sort_unstable();
            slots
        };
        let buffered = writer.buffers.iter().map(|held| (held.buffer.clone(), slots(held))).collect();
        also(&mut writer);
        Moment { view, states, buffered }
    }

    /// Writes the blocks, table and log of a copy into `volume`, which holds none of them. Everything acknowledged before
    /// this was called is part of it. Waits for a checkpoint that is under way. Runs on the caller's rayon pool.
    ///
    /// # Errors
    /// There is an index in `volume`, a block is damaged, or the system refused on either side: what was written is then
    /// not an index.
    pub fn snapshot(&self, volume: &Arc<dyn Volume>) -> Result<(), UpdateError> {
        let _turn = self.maintenance.lock();
        let moment = self.moment(|_| {});
        self.pages.copy_to(&moment.view.table, volume.clone(), &[])?;
        let place =
            PagesPlace { volume: volume.clone(), index: self.id, layout: self.index.layout.block_layout() };
        self.log_buffered(&moment, volume)?;
        self.write_moment(&moment, &Pages::open(place)?.0)
    }

    /// What is buffered, as the log of the copy.
    fn log_buffered(&self, moment: &Moment<T>, volume: &Arc<dyn Volume>) -> Result<(), UpdateError> {
        let options = WalOptions {
            id: self.id.0,
            first_segment: 1,
            begins: true,
            segment_bytes: self.options.segment_bytes,
            durability: Durability::None,
        };
        let wal = Wal::open::<UpdateError>(volume.clone(), options, &mut |_, _| Ok(()))?;
        let mut record = Vec::new();
        for (buffer, slots) in &moment.buffered {
            for &slot in slots {
                let (key, vector) = (buffer.index().key(slot), buffer.index().vector(slot));
                record.clear();
                Operation::Put { key, vector: bytemuck::cast_slice(vector) }.encode(&mut record);
                wal.append(&record)?;
            }
        }
        Ok(wal.flush()?)
    }

    /// What the overlays say, as the first checkpoint of the copy.
    fn write_moment(&self, moment: &Moment<T>, pages: &Pages) -> Result<(), UpdateError> {
        let Moment { view, states, .. } = moment;
        let mut rewriter = Rewriter {
            live: self,
            table: view.table.clone(),
            frozen: view.overlays.to_vec(),
            joining: Joining::DeltaPrune,
            nodes: view.nodes.clone(),
            states: states.clone(),
            entry: view.entry,
            repair: false,
            written: view.written,
            portion: None,
            shortened: AtomicBool::new(false),
        };
        let Rewritten { mut commit, .. } = rewriter.run(pages.begin()?, &mut |portion| Ok(portion.commit))?;
        let new: Vec<u32> = view.overlays.iter().flat_map(|overlay| overlay.new_nodes()).collect();
        let places = self.places_of(commit.blocks(Area::Records));
        let mut block = vec![0; self.index.layout.block_bytes()];
        write_areas(&mut commit, (&view.nodes, states), (&new, places), &mut block)?;
        let mut states = states.clone();
        states.resize(places as usize, NodeState::Free);
        let root = Root {
            backend: self.backend,
            entry: view.entry,
            first_segment: 1,
            max_norm: self.max_norm,
            graph: Lsn(0),
            written: Portion::default(),
            states,
        };
        commit.finish(&root.to_bytes())?;
        Ok(())
    }
}
