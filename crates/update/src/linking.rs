//! What an insert computes from what its search has met: the new node's list, and whose lists it joins (OdinANN). It
//! changes nothing: that is the commit's part.

use crate::params::LinkParams;
use gleann_graph::{Candidate, DeltaPrune, EmbeddedRows, Prune, PruneParams, PruneSpace, Step as PruneStep};
use gleann_lios::{Resumable, Step};
use gleann_quant::{Codebook, Encoder};
use gleann_search::{Harvest, NodeTable, Overlay, View, join, room};
use gleann_vector::Element;
use smallvec::SmallVec;
use std::sync::Arc;

/// Comparisons between two looks at the clock: below a microsecond.
const SLICE: usize = 64;
/// Links of a join that is to be decided at the commit: as many as no list has.
const UNDECIDED: usize = usize::MAX;

/// A list that a new node is to join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join {
    /// Whose list.
    pub node: u32,
    /// Where its record is in the harvest.
    pub position: usize,
    /// Links that had joined the list when this was decided: the decision stands as long as no other has.
    pub links: usize,
    /// What is to happen.
    pub verdict: Verdict,
}

/// What happens to a list that a new node is to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is room.
    Room,
    /// A neighbour makes room.
    Instead(u32),
    /// The list is better as it is.
    Refused,
}

/// How full lists take a new neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// DeltaPrune says who makes room (OdinANN).
    DeltaPrune,
    /// They grow, and are pruned when they are written (FreshDiskANN's patch phase).
    Gather,
}

/// The memory of linking, kept from insert to insert, and the state of one.
#[derive(Debug)]
pub struct Linker {
    space: PruneSpace,
    params: LinkParams,
    joining: Joining,
    phase: Phase,
    prune: Prune,
    /// The new vector, then the candidates, nearest first.
    rows: EmbeddedRows,
    /// Positions in the harvest of the candidates.
    candidates: Vec<usize>,
    pool: Vec<Candidate>,
    /// Rows in the order of the prune's pool.
    order: Vec<u32>,
    /// The owner of a list, its members, the new vector.
    members: EmbeddedRows,
    everyone: Vec<u32>,
    centre: Vec<f32>,
    delta: DeltaPrune,
    current: Vec<u32>,
    code: Vec<u8>,
    encoder: Encoder,
    replaced: Option<u32>,
    list: Vec<u32>,
    joins: Vec<Join>,
    prune_comparisons: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Prune,
    Join(usize),
    Done,
}

impl Linker {
    /// Nothing linked yet.
    pub fn new(space: PruneSpace, codebook: &Codebook, params: LinkParams, joining: Joining) -> Self {
        Self {
            space,
            params,
            joining,
            phase: Phase::Done,
            prune: Prune::new(),
            rows: EmbeddedRows::new(space),
            candidates: Vec::new(),
            pool: Vec::new(),
            order: Vec::new(),
            members: EmbeddedRows::new(space),
            everyone: (1..=room(params.degree) as u32 + 1).collect(),
            centre: Vec::new(),
            delta: DeltaPrune::new(),
            current: Vec::new(),
            code: vec![0; codebook.chunks()],
            encoder: Encoder::new(codebook),
            replaced: None,
            list: Vec::new(),
            joins: Vec::new(),
            prune_comparisons: 0,
        }
    }

