//! A vector joins the graph.
//!
//! **Anchors form one tree.** A new node's list names only nodes that were linked, or being linked, before its own search
//! ended. While inserts race, a node without an anchor yet may be the root of a small tree of its own; such a root is the
//! oldest node of its tree, for every other one hangs below something older than itself, or below what hangs there.
//! A root ties itself to the tree of an older node, so trees can only join into that of the oldest of all, the entry.

use super::index::TempIndex;
use super::lists::{LockedList, NOWHERE};
use super::scratch::{Gathered, TempScratch};
use gleann_graph::{Candidate, Pairs};
use gleann_vector::{Distance, Element, Matrix};
use std::sync::atomic::Ordering;

impl<T: Element> TempIndex<T> {
    /// Links a slot that has been added: search, prune, own list, edges back. A slot that is linked already stays as it is;
    /// no two threads may link the same one at once.
    pub fn link(&self, slot: u32, scratch: &mut TempScratch<T>) {
        // The first slot has nothing to link to. Whoever loses this race finds the winner as the entry.
        let entry = self.entry.compare_exchange(NOWHERE, slot, Ordering::AcqRel, Ordering::Acquire);
        if entry.map_or_else(|known| known == slot, |_| true) || self.lists.anchor(slot) != NOWHERE {
            return;
        }
        self.walk(&mut scratch.walk, self.params().list, |id| self.prune_distance(slot, id), &mut |_, _| ());
        scratch.candidates.clear();
        scratch.candidates.extend_from_slice(&scratch.walk.expanded);
        self.prune(slot, scratch);
        let own = std::mem::take(&mut scratch.ids);
        self.lists.lock(slot).replace(&own);
        let mut anchored = false;
        for &neighbour in &own {
            anchored |= self.add_edge(neighbour, slot, !anchored, scratch);
        }
        if !anchored {
            self.anchor_below(own[0], slot, scratch);
        }
        scratch.ids = own;
    }

    /// Adds `to` to the list of `from`, anchored there if it `may` be and there is room for it; whether it has been.
    fn add_edge(&self, from: u32, to: u32, may_anchor: bool, scratch: &mut TempScratch<T>) -> bool {
        let list = self.lists.lock(from);
        let anchored = may_anchor && list.ids().filter(|&id| list.anchors(id)).count() < self.most_anchored();
        if anchored {
            list.anchor(to);
        }
        if !list.ids().any(|id| id == to) && !list.push(to) {
            scratch.candidates.clear();
            let ids = list.ids().chain([to]);
            let measured = ids.map(|id| Candidate { distance: self.prune_distance(from, id), id });
            scratch.candidates.extend(measured);
            self.prune(from, scratch);
            keep_anchored(&list, &scratch.candidates, &mut scratch.ids);
            list.replace(&scratch.ids);
        }
        anchored
    }

    /// Anchors `slot` somewhere below `from`, whose neighbourhood has no room for it: a tree of anchors ends in nodes that
    /// hold none.
    fn anchor_below(&self, from: u32, slot: u32, scratch: &mut TempScratch<T>) {
        let (mut at, mut turn) = (from, slot as usize);
        while !self.add_edge(at, slot, true, scratch) {
            let list = self.lists.lock(at);
            scratch.ids.clear();
            scratch.ids.extend(list.ids().filter(|&id| list.anchors(id)));
            // Slots take turns, so that the tree grows in breadth.
            at = scratch.ids[turn % scratch.ids.len()];
            turn = turn.wrapping_mul(0x9E37_79B1).rotate_right(7);
        }
    }

    /// Nodes a list keeps for good at most: half of it is left to the rules of pruning.
    fn most_anchored(&self) -> usize {
        (self.params().degree / 2).max(1)
    }

    /// Prunes the candidates of `centre` into [`TempScratch::ids`].
    fn prune(&self, centre: u32, scratch: &mut TempScratch<T>) {
        scratch.prune.start(self.prune_params(), centre, &scratch.candidates);
        let ids = scratch.prune.pool().iter().map(|candidate| candidate.id);
        self.gather(ids, &mut scratch.gathered);
        let mut pairs = GatheredPairs { gathered: &scratch.gathered, kernel: &self.prune_kernel };
        let result = scratch.prune.run(&mut pairs);
        scratch.ids.clear();
        scratch.ids.extend_from_slice(result);
    }

    fn gather(&self, ids: impl ExactSizeIterator<Item = u32>, gathered: &mut Gathered<T>) {
        let dim = self.distance.dim();
        if gathered.rows.rows() < ids.len() || gathered.rows.dim() != dim {
            gathered.rows = Matrix::zeroed(ids.len().next_power_of_two(), dim);
        }
        gathered.extra.clear();
        for (place, id) in gathered.rows.as_mut_slice().chunks_exact_mut(dim).zip(ids) {
            place.copy_from_slice(self.rows.vector(id));
            gathered.extra.push(self.rows.extra(id));
        }
    }

    /// Distance between two slots as pruning sees it.
    #[inline]
    fn prune_distance(&self, a: u32, b: u32) -> f32 {
        let distance = self.prune_kernel.between(self.rows.vector(a), self.rows.vector(b));
        distance + (self.rows.extra(a) - self.rows.extra(b)).powi(2)
    }
}

/// Puts what a list keeps for good back in the place of what was selected last.
fn keep_anchored(list: &LockedList<'_>, candidates: &[Candidate], selected: &mut [u32]) {
    let lost = candidates.iter().map(|candidate| candidate.id);
    let mut end = selected.len();
    for id in lost.filter(|&id| list.anchors(id)) {
        if selected.contains(&id) {
            continue;
        }
        while end > 0 && list.anchors(selected[end - 1]) {
            end -= 1;
        }
        assert!(end > 0, "at most half of a list is kept for good");
        selected[end - 1] = id;
        end -= 1;
    }
}

struct GatheredPairs<'a, T: Element> {
    gathered: &'a Gathered<T>,
    kernel: &'a Distance<T>,
}

impl<T: Element> Pairs for GatheredPairs<'_, T> {
    #[inline]
    fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]) {
        let Gathered { rows, extra } = self.gathered;
        self.kernel.to_gathered(rows.row(from as usize), rows, to, &mut out[..to.len()]);
        let own = extra[from as usize];
        for (&position, out) in to.iter().zip(out) {
            *out += (own - extra[position as usize]).powi(2);
        }
    }
}
