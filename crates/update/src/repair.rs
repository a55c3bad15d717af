//! Delete repair of one node: its list gives up the dead, and takes over live neighbours of theirs.
//!
//! A delete that is not repaired cuts the paths that led through the dead node. FreshDiskANN gives every node that points
//! at a dead one all live neighbours of that one as candidates and prunes them all: R² comparisons and more for one dead
//! neighbour. [`RepairPolicy::Nearest`] keeps the paths at a fraction of that: a dead node was a bridge to what is
//! around it, and the few of those that are nearest to the list's owner carry on where it stood.

use gleann_graph::{Candidate, EmbeddedRows, Prune, PruneParams, PruneSpace, Step as PruneStep};
use gleann_lios::{Resumable, Step};
use hashbrown::HashMap;

/// Which neighbours of dead neighbours are candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairPolicy {
    /// All of them, as FreshDiskANN has it.
    All,
    /// Of each dead neighbour, the few that are nearest to the node.
    Nearest {
        /// How many; at least 1 is taken.
        per_dead: usize,
    },
}

impl RepairPolicy {
    /// The nearest two of each, as measured (docs/design/updates.md).
    pub const NEAREST: RepairPolicy = RepairPolicy::Nearest { per_dead: 2 };
}

impl std::fmt::Display for RepairPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RepairPolicy::All => f.pad("all"),
            RepairPolicy::Nearest { per_dead } => f.pad(&format!("nearest:{per_dead}")),
        }
    }
}

impl std::str::FromStr for RepairPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let policy = match (text, text.strip_prefix("nearest:").map(str::parse)) {
            ("all", _) => Some(RepairPolicy::All),
            ("nearest", _) => Some(RepairPolicy::NEAREST),
            (_, Some(Ok(per_dead))) if per_dead > 0 => Some(RepairPolicy::Nearest { per_dead }),
            _ => None,
        };
        policy.ok_or_else(|| {
            format!("repair `{text}` is not understood; expected `all`, `nearest` or `nearest:N`")
        })
    }
}

/// How lists are repaired.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepairParams {
    /// The prune of a list that has come to more than `degree` ids.
    pub prune: PruneParams,
    /// The candidates.
    pub policy: RepairPolicy,
}

/// What a repair reads of the graph.
pub trait RepairSource {
    /// Whether a node may be linked to.
    fn is_live(&self, id: u32) -> bool;

    /// The list of a node that is not live; empty where it is not known.
    fn dead_list(&self, id: u32) -> &[u32];

    /// Writes the vector of `id`, exact or decoded from its code, all components of it.
    fn vector(&self, id: u32, out: &mut [f32]);

    /// Asks the processor for what the vector of `id` is made from, ahead of use.
    fn prefetch(&self, _id: u32) {}
}

impl<S: RepairSource + ?Sized> RepairSource for &S {
    fn is_live(&self, id: u32) -> bool {
        S::is_live(self, id)
    }

    fn dead_list(&self, id: u32) -> &[u32] {
        S::dead_list(self, id)
    }

    fn vector(&self, id: u32, out: &mut [f32]) {
        S::vector(self, id, out);
    }

    fn prefetch(&self, id: u32) {
        S::prefetch(self, id);
    }
}

/// Vectors that are embedded and measured between two looks at the budget; each costs several comparisons.
const MEASURED_AT_ONCE: usize = 16;
/// Comparisons of the prune between two looks at the budget.
const COMPARED_AT_ONCE: usize = 64;
/// Dead nodes that are walked through at most where a node has no live neighbour left, nor any of its dead ones has.
const WALKED_DEAD: usize = 256;
/// Where the node itself is among the rows.
const OWN_ROW: u32 = 0;
/// Row of a member that has not been measured.
const UNMEASURED: u32 = u32::MAX;

