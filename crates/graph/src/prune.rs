//! RobustPrune, written once, as a job that can stop after any comparison and go on later.
//!
//! Candidates of a centre p are taken nearest first. Each keeps an occlusion factor, the largest
//! d(p, c) / d(s, c) over the selected s before it; a scan at α' selects what is not occluded by more than α'. Scans run at
//! α' = 1, then ·1.2, the last at α exactly, until R are selected (the multi-pass form of DiskANN; with a single
//! scan it is LIOS' Algorithm 1). What is occluded by more than the last α can never be selected: it leaves
//! the open candidates, and with it all its further comparisons.

use crate::PruneParams;

/// A candidate neighbour of some centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Ordering distance to the centre.
    pub distance: f32,
    /// Internal id.
    pub id: u32,
}

/// Distances among the pool of a prune, by position in [`Prune::pool`].
pub trait Pairs {
    /// Distances from the candidate at position `from` to those at positions `to`, into the first `to.len()`
    /// places of `out`. A distance must not depend on what else is asked for in the same call.
    fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]);
}

/// What a [`Prune::step`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The result is complete.
    Done,
    /// The budget is used up; call again.
    More,
}

/// Comparisons asked for at once.
const BATCH: usize = 64;
/// Growth of α' from scan to scan.
pub(crate) const ALPHA_STEP: f32 = 1.2;

/// The state of one prune; its memory is kept from one prune to the next.
#[derive(Debug, Clone)]
pub struct Prune {
    params: PruneParams,
    /// Sorted by (distance, id), immutable while the prune runs.
    pool: Vec<Candidate>,
    /// Occlusion factor of each candidate of the pool.
    factors: Vec<f32>,
    /// Positions neither selected nor occluded by more than the last α, ascending.
    open: Vec<u32>,
    result: Vec<u32>,
    /// Sort keys of the pool.
    keys: Vec<u64>,
    /// α' of the scan under way.
    alpha: f32,
    /// Next place of `open` to be scanned.
    cursor: usize,
    /// The candidate whose occlusions are being computed, and how far: places of `open` from `read` on are to be
    /// compared, what stays open moves to `write`.
    selected: Option<Selected>,
    comparisons: u64,
    done: bool,
}

#[derive(Debug, Clone, Copy)]
struct Selected {
    position: u32,
    read: usize,
    write: usize,
}

impl Default for Prune {
    fn default() -> Self {
        Self::new()
    }
}

impl Prune {
    /// A finished prune of nothing.
    pub fn new() -> Self {
        Self {
            params: PruneParams { degree: 1, alpha: 1.0, max_candidates: 1, saturate: false },
            pool: Vec::new(),
            factors: Vec::new(),
            open: Vec::new(),
            result: Vec::new(),
            keys: Vec::new(),
            alpha: 1.0,
            cursor: 0,
            selected: None,
            comparisons: 0,
            done: true,
        }
    }

    /// Begins a prune of `candidates` of `centre`, in any order. The centre itself and repeated candidates are
    /// left out, and only the nearest `max_candidates` are looked at: [`Prune::pool`] is what remains.
    pub fn start(&mut self, params: PruneParams, centre: u32, candidates: &[Candidate]) {
        self.params = params;
        self.keys.clear();
        self.keys.extend(candidates.iter().filter(|c| c.id != centre).map(|c| sort_key(*c)));
        self.keys.sort_unstable();
        self.keys.dedup();
        self.keys.truncate(params.max_candidates);
        self.pool.clear();
        self.pool.extend(self.keys.iter().map(|&key| candidate_of(key)));
        self.factors.clear();
        self.factors.resize(self.pool.len(), 0.0);
        self.open.clear();
        self.open.extend(0..self.pool.len() as u32);
        self.result.clear();
        self.alpha = 1.0;
        self.cursor = 0;
        self.selected = None;
        self.comparisons = 0;
        self.done = false;
    }

    /// The candidates, nearest first; [`Pairs`] speaks of them by position.
    pub fn pool(&self) -> &[Candidate] {
        &self.pool
    }

    /// The selected ids, in order of selection; complete once a step has returned [`Step::Done`].
    pub fn result(&self) -> &[u32] {
        &self.result
    }

    /// Pair distances taken so far.
    pub fn comparisons(&self) -> u64 {
        self.comparisons
    }

    /// Bytes of what a prune that stops has to keep beside its pool, which stays as it is: the checkpoint of LIOS (§4.2).
    pub fn checkpoint_bytes(&self) -> usize {
        let Self { factors, open, result, .. } = self;
        let lists = size_of_val(&factors[..]) + size_of_val(&open[..]) + size_of_val(&result[..]);
        lists + size_of_val(&self.alpha) + size_of_val(&self.cursor) + size_of_val(&self.selected)
    }

