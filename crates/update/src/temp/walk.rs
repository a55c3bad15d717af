//! Greedy search over lists that change on the way.

use super::index::TempIndex;
use super::scratch::{TempScratch, Walk};
use gleann_graph::Candidate;
use gleann_vector::Element;
use std::sync::atomic::Ordering;

/// How much longer the pool of a search may become because of deleted nodes.
const MAX_STRETCH: usize = 4;
/// Hops of a search on its way to the neighbourhood it ends in.
const APPROACH_HOPS: usize = 8;

impl<T: Element> TempIndex<T> {
    /// The (at most) `k` live slots nearest to `query` that a search with a pool of `list` finds, nearest first, into
    /// `out`, with the metric's ordering distance. Where it meets fewer than `k` live ones although there are more,
    /// everything is scanned: the result is short only when fewer than `k` are live.
    ///
    /// A slot whose deletion has returned before is never found; one that is inserted or deleted meanwhile may be or not.
    ///
    /// # Panics
    /// If `query` has another dimension.
    pub fn search(
        &self,
        query: &[T],
        k: usize,
        list: usize,
        scratch: &mut TempScratch<T>,
        out: &mut Vec<(f32, u32)>,
    ) {
        out.clear();
        let wanted = k.min(self.live());
        if wanted == 0 {
            return;
        }
        // Not bounded by what there is now: what is inserted meanwhile shall push nothing out.
        let most = k.min(self.capacity());
        let found = &mut scratch.found;
        found.reset(most);
        let measure = |slot: u32| self.distance.between(query, self.rows.vector(slot));
        let mut meet = |distance: f32, slot: u32| {
            if found.admits(distance) && self.rows.is_live(slot) {
                found.insert(distance, slot, ());
            }
        };
        self.walk(&mut scratch.walk, self.stretched(list.max(k)), measure, &mut meet);
        if found.len() < wanted {
            found.reset(most);
            for slot in (0..self.len() as u32).filter(|&slot| self.rows.is_live(slot)) {
                found.insert(measure(slot), slot, ());
            }
        }
        out.extend(found.entries().iter().map(|entry| (entry.distance, entry.id)));
    }

    /// A pool that holds about `list` live nodes: deleted ones are walked through, and take places in it.
    fn stretched(&self, list: usize) -> usize {
        let stretched = list.saturating_mul(self.len()) / self.live().max(1);
        stretched.clamp(list, list.saturating_mul(MAX_STRETCH))
    }

    /// Walks from the entry to what is nearest by `measure`, with a pool of `list`; `met` is told of every node measured,
    /// once.
    pub(super) fn walk(
        &self,
        walk: &mut Walk,
        list: usize,
        measure: impl Fn(u32) -> f32,
        met: &mut impl FnMut(f32, u32),
    ) {
        let expected = list.saturating_add(APPROACH_HOPS).saturating_mul(self.params().degree);
        walk.pool.reset(list.min(self.capacity()));
        walk.seen.clear(expected.min(self.len()));
        walk.expanded.clear();
        let entry = self.entry.load(Ordering::Acquire);
        if (entry as usize) < self.capacity() {
            walk.meet(self, std::iter::once(entry));
            walk.score(&measure, met);
        }
        let mut next = 0;
        while let Some(entry) = walk.pool.entries().get(next).copied() {
            if entry.state {
                next += 1;
                continue;
            }
            *walk.pool.state_mut(next) = true;
            walk.expanded.push(Candidate { distance: entry.distance, id: entry.id });
            walk.meet(self, self.lists.ids(entry.id));
            next = walk.score(&measure, met).min(next + 1);
        }
    }
}

impl Walk {
    /// Collects the unseen among `ids` and asks for their vectors.
    #[inline]
    fn meet<T: Element>(&mut self, index: &TempIndex<T>, ids: impl Iterator<Item = u32>) {
        self.unseen.clear();
        for id in ids {
            if self.seen.insert(id) {
                index.rows.prefetch(id);
                self.unseen.push(id);
            }
        }
    }

    /// Measures what [`Walk::meet`] found; the first position of the pool that changed.
    #[inline]
    fn score(&mut self, measure: &impl Fn(u32) -> f32, met: &mut impl FnMut(f32, u32)) -> usize {
        let mut first = usize::MAX;
        for &id in &self.unseen {
            let distance = measure(id);
            met(distance, id);
            if let Some(inserted) = self.pool.insert(distance, id, false) {
                first = first.min(inserted.position);
            }
        }
        first
    }
}
