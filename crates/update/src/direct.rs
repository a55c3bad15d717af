//! The commit of a direct insert (OdinANN): what was computed on a snapshot is held against the state there is, and takes
//! effect at once.

use crate::detour::{Changed, Joined};
use crate::error::UpdateError;
use crate::figures::Figures;
use crate::linking::{Join, Joining, Linker, Verdict, links_of};
use crate::live::{Insert, Live, Upsert};
use crate::runner::{Inserted, Inserts};
use crate::wal::Lsn;
use crate::writer::{NewNode, Writer};
use gleann_search::{Changes, Harvest, Link};
use gleann_vector::Element;
use std::sync::Arc;

/// What a put came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The key is new.
    Inserted,
    /// The vector has taken the place of another.
    Replaced,
    /// The key is taken, and was not to be replaced; nothing has changed.
    Taken,
}

impl Outcome {
    /// As the outcome of an insert.
    pub fn of_insert(self) -> Insert {
        if self == Outcome::Taken { Insert::AlreadyExists } else { Insert::Inserted }
    }

    /// As the outcome of an upsert.
    pub fn of_upsert(self) -> Upsert {
        if self == Outcome::Inserted { Upsert::Inserted } else { Upsert::Replaced }
    }
}

/// A put that has taken effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// What it came to.
    pub outcome: Outcome,
    /// The node that the vector has become; none where it is in a temporary index, or nothing has changed.
    pub node: Option<u32>,
    /// What to wait for until it lasts ([`Live::settled`]).
    pub lsn: Option<Lsn>,
}

impl Committed {
    /// Nothing has changed.
    pub(crate) const TAKEN: Self = Self { outcome: Outcome::Taken, node: None, lsn: None };
}

/// A vector on its way into the graph, with what has been computed for it.
pub struct Linked<'a, T> {
    /// Its key.
    pub key: u64,
    /// The vector.
    pub vector: &'a [T],
    /// Whether it may take the place of another of its key.
    pub replace: bool,
    /// What its search has met.
    pub harvest: &'a Harvest,
}

impl<T: Element> Inserts<T> for Live<T> {
    fn changes(&self) -> &Arc<Changes<T>> {
        &self.changes
    }

    fn linker(&self) -> Linker {
        Linker::new(self.space, self.codebook(), self.options.link, Joining::DeltaPrune)
    }

    fn commit(&self, linker: &mut Linker, linked: &Linked<'_, T>) -> Inserted {
        self.commit_insert(linker, linked)
    }
}

impl<T: Element> Live<T> {
    /// Puts a vector into the graph, whose linking `linker` has computed.
    ///
    /// # Errors
    /// The log cannot be written, or there is no place left; nothing has changed.
    fn commit_insert(&self, linker: &mut Linker, linked: &Linked<'_, T>) -> Inserted {
        let mut writer = self.writer.lock();
        let (existing, taken) = (writer.node_of(linked.key), writer.has(linked.key));
        if taken && !linked.replace {
            return Ok(Committed::TAKEN);
        }
        let is_live = |writer: &Writer<T>, id: u32| writer.view.is_live(id) && Some(id) != existing;
        let list: Vec<u32> = linker.list().iter().copied().filter(|&id| is_live(&writer, id)).collect();
        let joins: Vec<Join> =
            linker.joins().iter().copied().filter(|join| is_live(&writer, join.node)).collect();
        let harvest = linked.harvest;
        let latest = writer.view.clone();
        let certain =
            !writer.repairing && harvest.view().is_none_or(|view| Arc::ptr_eq(&view.table, &latest.table));
        let degree = self.options.link.degree;
        let joined = Joined { harvest, joins: &joins, latest: &latest, degree, certain };
        let links = self.decide(linker, &joined, &writer);
        let mut changed = Changed { list, links };
        changed.keep_ways(&joined, |id| is_live(&writer, id));
        self.lead_to(&mut changed, (&writer, &joined), |id| is_live(&writer, id))?;
        let Changed { list, links } = changed;
        let node = writer.take_place(&list).ok_or(UpdateError::Full)?;
        let links: Vec<(u32, Link)> =
            links.into_iter().map(|(id, leaves)| (id, Link { joins: node, leaves })).collect();
        let bytes = bytemuck::cast_slice(linked.vector);
        let code = linker.code();
        let new = NewNode { key: linked.key, node, list: &list, links: &links, vector: bytes, code };
        let lsn = match self.wal.append(&Writer::<T>::record_of(&new)) {
            Ok(lsn) => lsn,
            Err(error) => {
                writer.placement.give_back(node);
                return Err(error.into());
            }
        };
        writer.insert(&new);
        Figures::add(&self.figures.updates, 1);
        let outcome = if taken { Outcome::Replaced } else { Outcome::Inserted };
        Ok(Committed { outcome, node: Some(node), lsn: Some(lsn) })
    }

    /// Whose lists take the new node, and who makes room. What was decided on a list that has changed since is decided
    /// again.
    fn decide(
        &self,
        linker: &mut Linker,
        joined: &Joined<'_>,
        writer: &Writer<T>,
    ) -> Vec<(u32, Option<u32>)> {
        let Joined { harvest, joins, .. } = *joined;
        let mut links = Vec::with_capacity(joins.len());
        for join in joins {
            let overlays = joined.overlays(join.node);
            let verdict = if links_of(&overlays, join.node) == join.links {
                join.verdict
            } else {
                Figures::add(&self.figures.decided_again, 1);
                let judged =
                    linker.judge::<T>((harvest, join.position), self.codebook(), writer.nodes(), &overlays);
                judged.expect("the latest table has every node")
            };
            match verdict {
                Verdict::Room => links.push((join.node, None)),
                Verdict::Instead(leaves) => links.push((join.node, Some(leaves))),
                Verdict::Refused => {}
            }
        }
        links
    }
}
