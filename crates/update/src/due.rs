//! When a checkpoint is due, and what a live index says of its state.

use crate::figures::{Figures, LiveFigures};
use crate::live::Live;
use gleann_vector::Element;

/// Temporary indexes that may wait to be merged: every search looks at each.
const MOST_BUFFERS: usize = 3;

impl<T: Element> Live<T> {
    /// Memory of what has changed since the last checkpoint, in bytes.
    fn overlay_bytes(&self) -> usize {
        let version = self.changes.latest();
        version.view.overlays.iter().map(|overlay| overlay.memory_bytes()).sum()
    }

    /// Whether so much has changed that it should be written out.
    pub fn is_checkpoint_due(&self) -> bool {
        self.overlay_bytes() >= self.options.overlay_bytes || (self.is_buffered() && self.is_merge_due())
    }

    /// Whether a temporary index is full enough to be merged into the graph.
    pub fn is_merge_due(&self) -> bool {
        let writer = self.writer.lock();
        writer.buffers.iter().map(|held| held.buffer.index().len()).sum::<usize>()
            >= self.options.buffer_vectors
    }

    /// Waits for the checkpoint under way if twice as much has changed as should: memory stays bounded.
    pub fn wait_for_room(&self) {
        let buffers = self.writer.lock().buffers.len();
        if !self.has_room() || buffers > MOST_BUFFERS {
            drop(self.maintenance.lock());
        }
    }

    /// Whether there is room for more changes before a checkpoint has been made. Never waits.
    pub fn has_room(&self) -> bool {
        self.overlay_bytes() < 2 * self.options.overlay_bytes
    }

    /// Share of the graph's nodes that are deleted.
    pub fn dead_share(&self) -> f64 {
        let writer = self.writer.lock();
        let all = writer.live() as u64 + writer.dead;
        if all == 0 { 0.0 } else { writer.dead as f64 / all as f64 }
    }

    /// Counts, sizes and costs.
    pub fn figures(&self) -> LiveFigures {
        let overlay_bytes = self.overlay_bytes() as u64;
        let block_bytes = self.pages.layout().block_bytes() as u64;
        let writer = self.writer.lock();
        let buffered = writer.buffers.iter().map(|held| held.slots.len() as u64).sum::<u64>();
        let buffers: usize = writer.buffers.iter().map(|held| held.buffer.index().memory_bytes()).sum();
        let of = Figures::of;
        let table = 4 * writer.view.table.blocks();
        LiveFigures {
            live: writer.live() as u64,
            dead: writer.dead,
            free: writer.placement.free() as u64,
            pending: writer.view.overlays.iter().map(|overlay| overlay.len() as u64).sum::<u64>() + buffered,
            overlay_bytes,
            memory_bytes: overlay_bytes
                + (writer.view.nodes.memory_bytes() + writer.keys.memory_bytes()) as u64
                + buffers as u64
                + table,
            log_bytes: self.wal.bytes(),
            index_bytes: u64::from(self.pages.file_blocks()) * block_bytes,
            bytes_written: of(&self.figures.blocks_written) * block_bytes,
            updates: of(&self.figures.updates),
            comparisons: of(&self.figures.comparisons),
            prune_ns: of(&self.figures.prune_ns),
            checkpoints: of(&self.figures.checkpoints),
            lists_repaired: of(&self.figures.lists_repaired),
            decided_again: of(&self.figures.decided_again),
        }
    }
}