/// The repair of one list after the other; the memory is kept from one to the next.
#[derive(Debug)]
pub struct RepairJob<S> {
    source: S,
    params: RepairParams,
    node: u32,
    stage: Stage,
    /// The dead neighbours, then dead ones found on the way where there is nothing else.
    dead: Vec<u32>,
    /// How many of `dead` are neighbours of the node.
    direct: usize,
    /// Live nodes met, the live neighbours of the node first.
    members: Vec<Member>,
    /// Place in `members` of each id met; [`UNMEASURED`] for the dead and the node itself.
    places: HashMap<u32, u32>,
    /// Members about the dead node under way.
    around: Vec<u32>,
    /// Members that have to be measured.
    queue: Vec<u32>,
    /// How many of the queue have been.
    measured: usize,
    /// Row 0 is the node, then the measured members.
    rows: EmbeddedRows,
    /// Node of each row.
    row_ids: Vec<u32>,
    candidates: Vec<Candidate>,
    prune: Prune,
    /// Row of each position of the prune's pool.
    order: Vec<u32>,
    result: Vec<u32>,
    comparisons: u64,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    id: u32,
    distance: f32,
    row: u32,
    chosen: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The neighbours of this dead node are to be met.
    Meet(usize),
    /// They are being measured, to choose among them.
    Choose(usize),
    /// What was chosen is being measured.
    Measure,
    Prune,
    Done,
}

impl<S: RepairSource> RepairJob<S> {
    /// A job that has nothing to do yet.
    pub fn new(source: S, space: PruneSpace, params: RepairParams) -> Self {
        Self {
            source,
            params,
            node: 0,
            stage: Stage::Done,
            dead: Vec::new(),
            direct: 0,
            members: Vec::new(),
            places: HashMap::new(),
            around: Vec::new(),
            queue: Vec::new(),
            measured: 0,
            rows: EmbeddedRows::new(space),
            row_ids: Vec::new(),
            candidates: Vec::new(),
            prune: Prune::new(),
            order: Vec::new(),
            result: Vec::new(),
            comparisons: 0,
        }
    }

    /// Begins the repair of `node`, whose neighbours are `list`.
    pub fn start(&mut self, node: u32, list: &[u32]) {
        self.node = node;
        self.dead.clear();
        self.members.clear();
        self.places.clear();
        self.queue.clear();
        self.measured = 0;
        self.rows.clear();
        self.row_ids.clear();
        self.result.clear();
        self.comparisons = 0;
        self.places.insert(node, UNMEASURED);
        for &id in list {
            self.meet(id, true);
        }
        self.direct = self.dead.len();
        self.stage = if self.dead.is_empty() { self.settle() } else { Stage::Meet(0) };
    }

    /// What the job reads.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The node under repair.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// The new list, complete once a step has returned [`Step::Done`]: live nodes, each once, without the node itself.
    /// At most `degree` ids; the old list, in its order, where that was no longer and none of it was dead.
    pub fn result(&self) -> &[u32] {
        &self.result
    }

    /// Distances taken for the list, complete with it.
    pub fn comparisons(&self) -> u64 {
        self.comparisons
    }

    /// Takes up a node that has not been met: a live one as a member, a dead one to be walked through.
    fn meet(&mut self, id: u32, chosen: bool) {
        let place = self.members.len() as u32;
        if self.places.contains_key(&id) {
            return;
        }
        if self.source.is_live(id) {
            self.places.insert(id, place);
            self.members.push(Member { id, distance: 0.0, row: UNMEASURED, chosen });
        } else {
            self.places.insert(id, UNMEASURED);
            self.dead.push(id);
        }
    }

    /// Meets what is about the dead node at place `at` of the queue, and says what is next.
    fn meet_around(&mut self, at: usize) -> Stage {
        let nothing_yet = self.members.is_empty();
        // Beyond its own dead neighbours a node only looks where it would end up without any link.
        if at >= self.dead.len() || (at >= self.direct && (!nothing_yet || at >= WALKED_DEAD)) {
            return self.settle();
        }
        self.around.clear();
        let count = self.source.dead_list(self.dead[at]).len();
        for index in 0..count {
            let id = self.source.dead_list(self.dead[at])[index];
            if self.source.is_live(id) || (nothing_yet && self.dead.len() < WALKED_DEAD) {
                self.meet(id, false);
            }
            let place = self.places.get(&id).copied().unwrap_or(UNMEASURED);
            if place != UNMEASURED && !self.members[place as usize].chosen {
                self.around.push(place);
            }
        }
        match self.params.policy {
            RepairPolicy::Nearest { per_dead } if self.around.len() > per_dead.max(1) => {
                self.enqueue_around();
                Stage::Choose(at)
            }
            _ => {
                self.around.iter().for_each(|&place| self.members[place as usize].chosen = true);
                Stage::Meet(at + 1)
            }
        }
    }

