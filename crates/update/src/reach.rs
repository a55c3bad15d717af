//! After lists have been written anew, every node that is left is still reached.
//!
//! Where nobody dies, lists change only if they had become too long; whom they give up is named by a neighbour. When the
//! deleted go, every list changes.
//! Where the new lists fit into memory, what cannot be reached from where searches begin is found out by walking them.
//! Else only nodes that no list names are found. A node X that is not reached joins the list of one that is: where that
//! is full, X takes the place of some V and names V itself, so that nothing else is lost.

use crate::error::UpdateError;
use crate::pages::Commit;
use crate::rewrite::Rewriter;
use gleann_graph::EmbeddedRows;
use gleann_search::NodeState;
use gleann_storage::{Area, LogicalBlock, Record, replace_list};
use gleann_vector::{Element, NodeId};
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// [`LiveOptions::repair_bytes`](crate::LiveOptions::repair_bytes) unless somebody says otherwise.
pub const REPAIR_BYTES: usize = 64 << 20;
/// Nodes among which one without neighbours looks for the nearest.
const LOOKED_AT: usize = 256;

/// What is remembered of the lists that a pass writes.
pub(crate) enum Reach {
    /// Who had to leave the lists that had become too long, as (owner, member): all that changes where nobody dies.
    Cut(Mutex<Vec<(u32, u32)>>),
    /// The lists.
    Lists(Vec<OnceLock<Box<[u32]>>>),
    /// How many lists name each node, as far as it matters: none, one, more.
    Degrees(Vec<AtomicU8>),
}

impl Reach {
    /// Of the nodes in the states, whose lists have up to `degree` neighbours; in at most so many bytes, if that can be.
    pub(crate) fn new(states: &[NodeState], degree: usize, bytes: usize) -> Self {
        let live = states.iter().filter(|&&state| state == NodeState::Live).count();
        let list_bytes = size_of::<u32>() * degree;
        if live * list_bytes + states.len() * size_of::<OnceLock<Box<[u32]>>>() <= bytes {
            Self::Lists(states.iter().map(|_| OnceLock::new()).collect())
        } else {
            Self::Degrees(states.iter().map(|_| AtomicU8::new(0)).collect())
        }
    }

    /// Takes who has left the list of a node for want of room.
    pub(crate) fn take_cut(&self, node: u32, left: impl Iterator<Item = u32>) {
        if let Self::Cut(cut) = self {
            cut.lock().extend(left.map(|member| (node, member)));
        }
    }

    /// Takes the list of a node, once.
    pub(crate) fn take(&self, node: u32, list: &[u32]) {
        match self {
            Self::Cut(_) => {}
            Self::Lists(lists) => lists[node as usize].set(list.into()).expect("a list is written once"),
            Self::Degrees(degrees) => list.iter().for_each(|&id| count(degrees, id)),
        }
    }
}

