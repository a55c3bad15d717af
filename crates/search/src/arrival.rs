//! What has come is taken in: measured, and kept for its expansion.

use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::traversal::{State, Traversal};
use gleann_storage::{BlockId, Record, is_vacant};
use gleann_vector::Element;

/// A record that was asked for and has not come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outstanding {
    pub(crate) block: BlockId,
    pub(crate) node: u32,
    /// What it was estimated at: its place in the pool. None where it must come to be judged.
    pub(crate) estimate: Option<f32>,
}

impl Traversal {
    /// Takes in a block that was asked for.
    ///
    /// # Errors
    /// A record is damaged although its checksum holds.
    pub(crate) fn take_in<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), SearchError> {
        self.blocks -= 1;
        let mut at = 0;
        while at < self.outstanding.len() {
            if self.outstanding[at].block == block {
                let wanted = self.outstanding.swap_remove(at);
                self.land(index, query, &wanted, (index.bytes_in(bytes, wanted.node), self.nodes))?;
            } else {
                at += 1;
            }
        }
        self.use_page(index, query, block, bytes)
    }

    /// Takes in the record of a candidate that was asked for, whose neighbours are below `nodes`.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn land<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        wanted: &Outstanding,
        (bytes, nodes): (&[u8], u32),
    ) -> Result<(), SearchError> {
        let Outstanding { node, estimate, .. } = *wanted;
        if self.view.is_some() && is_vacant(&index.layout, bytes) {
            // A navigation graph names places whose nodes have gone; somebody has taken this one since.
            if let Some(position) = estimate.and_then(|estimate| self.pool.find(estimate, node)) {
                *self.pool.state_mut(position) = State::Expanded;
            }
            self.enter_at_entry(index);
            return Ok(());
        }
        let record = index.decode((node, nodes), bytes)?;
        let distance = self.measure(index, query, node, &record);
        let Some(estimate) = estimate else {
            self.land_judged(index, (distance, node), &record);
            return Ok(());
        };
        let place = self.pool.find(estimate, node);
        self.width.on_arrival(place.is_some());
        if let Some(position) = place {
            *self.pool.state_mut(position) = State::Landed(self.keep(index, node, &record));
        }
        Ok(())
    }

    /// Makes a candidate of a record that is judged by its exact distance, if that is near enough.
    pub(crate) fn land_judged<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        (distance, node): (f32, u32),
        record: &Record<'_>,
    ) {
        if self.pool.admits(distance) {
            let list = self.keep(index, node, record);
            self.admit(distance, node, State::Landed(list));
        }
    }

    /// Measures a record for the result; its exact distance. A record may come twice, from the cache and with its
    /// page.
    pub(crate) fn measure<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        node: u32,
        record: &Record<'_>,
    ) -> f32 {
        let distance = index.distance.between(query, record.vector::<T>());
        self.stats.exact += 1;
        if let Some(harvest) = &mut self.harvest {
            harvest.take_in::<T>((distance, node), record);
        }
        let is_result = self.view.as_ref().is_none_or(|view| view.is_live(node));
        if is_result && self.nearest.find(distance, node).is_none() {
            self.nearest.insert(distance, node, ());
        }
        distance
    }

    /// Keeps the neighbours of a record. By the time they are expanded, what that needs is on its way into the
    /// processor's cache.
    pub(crate) fn keep<T: Element>(&mut self, index: &SearchIndex<T>, node: u32, record: &Record<'_>) -> u16 {
        let list = self.lists.keep(record);
        if let Some(view) = &self.view {
            self.lists.patch(list, |ids, length| view.patch(node, ids, length));
        }
        let codes = index.estimates.codes(self.view.as_deref());
        for &id in self.lists.ids(list) {
            self.visited.prefetch(id);
            if let Some(codes) = codes {
                codes.prefetch(id);
            }
        }
        list
    }
}