    fn enqueue_around(&mut self) {
        let members = &self.members;
        self.queue.extend(self.around.iter().filter(|&&place| members[place as usize].row == UNMEASURED));
    }

    /// Measures some of the queue; false once there is none left.
    fn measure_some(&mut self) -> bool {
        let end = self.queue.len().min(self.measured + MEASURED_AT_ONCE);
        let queue = &self.queue[self.measured..end];
        if queue.is_empty() {
            return false;
        }
        let source = &self.source;
        if self.row_ids.is_empty() {
            self.row_ids.push(self.node);
            self.rows.push_with(|row| source.vector(self.node, row));
        }
        let first = self.row_ids.len() as u32;
        queue.iter().for_each(|&place| source.prefetch(self.members[place as usize].id));
        for (row, &place) in (first..).zip(queue) {
            let member = &mut self.members[place as usize];
            member.row = row;
            self.row_ids.push(member.id);
            self.rows.push_with(|row| source.vector(member.id, row));
        }
        let mut rows = [0u32; MEASURED_AT_ONCE];
        rows.iter_mut().zip(first..).for_each(|(place, row)| *place = row);
        let mut distances = [0.0f32; MEASURED_AT_ONCE];
        self.rows.distances(OWN_ROW, &rows[..queue.len()], &mut distances);
        for (&place, &distance) in queue.iter().zip(&distances) {
            self.members[place as usize].distance = distance;
        }
        self.comparisons += queue.len() as u64;
        self.measured = end;
        true
    }

    /// Chooses the nearest of what is about a dead node.
    fn choose(&mut self) {
        let RepairPolicy::Nearest { per_dead } = self.params.policy else { return };
        let members = &mut self.members;
        let order = |place: &u32| (members[*place as usize].distance, *place);
        let by_distance = |a: &u32, b: &u32| {
            let (a, b) = (order(a), order(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        };
        self.around.select_nth_unstable_by(per_dead.max(1), by_distance);
        for &place in &self.around[..per_dead.max(1)] {
            members[place as usize].chosen = true;
        }
    }

    /// All candidates are known: they are the new list, or they are measured to be pruned.
    fn settle(&mut self) -> Stage {
        if self.members.iter().filter(|member| member.chosen).count() <= self.params.prune.degree {
            return self.finish();
        }
        let unmeasured = |(_, member): &(usize, &Member)| member.chosen && member.row == UNMEASURED;
        let places = self.members.iter().enumerate().filter(unmeasured).map(|(place, _)| place as u32);
        self.queue.extend(places);
        Stage::Measure
    }

    fn begin_prune(&mut self) -> Stage {
        self.candidates.clear();
        let chosen = self.members.iter().filter(|member| member.chosen);
        self.candidates.extend(chosen.map(|member| Candidate { distance: member.distance, id: member.row }));
        self.prune.start(self.params.prune, OWN_ROW, &self.candidates);
        self.order.clear();
        self.order.extend(self.prune.pool().iter().map(|candidate| candidate.id));
        Stage::Prune
    }

    fn prune_some(&mut self) -> Stage {
        let mut pairs = self.rows.pairs_in(&self.order);
        if self.prune.step(&mut pairs, COMPARED_AT_ONCE) == PruneStep::More {
            return Stage::Prune;
        }
        self.comparisons += self.prune.comparisons();
        self.result.extend(self.prune.result().iter().map(|&row| self.row_ids[row as usize]));
        Stage::Done
    }

    /// Takes the chosen members as they are.
    fn finish(&mut self) -> Stage {
        self.result.extend(self.members.iter().filter(|member| member.chosen).map(|member| member.id));
        Stage::Done
    }

    /// One piece of work, about a microsecond of it.
    fn advance(&mut self) -> Stage {
        match self.stage {
            Stage::Meet(at) => self.meet_around(at),
            Stage::Choose(at) => {
                if self.measure_some() {
                    return self.stage;
                }
                self.choose();
                Stage::Meet(at + 1)
            }
            Stage::Measure => {
                if self.measure_some() {
                    return self.stage;
                }
                self.begin_prune()
            }
            Stage::Prune => self.prune_some(),
            Stage::Done => Stage::Done,
        }
    }
}

impl<S: RepairSource> Resumable for RepairJob<S> {
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Step {
        while self.stage != Stage::Done {
            self.stage = self.advance();
            if self.stage != Stage::Done && spent() {
                return Step::More;
            }
        }
        Step::Done
    }
}