fn count(degrees: &[AtomicU8], id: u32) {
    // Where it stops, it never comes down to zero by mistake: so many lists would have to be changed here.
    if let Some(count) = degrees.get(id as usize)
        && count.load(Ordering::Relaxed) < 128
    {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// A walk along lists.
struct Walk {
    lists: Vec<Box<[u32]>>,
    reached: Vec<bool>,
    /// The first that were.
    first: Vec<u32>,
    open: Vec<u32>,
}

impl Walk {
    /// Reaches a node, and everything from there.
    fn reach(&mut self, node: u32) {
        self.meet(node);
        while let Some(node) = self.open.pop() {
            for at in 0..self.lists[node as usize].len() {
                self.meet(self.lists[node as usize][at]);
            }
        }
    }

    fn meet(&mut self, node: u32) {
        if !std::mem::replace(&mut self.reached[node as usize], true) {
            self.open.push(node);
            if self.first.len() < LOOKED_AT {
                self.first.push(node);
            }
        }
    }
}

impl<T: Element> Rewriter<'_, T> {
    /// Leads to every node that stays and is not reached from `entry`.
    ///
    /// # Errors
    /// As [`Commit::write`] and [`Commit::read`].
    pub(crate) fn lead_to_all(
        &self,
        reach: Reach,
        commit: &mut Commit,
        entry: u32,
    ) -> Result<(), UpdateError> {
        let live = |&id: &u32| self.states[id as usize] == NodeState::Live;
        let nodes = (0..self.states.len() as u32).filter(live);
        match reach {
            Reach::Cut(cut) => {
                let mut cut = cut.into_inner();
                cut.sort_unstable();
                for (owner, member) in cut {
                    self.lead_around(owner, member, commit)?;
                }
            }
            Reach::Lists(lists) => {
                let lists = lists.into_iter().map(|list| list.into_inner().unwrap_or_default()).collect();
                let reached = vec![false; self.states.len()];
                let mut walk = Walk { lists, reached, first: Vec::new(), open: Vec::new() };
                walk.reach(entry);
                for node in nodes {
                    if walk.reached[node as usize] {
                        continue;
                    }
                    let own = &walk.lists[node as usize];
                    let leader = own.iter().copied().find(|&id| walk.reached[id as usize]);
                    let leader = leader.unwrap_or_else(|| self.nearest(node, &walk.first));
                    let (theirs, own) = self.attach((leader, node), commit, |_| true)?;
                    walk.lists[leader as usize] = theirs.into();
                    walk.lists[node as usize] = own.into();
                    walk.reach(node);
                }
            }
            Reach::Degrees(degrees) => {
                let of = |id: u32| degrees[id as usize].load(Ordering::Relaxed);
                let mut block = vec![0; self.layout().block_bytes()];
                for node in nodes.filter(|&id| id != entry) {
                    if of(node) > 0 {
                        continue;
                    }
                    let own = self.written_list(node, commit, &mut block)?;
                    let leader = own.first().copied().unwrap_or(entry);
                    self.attach((leader, node), commit, |id| of(id) > 1)?;
                    count(&degrees, node);
                }
            }
        }
        Ok(())
    }

    /// Sees to it that a neighbour of `owner` names `member`, so that what was reached over the edge that is cut still is.
    fn lead_around(&self, owner: u32, member: u32, commit: &mut Commit) -> Result<(), UpdateError> {
        let mut block = vec![0; self.layout().block_bytes()];
        let mut lists = Vec::new();
        for neighbour in self.written_list(owner, commit, &mut block)? {
            let list = self.written_list(neighbour, commit, &mut block)?;
            if list.contains(&member) {
                return Ok(());
            }
            lists.push((neighbour, list));
        }
        lists.retain(|&(neighbour, _)| neighbour != member);
        if let Some((neighbour, list)) =
            lists.iter_mut().find(|(_, list)| list.len() < self.layout().degree())
        {
            list.push(member);
            return self.write_list((*neighbour, list), commit, &mut block);
        }
        // In a full list somebody makes room whom another of the list names.
        for (neighbour, mut list) in lists {
            for at in 0..list.len() {
                let others = self.written_list(list[at], commit, &mut block)?;
                if let Some(spare) = (0..list.len()).rfind(|&to| to != at && others.contains(&list[to])) {
                    list[spare] = member;
                    return self.write_list((neighbour, &list), commit, &mut block);
                }
            }
        }
        Ok(())
    }

    /// The nearest of some nodes, as far as codes tell.
    fn nearest(&self, node: u32, among: &[u32]) -> u32 {
        let mut rows = EmbeddedRows::new(self.live.space);
        for &id in std::iter::once(&node).chain(among) {
            rows.push_with(|row| self.live.codebook().decode(self.nodes.codes().code(id), row));
        }
        let others: Vec<u32> = (1..=among.len() as u32).collect();
        let mut distances = vec![0.0; others.len()];
        rows.distances(0, &others, &mut distances);
        let nearest = (0..among.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b]));
        among[nearest.expect("the entry point has been reached")]
    }

    /// Lets `node` join the list of `leader`. Who makes room, if somebody must, is one that `spare` says can be missed,
    /// if there is one, and is named by `node`. Both lists as they are then.
    fn attach(
        &self,
        (leader, node): (u32, u32),
        commit: &mut Commit,
        spare: impl Fn(u32) -> bool,
    ) -> Result<(Vec<u32>, Vec<u32>), UpdateError> {
        let degree = self.layout().degree();
        let mut block = vec![0; self.layout().block_bytes()];
        let mut own = self.written_list(node, commit, &mut block)?;
        let mut theirs = self.written_list(leader, commit, &mut block)?;
        if theirs.len() < degree {
            theirs.push(node);
            if own.is_empty() {
                own.push(leader);
            }
        } else {
            let last = |list: &[u32]| list.iter().rposition(|&id| spare(id)).unwrap_or(list.len() - 1);
            let at = last(&theirs);
            let leaves = std::mem::replace(&mut theirs[at], node);
            if !own.contains(&leaves) {
                if own.len() == degree {
                    own.remove(last(&own));
                }
                own.push(leaves);
            }
        }
        self.write_list((leader, &theirs), commit, &mut block)?;
        self.write_list((node, &own), commit, &mut block)?;
        Ok((theirs, own))
    }

    /// The list of a node as the commit has it, and its block.
    fn written_list(&self, id: u32, commit: &mut Commit, block: &mut [u8]) -> Result<Vec<u32>, UpdateError> {
        let index = self.layout().block_of(NodeId(id)).0;
        commit.read(LogicalBlock { area: Area::Records, index }, block)?;
        let fields = Record::decode(self.layout(), self.place(block, id), self.nodes.places() as u32)
            .map_err(|cause| self.live.damaged_node(id, &cause))?;
        Ok(fields.neighbours().collect())
    }

    fn write_list(
        &self,
        (id, list): (u32, &[u32]),
        commit: &mut Commit,
        block: &mut [u8],
    ) -> Result<(), UpdateError> {
        let layout = self.layout();
        let index = layout.block_of(NodeId(id)).0;
        commit.read(LogicalBlock { area: Area::Records, index }, block)?;
        let start = layout.slot_of(NodeId(id)) * layout.record_bytes();
        replace_list(layout, &mut block[start..start + layout.record_bytes()], list);
        Ok(commit.write(LogicalBlock { area: Area::Records, index }, block)?)
    }
}
