//! Records on their way to the disk, and the one who takes them there.

use super::error::Poison;
use super::record::{self, Lsn};
use super::segment::Segment;
use std::sync::Arc;

/// Consecutive records of one segment, not yet written.
#[derive(Debug)]
pub(super) struct Batch {
    pub segment: Arc<Segment>,
    /// Where in the segment they belong.
    pub offset: u64,
    pub bytes: Vec<u8>,
    pub last: Lsn,
}

/// How far the log has come on the disk. One thread at a time has it in hand.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    pub written: Lsn,
    pub durable: Lsn,
    /// The segment that has been written since its last sync: never more than one.
    pub unsynced: Option<Arc<Segment>>,
}

impl Progress {
    /// Writes `batches`, and where asked makes them durable. Nothing is written to a segment before the one before it
    /// is durable: only the last segment with records can have a torn tail.
    ///
    /// # Errors
    /// What failed. `self` says what had been achieved by then.
    pub fn advance(&mut self, batches: Vec<Batch>, sync: bool) -> Result<(), Poison> {
        for mut batch in batches {
            if self.unsynced.as_ref().is_some_and(|segment| !Arc::ptr_eq(segment, &batch.segment)) {
                self.sync()?;
            }
            record::seal(&mut batch.bytes, self.durable);
            let Batch { segment, offset, bytes, last } = batch;
            assert!(last > self.written, "records are written in order");
            segment.file.write_at(&bytes, offset).map_err(Poison::of("writing", segment.path.clone()))?;
            self.written = last;
            self.unsynced = Some(segment);
        }
        if sync { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), Poison> {
        // A failed fsync may have dropped dirty pages: it is never retried.
        if let Some(segment) = self.unsynced.take() {
            segment.file.sync().map_err(Poison::of("fsync of", segment.path.clone()))?;
        }
        self.durable = self.written;
        Ok(())
    }
}