    /// Begins to link `vector` into what its search has met. Where it takes the place of the node `replaced`, it is linked as
    /// if that were not there, which is often the nearest of all, and takes its place in lists too.
    pub fn start<T: Element>(
        &mut self,
        (vector, replaced): (&[T], Option<u32>),
        harvest: &Harvest,
        codebook: &Codebook,
    ) {
        self.replaced = replaced;
        self.encoder.encode(codebook, vector, &mut self.code);
        self.list.clear();
        self.joins.clear();
        self.choose_candidates(harvest);
        self.rows.clear();
        self.rows.push(vector);
        for &position in &self.candidates {
            self.rows.push(harvest.vector::<T>(position));
        }
        self.order.clear();
        self.order.extend(1..=self.candidates.len() as u32);
        self.centre.resize(self.order.len(), 0.0);
        self.rows.distances(0, &self.order, &mut self.centre);
        self.pool.clear();
        let measured = self.order.iter().zip(&self.centre);
        self.pool.extend(measured.map(|(&id, &distance)| Candidate { distance, id }));
        let LinkParams { degree, alpha, candidates, .. } = self.params;
        let params = PruneParams { degree, alpha, max_candidates: candidates, saturate: true };
        self.prune.start(params, 0, &self.pool);
        self.order.clear();
        self.order.extend(self.prune.pool().iter().map(|candidate| candidate.id));
        self.phase = Phase::Prune;
    }

    /// The nearest live nodes that were met, each once.
    fn choose_candidates(&mut self, harvest: &Harvest) {
        let met = harvest.met();
        let replaced = self.replaced;
        let is_live = |node| Some(node) != replaced && harvest.view().is_none_or(|view| view.is_live(node));
        self.candidates.clear();
        self.candidates.extend((0..met.len()).filter(|&position| is_live(met[position].node)));
        let key = |position: usize| (met[position].distance, met[position].node);
        self.candidates.sort_unstable_by(|&a, &b| {
            let ((one, node), (other, second)) = (key(a), key(b));
            one.total_cmp(&other).then(node.cmp(&second))
        });
        self.candidates.dedup_by_key(|position| met[*position].node);
        self.candidates.truncate(self.params.candidates);
    }

    /// The new node's list, nearest candidates first selected; complete once a step has returned [`Step::Done`].
    pub fn list(&self) -> &[u32] {
        &self.list
    }

    /// The lists it joins, in that order.
    pub fn joins(&self) -> &[Join] {
        &self.joins
    }

    /// The code of the new vector.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// Comparisons of all prunes so far.
    pub fn comparisons(&self) -> u64 {
        self.prune_comparisons
    }

    /// The step that follows, for as long as there is one and `spent` does not object. `T` is the element type of the
    /// harvest.
    pub fn step<T: Element>(
        &mut self,
        harvest: &Harvest,
        codebook: &Codebook,
        spent: &mut dyn FnMut() -> bool,
    ) -> Step {
        LinkJob::<T> { linker: self, harvest, codebook, element: std::marker::PhantomData }.step(spent)
    }

    fn prune_on(&mut self, harvest: &Harvest) {
        let Self { prune, rows, order, .. } = self;
        if prune.step(&mut rows.pairs_in(order), SLICE) == PruneStep::More {
            return;
        }
        self.prune_comparisons += self.prune.comparisons();
        let node = |row: &u32| harvest.met()[self.candidates[*row as usize - 1]].node;
        self.list.extend(self.prune.result().iter().map(node));
        self.phase = Phase::Join(0);
    }

    fn join_on<T: Element>(&mut self, at: usize, harvest: &Harvest, codebook: &Codebook) {
        let Some(&row) = self.prune.result().get(at) else {
            self.phase = Phase::Done;
            return;
        };
        let position = self.candidates[row as usize - 1];
        let node = harvest.met()[position].node;
        if let Some(view) = harvest.view().cloned() {
            // Nothing is decided on how many there are where lists gather all that come.
            let gathers = self.joining == Joining::Gather;
            let overlays = view.written.rest(&view.overlays, node);
            let links = if gathers { 0 } else { links_of(overlays, node) };
            let verdict = self.judge::<T>((harvest, position), codebook, &view.nodes, overlays);
            let (links, verdict) = verdict.map_or((UNDECIDED, Verdict::Refused), |verdict| (links, verdict));
            self.joins.push(Join { node, position, links, verdict });
        }
        self.phase = Phase::Join(at + 1);
    }

