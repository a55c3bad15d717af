//! All vectors of an index as of one moment, and which keys have changed since: what a new index is made of that takes the
//! place of this one.

use crate::error::UpdateError;
use crate::live::Live;
use crate::snapshot::Moment;
use gleann_search::NodeState;
use gleann_storage::{Area, LogicalBlock, record_bytes};
use gleann_vector::{Element, NodeId};

/// All vectors of one moment.
pub struct Copying<T: Element>(Moment<T>);

/// Takes a key and its vector.
type TakeVector<'a, T> = &'a mut dyn FnMut(u64, &[T]) -> Result<(), UpdateError>;

impl<T: Element> Live<T> {
    /// Begins a copy. From here on every key that is put or deleted is noted, until [`Live::end_copy`]. Waits for a
    /// merge that is under way.
    pub fn begin_copy(&self) -> Copying<T> {
        let _turn = self.maintenance.lock();
        Copying(self.moment(|writer| writer.changed = Some(Default::default())))
    }

    /// Calls `take` with every vector of the copy and its key. Reads every block.
    ///
    /// # Errors
    /// A block cannot be read, or what `take` failed with.
    pub fn copy(&self, copying: &Copying<T>, take: TakeVector<'_, T>) -> Result<(), UpdateError> {
        let Moment { view, states, buffered } = &copying.0;
        let layout = &self.index.layout;
        let (mut block, mut held) = (vec![0; layout.block_bytes()], None);
        let live = (0..states.len() as u32).filter(|&id| states[id as usize] == NodeState::Live);
        for id in live {
            let mut vector: Vec<T> = Vec::new();
            let decode = |bytes: &[u8]| bytemuck::pod_collect_to_vec(&bytes[..layout.dim() * size_of::<T>()]);
            if !view.with_new_record(id, |record| vector = decode(record)) {
                let index = layout.block_of(NodeId(id)).0;
                if held != Some(index) {
                    self.pages.read(&view.table, LogicalBlock { area: Area::Records, index }, &mut block)?;
                    held = Some(index);
                }
                vector = decode(record_bytes(layout, &block, layout.slot_of(NodeId(id))));
            }
            take(view.nodes.key(id), &vector)?;
        }
        for (buffer, slots) in buffered {
            for &slot in slots {
                take(buffer.index().key(slot), buffer.index().vector(slot))?;
            }
        }
        Ok(())
    }

    /// The keys that were put or deleted since the copy began, or since this was last called.
    pub fn take_changed(&self) -> Vec<u64> {
        self.writer.lock().changed.as_mut().map(std::mem::take).unwrap_or_default().into_iter().collect()
    }

    /// Notes no changes any more.
    pub fn end_copy(&self) {
        self.writer.lock().changed = None;
    }
}