    /// Runs to the end.
    pub fn run(&mut self, pairs: &mut impl Pairs) -> &[u32] {
        while self.step(pairs, usize::MAX) == Step::More {}
        &self.result
    }

    /// Goes on for at most `budget` comparisons. The result does not depend on the budgets.
    pub fn step(&mut self, pairs: &mut impl Pairs, budget: usize) -> Step {
        let mut left = budget;
        while !self.done {
            if !self.occlude(pairs, &mut left) {
                return Step::More;
            }
            self.select_next();
        }
        Step::Done
    }

    /// Carries on with the occlusions of the selected candidate; false when the budget ends first.
    fn occlude(&mut self, pairs: &mut impl Pairs, left: &mut usize) -> bool {
        let Some(mut at) = self.selected else { return true };
        let mut distances = [0.0f32; BATCH];
        while at.read < self.open.len() {
            let count = BATCH.min(self.open.len() - at.read).min(*left);
            if count == 0 {
                self.selected = Some(at);
                return false;
            }
            pairs.distances(at.position, &self.open[at.read..at.read + count], &mut distances);
            for &distance in &distances[..count] {
                let position = self.open[at.read];
                let own = self.pool[position as usize].distance;
                // 0 / 0 included: a candidate equal to a selected one adds nothing.
                let factor = if distance == 0.0 { f32::INFINITY } else { own / distance };
                let kept = &mut self.factors[position as usize];
                *kept = kept.max(factor);
                self.open[at.write] = position;
                at.write += usize::from(*kept <= self.params.alpha);
                at.read += 1;
            }
            *left -= count;
            self.comparisons += count as u64;
        }
        self.open.truncate(at.write);
        self.selected = None;
        true
    }

    /// Scans on to the next candidate that α' lets through, or to the end.
    fn select_next(&mut self) {
        loop {
            let scan = self.open[self.cursor..].iter();
            let skipped = scan.take_while(|&&position| self.factors[position as usize] > self.alpha).count();
            self.cursor += skipped;
            if let Some(&position) = self.open.get(self.cursor) {
                return self.select(position);
            }
            if self.alpha >= self.params.alpha {
                return self.finish();
            }
            self.alpha = (self.alpha * ALPHA_STEP).min(self.params.alpha);
            self.cursor = 0;
        }
    }

    fn select(&mut self, position: u32) {
        let id = self.pool[position as usize].id;
        // Sorting has removed repetitions of an id at one distance; here go those at another.
        if !self.result.contains(&id) {
            self.result.push(id);
        }
        if self.result.len() >= self.params.degree {
            return self.finish();
        }
        // The selected candidate leaves `open`: the first that stays open takes its place.
        self.selected = Some(Selected { position, read: self.cursor + 1, write: self.cursor });
    }

    fn finish(&mut self) {
        if self.params.saturate {
            for candidate in &self.pool {
                if self.result.len() >= self.params.degree {
                    break;
                }
                if !self.result.contains(&candidate.id) {
                    self.result.push(candidate.id);
                }
            }
        }
        self.done = true;
    }
}

/// (distance, id) as an integer that orders as `total_cmp` and then the id do.
fn sort_key(candidate: Candidate) -> u64 {
    let bits = candidate.distance.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << 32 | u64::from(candidate.id)
}