    /// What happens to the list of the record at `position` of the harvest, as it is with `overlays` on top; none where
    /// the list names nodes newer than `nodes`.
    pub fn judge<T: Element>(
        &mut self,
        (harvest, position): (&Harvest, usize),
        codebook: &Codebook,
        nodes: &NodeTable,
        overlays: &[Arc<Overlay>],
    ) -> Option<Verdict> {
        let degree = self.params.degree;
        if self.joining == Joining::Gather {
            return Some(Verdict::Room);
        }
        current_list((harvest, position), overlays, degree, &mut self.current);
        if let Some(old) = self.replaced.filter(|old| self.current.contains(old)) {
            return Some(Verdict::Instead(old));
        }
        if self.current.len() < degree {
            return Some(Verdict::Room);
        }
        if self.current.iter().any(|&id| id as usize >= nodes.places()) {
            return None;
        }
        // All at once: they lie anywhere in memory.
        self.current.iter().for_each(|&id| nodes.codes().prefetch(id));
        self.members.clear();
        self.members.push(harvest.vector::<T>(position));
        for &id in &self.current {
            let code = nodes.codes().code(id);
            self.members.push_with(|row| codebook.decode(code, row));
        }
        self.members.push_with(|row| codebook.decode(&self.code, row));
        let target = self.current.len();
        self.centre.resize(target + 1, 0.0);
        let everyone = &self.everyone[..=target];
        self.members.distances(0, everyone, &mut self.centre);
        let mut pairs = self.members.pairs_in(everyone);
        let evicted = self.delta.run(&self.centre, target as u32, self.params.alpha, &mut pairs);
        drop(pairs);
        self.prune_comparisons += self.delta.comparisons();
        Some(match self.current.get(evicted.member as usize) {
            Some(&leaves) => Verdict::Instead(leaves),
            None => Verdict::Refused,
        })
    }

    /// The space pruned in.
    pub fn space(&self) -> &PruneSpace {
        &self.space
    }
}

/// The list of a record of a harvest with what has joined it in `overlays`.
pub(crate) fn current_list(
    (harvest, position): (&Harvest, usize),
    overlays: &[Arc<Overlay>],
    degree: usize,
    into: &mut Vec<u32>,
) {
    let list = harvest.list(position);
    let mut length = list.len();
    into.clear();
    into.extend_from_slice(list);
    into.resize(room(degree), 0);
    for overlay in overlays {
        overlay.with_links(harvest.met()[position].node, |links| {
            links.iter().for_each(|&link| join(into, &mut length, link));
        });
    }
    into.truncate(length);
}

/// Links that have joined the list of a node.
pub(crate) fn links_of(overlays: &[Arc<Overlay>], node: u32) -> usize {
    overlays.iter().map(|overlay| overlay.links_of(node)).sum()
}

/// The overlays of a view that the record of a node, as read in that view, does not hold, and those that are newer.
pub(crate) fn overlays_since(view: &View, latest: &View, node: u32) -> SmallVec<[Arc<Overlay>; 4]> {
    let mut overlays: SmallVec<[Arc<Overlay>; 4]> =
        view.written.rest(&view.overlays, node).iter().cloned().collect();
    let known = |overlay: &Arc<Overlay>| view.overlays.iter().any(|other| Arc::ptr_eq(other, overlay));
    overlays.extend(latest.overlays.iter().filter(|overlay| !known(overlay)).cloned());
    overlays
}

/// One linking as a job.
struct LinkJob<'a, T> {
    linker: &'a mut Linker,
    harvest: &'a Harvest,
    codebook: &'a Codebook,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Resumable for LinkJob<'_, T> {
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Step {
        loop {
            match self.linker.phase {
                Phase::Prune => self.linker.prune_on(self.harvest),
                Phase::Join(at) => self.linker.join_on::<T>(at, self.harvest, self.codebook),
                Phase::Done => return Step::Done,
            }
            if self.linker.phase != Phase::Done && spent() {
                return Step::More;
            }
        }
    }
}
