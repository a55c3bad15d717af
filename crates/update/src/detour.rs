//! Keeps everything reachable when lists give neighbours up.
//!
//! A new node X joins the list of N, and V makes room. What was reached over N → V still is if there is a way around: over
//! N → X → V where the list of X names V, or over N → X → U → V where that of a neighbour U of X does. DeltaPrune sees to
//! it mostly; here it is made sure, so that no insert ever cuts off a node.

use crate::error::UpdateError;
use crate::linking::{Join, current_list, overlays_since};
use crate::live::Live;
use crate::writer::Writer;
use gleann_search::{Harvest, Overlay, View, room};
use gleann_storage::Record;
use gleann_vector::Element;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// What an insert is to change.
pub(crate) struct Changed {
    /// The list of the new node.
    pub(crate) list: Vec<u32>,
    /// Whose list it joins, and who makes room.
    pub(crate) links: Vec<(u32, Option<u32>)>,
}

/// The lists that a new node may join.
pub(crate) struct Joined<'a> {
    pub(crate) harvest: &'a Harvest,
    pub(crate) joins: &'a [Join],
    /// The latest version of the index.
    pub(crate) latest: &'a View,
    /// The most neighbours a list may have.
    pub(crate) degree: usize,
    /// Whether the lists are what a search would see: not where they have been repaired since, or are being.
    pub(crate) certain: bool,
}

impl Joined<'_> {
    /// Whether a list that is not certain has room in memory for one more, whoever leaves it or does not.
    fn has_room(&self, node: u32) -> bool {
        let joined = self.latest.overlays.last().map_or(0, |active| active.links_of(node));
        self.certain || joined < room(self.degree) - self.degree
    }

    /// What has joined the list of a node since its record was written.
    pub(crate) fn overlays(&self, node: u32) -> SmallVec<[Arc<Overlay>; 4]> {
        self.harvest.view().map_or(SmallVec::new(), |view| overlays_since(view, self.latest, node))
    }
}

impl Changed {
    /// Takes back the links after which nothing would lead to who made room, unless the new node can name them. From lists
    /// that are not certain, nobody leaves whom the new node does not name, and only as many join as there is room for in
    /// memory.
    pub(crate) fn keep_ways(&mut self, joined: &Joined<'_>, is_live: impl Fn(u32) -> bool) {
        let Self { list, links } = self;
        let leaving = links.iter().filter_map(|&(_, leaves)| leaves);
        let mut lists_with: HashMap<u32, usize> =
            leaving.filter(|leaves| !list.contains(leaves)).map(|leaves| (leaves, 0)).collect();
        if joined.certain && lists_with.is_empty() {
            return;
        }
        let mut lengths = HashMap::with_capacity(joined.joins.len());
        let mut members = Vec::new();
        for join in joined.joins {
            let overlays = joined.overlays(join.node);
            current_list((joined.harvest, join.position), &overlays, joined.degree, &mut members);
            lengths.insert(join.node, members.len());
            for id in &members {
                if let Some(count) = lists_with.get_mut(id) {
                    *count += 1;
                }
            }
        }
        links.retain_mut(|(node, leaves)| {
            if !joined.certain && (!joined.has_room(*node) || lengths[node] >= room(joined.degree)) {
                return false;
            }
            let Some(who) = *leaves else { return true };
            let named = list.contains(&who);
            match lists_with.get_mut(&who) {
                _ if named => {}
                Some(count) if joined.certain && *count > 1 => *count -= 1,
                _ if list.len() < joined.degree && is_live(who) => list.push(who),
                _ if !joined.certain => *leaves = None,
                _ => return false,
            }
            true
        });
    }
}

impl<T: Element> Live<T> {
    /// Sees to it that somebody leads to a new node whose list nobody joined: its nearest neighbour, or where it met none
    /// that lives, any node that does. In a graph without one it is alone.
    ///
    /// # Errors
    /// The list of that neighbour cannot be read.
    pub(crate) fn lead_to(
        &self,
        changed: &mut Changed,
        (writer, joined): (&Writer<T>, &Joined<'_>),
        is_live: impl Fn(u32) -> bool,
    ) -> Result<(), UpdateError> {
        if !changed.links.is_empty() {
            return Ok(());
        }
        let Changed { list, links } = changed;
        let anyone = || {
            let places = writer.nodes().places() as u32;
            writer.view.entry.filter(|&id| is_live(id)).or_else(|| (0..places).find(|&id| is_live(id)))
        };
        let nearest = list.iter().find(|&&id| joined.has_room(id)).or(list.first());
        let Some(leader) = nearest.copied().or_else(anyone) else { return Ok(()) };
        let degree = joined.degree;
        let theirs = self.current_list_of(writer, leader)?;
        if list.is_empty() {
            list.push(leader);
        }
        if theirs.len() < degree {
            links.push((leader, None));
            return Ok(());
        }
        let leaves = theirs.iter().rev().copied().find(|&id| is_live(id));
        if let Some(leaves) = leaves
            && !list.contains(&leaves)
        {
            list.truncate(degree - 1);
            list.push(leaves);
        }
        links.push((leader, leaves.or(theirs.last().copied())));
        Ok(())
    }

    fn current_list_of(&self, writer: &Writer<T>, node: u32) -> Result<Vec<u32>, UpdateError> {
        let (layout, view) = (&self.index.layout, &writer.view);
        let mut record = Vec::new();
        self.record(view, node, &mut record)?;
        let fields = Record::decode(layout, &record, view.nodes.places() as u32)
            .map_err(|cause| self.damaged_node(node, &cause))?;
        let mut list: Vec<u32> = fields.neighbours().collect();
        let mut length = list.len();
        list.resize(room(layout.degree()), 0);
        view.patch(node, &mut list, &mut length);
        list.truncate(length);
        Ok(list)
    }
}