fn candidate_of(key: u64) -> Candidate {
    let ordered = (key >> 32) as u32;
    let bits = if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered };
    Candidate { distance: f32::from_bits(bits), id: key as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pair distances from a table of points on a line or plane.
    struct Points<'a>(&'a [(f32, f32)], &'a [Candidate]);

    impl Pairs for Points<'_> {
        fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]) {
            let point = |position: u32| self.0[self.1[position as usize].id as usize];
            for (&position, out) in to.iter().zip(out) {
                *out = squared(point(from), point(position));
            }
        }
    }

    fn squared(a: (f32, f32), b: (f32, f32)) -> f32 {
        (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)
    }

    /// The definition, without any saving.
    fn naive(points: &[(f32, f32)], pool: &[Candidate], params: PruneParams) -> Vec<u32> {
        let mut selected: Vec<Candidate> = Vec::new();
        let mut alpha = 1.0f32;
        loop {
            for c in pool {
                let factor = selected
                    .iter()
                    .filter(|s| (s.distance, s.id) < (c.distance, c.id))
                    .map(|s| squared(points[s.id as usize], points[c.id as usize]))
                    .map(|d| if d == 0.0 { f32::INFINITY } else { c.distance / d })
                    .fold(0.0, f32::max);
                let known = selected.iter().any(|s| s.id == c.id);
                if !known && factor <= alpha && selected.len() < params.degree {
                    selected.push(*c);
                }
            }
            if alpha >= params.alpha {
                break;
            }
            alpha = (alpha * 1.2).min(params.alpha);
        }
        for c in pool {
            let known = selected.iter().any(|s| s.id == c.id);
            if params.saturate && !known && selected.len() < params.degree {
                selected.push(*c);
            }
        }
        selected.iter().map(|s| s.id).collect()
    }

    fn candidates(points: &[(f32, f32)]) -> Vec<Candidate> {
        let centre = points[0];
        (0..points.len() as u32)
            .map(|id| Candidate { distance: squared(centre, points[id as usize]), id })
            .rev()
            .collect()
    }

    #[test]
    fn a_checkpoint_is_small_wherever_a_prune_stops() {
        struct Line;
        impl Pairs for Line {
            fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]) {
                out.iter_mut().zip(to).for_each(|(out, &to)| *out = (from.abs_diff(to) * 7919 % 613) as f32);
            }
        }
        let candidates: Vec<Candidate> =
            (1..=500).map(|id| Candidate { distance: 400.0 + id as f32, id }).collect();
        let params = PruneParams { degree: 96, alpha: 1.2, max_candidates: 500, saturate: true };
        let mut prune = Prune::new();
        prune.start(params, 0, &candidates);
        let mut largest = 0;
        while prune.step(&mut Line, 64) == Step::More {
            largest = largest.max(prune.checkpoint_bytes());
        }
        assert!(prune.result().len() == 96 && (4000..10 << 10).contains(&largest), "{largest} bytes");
    }

    proptest! {
        #[test]
        fn equals_the_definition_whatever_the_budgets(
            grid in proptest::collection::vec((0i8..24, 0i8..24), 1..120),
            degree in 1usize..20,
            alpha in prop_oneof![Just(1.0f32), Just(1.2), Just(1.3), Just(2.0)],
            max_candidates in 20usize..120,
            saturate: bool,
            budgets in proptest::collection::vec(1usize..40, 1..8),
        ) {
            let points: Vec<(f32, f32)> = grid.iter().map(|&(x, y)| (x.into(), y.into())).collect();
            let params = PruneParams { degree, alpha, max_candidates, saturate };
            let mut given = candidates(&points);
            given.extend_from_within(..points.len() / 2);
            let mut prune = Prune::new();
            prune.start(params, 0, &given);
            let pool = prune.pool().to_vec();
            prop_assert!(pool.windows(2).all(|w| (w[0].distance, w[0].id) < (w[1].distance, w[1].id)));
            prop_assert_eq!(pool.len(), (points.len() - 1).min(max_candidates));
            let whole = prune.run(&mut Points(&points, &pool)).to_vec();
            let comparisons = prune.comparisons();
            prop_assert_eq!(&whole, &naive(&points, &pool, params));
            for budgets in [&[1][..], &budgets] {
                prune.start(params, 0, &given);
                let mut steps = 0;
                while prune.step(&mut Points(&points, &pool), budgets[steps % budgets.len()]) == Step::More {
                    steps += 1;
                }
                prop_assert_eq!(prune.result(), &whole[..]);
                prop_assert_eq!(prune.comparisons(), comparisons);
            }
        }
    }

    #[test]
    fn a_step_takes_no_more_than_its_budget() {
        let points: Vec<_> = (0..50).map(|i| ((i * 17 % 50) as f32, (i * 31 % 50) as f32)).collect();
        let mut prune = Prune::new();
        let params = PruneParams { degree: 16, alpha: 1.2, max_candidates: 750, saturate: false };
        prune.start(params, 0, &candidates(&points));
        let pool = prune.pool().to_vec();
        let mut before = 0;
        while prune.step(&mut Points(&points, &pool), 3) == Step::More {
            assert_eq!(prune.comparisons(), before + 3);
            before += 3;
        }
        assert!(before > 0);
    }

    #[test]
    fn one_link_to_a_duplicate_and_the_rest_diverse() {
        // Five copies of the centre, then two directions.
        let points =
            [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (3.0, 0.0), (0.0, 3.0), (3.1, 0.0)];
        let mut prune = Prune::new();
        let params = PruneParams { degree: 8, alpha: 1.2, max_candidates: 750, saturate: false };
        prune.start(params, 0, &candidates(&points));
        let pool = prune.pool().to_vec();
        assert_eq!(prune.run(&mut Points(&points, &pool)), &[1, 5, 6]);
    }

    #[test]
    fn keys_order_as_distances_do() {
        let distances = [f32::NEG_INFINITY, -2.0, -0.0, 0.0, 1e-30, 1.0, f32::MAX, f32::INFINITY];
        let keys: Vec<u64> =
            distances.iter().map(|&distance| sort_key(Candidate { distance, id: 9 })).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        for (key, distance) in keys.iter().zip(distances) {
            assert_eq!(candidate_of(*key).distance.to_bits(), distance.to_bits());
        }
    }
}
