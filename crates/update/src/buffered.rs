//! Buffered inserts (FreshDiskANN): into a temporary index, at once and without a read.

use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::direct::{Committed, Outcome};
use crate::error::UpdateError;
use crate::figures::Figures;
use crate::live::Live;
use crate::operation::Operation;
use crate::runner::Inserted;
use gleann_vector::Element;

impl<T: Element> Live<T> {
    /// Whether vectors are put into the temporary index: always in the *fresh* backend, and as long as there is no graph to
    /// link them into.
    pub fn is_buffered(&self) -> bool {
        self.backend == Backend::Fresh || self.unbuilt
    }

    /// Whether there is no graph yet, nor codes that say anything.
    pub fn is_unbuilt(&self) -> bool {
        self.unbuilt
    }

    /// Whether temporary indexes are to be merged before the next checkpoint: the log speaks of what they hold.
    pub fn has_buffers(&self) -> bool {
        !self.writer.lock().buffers.is_empty()
    }

    /// Puts a vector into the temporary index. [`Live::settled`] says when it is to last.
    ///
    /// # Errors
    /// The log cannot be written; nothing has changed.
    pub fn put(&self, key: u64, vector: &[T], replace: bool) -> Inserted {
        let (outcome, lsn, (buffer, slot)) = {
            let mut writer = self.writer.lock();
            let taken = writer.has(key);
            if taken && !replace {
                return Ok(Committed::TAKEN);
            }
            let mut record = Vec::new();
            Operation::Put { key, vector: bytemuck::cast_slice(vector) }.encode(&mut record);
            let lsn = self.wal.append(&record).map_err(UpdateError::from)?;
            let place = writer.put(key, vector, || self.new_buffer());
            (if taken { Outcome::Replaced } else { Outcome::Inserted }, lsn, place)
        };
        buffer.with_scratch(|index, scratch| index.link(slot, scratch));
        Figures::add(&self.figures.updates, 1);
        Ok(Committed { outcome, node: None, lsn: Some(lsn) })
    }

    pub(crate) fn new_buffer(&self) -> Buffer<T> {
        Buffer::new(self.index.distance, self.space, &self.options)
    }
}
