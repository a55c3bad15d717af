//! DeltaPrune (OdinANN): a full list takes one more neighbour and gives one up, at O(R) comparisons where RobustPrune of
//! the whole list takes O(R²). What is asked is not which neighbours are the best, only which one is not missed.

use crate::Pairs;
use crate::prune::ALPHA_STEP;

/// The member that a list gives up, by its position among the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// Position of the member; the target's own position where nothing is to change.
    pub member: u32,
    /// The rule that chose it.
    pub rule: Rule,
}

/// Why a member is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The target occludes it, or is occluded by a member.
    Target,
    /// Another member occludes it.
    Pair,
    /// No member occludes another; it is the farthest.
    Farthest,
}

/// Members a batch of comparisons of the second rule takes: few, for the first hit ends it.
const BATCH: usize = 16;

/// The memory of DeltaPrunes, kept from one to the next.
#[derive(Debug, Clone, Default)]
pub struct DeltaPrune {
    /// Positions of the members, nearest to the centre first.
    order: Vec<u32>,
    /// Distances from the target, in that order.
    distances: Vec<f32>,
    comparisons: u64,
}

impl DeltaPrune {
    /// Nothing pruned yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Pair distances the last run took.
    pub fn comparisons(&self) -> u64 {
        self.comparisons
    }

    /// Chooses which of the members of a list is to go. `centre` holds the distance from the list's owner to each
    /// member, `target` is the position of the member that joins, and `pairs` speaks of members by position. α is on
    /// squared distances as in [`crate::PruneParams`]; a distance of 0 between two members occludes at any α.
    ///
    /// 1. At α' = α, then /1.2 until 1: from the farthest member m inwards, m goes if it is farther than the target t and
    ///    d(c, m) > α'·d(t, m); t goes if m is no farther than t and d(c, t) > α'·d(t, m). One comparison a member.
    /// 2. The first m found with d(c, m) > α·d(s, m) for a nearer member s goes; s from the nearest outwards, m from the
    ///    farthest inwards.
    /// 3. The farthest goes.
    ///
    /// # Panics
    /// If `target` is not a position of `centre`.
    pub fn run(&mut self, centre: &[f32], target: u32, alpha: f32, pairs: &mut impl Pairs) -> Eviction {
        assert!((target as usize) < centre.len(), "the target is one of the members");
        self.order.clear();
        self.order.extend(0..centre.len() as u32);
        let distance = |position: u32| centre[position as usize];
        self.order.sort_unstable_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        self.comparisons = 0;
        if let Some(member) = self.by_target(centre, target, alpha, pairs) {
            return Eviction { member, rule: Rule::Target };
        }
        if let Some(member) = self.by_pair(centre, target, alpha, pairs) {
            return Eviction { member, rule: Rule::Pair };
        }
        let farthest = self.order.last().copied().unwrap_or(target);
        Eviction { member: farthest, rule: Rule::Farthest }
    }

    fn by_target(&mut self, centre: &[f32], target: u32, alpha: f32, pairs: &mut impl Pairs) -> Option<u32> {
        let own = centre[target as usize];
        // The target leaves the order for the batch, and comes back where it belongs.
        let place = self.order.iter().position(|&member| member == target)?;
        self.order.remove(place);
        self.distances.clear();
        self.distances.resize(self.order.len(), 0.0);
        pairs.distances(target, &self.order, &mut self.distances);
        self.comparisons += self.order.len() as u64;
        let hit = |threshold: f32| {
            self.order.iter().zip(&self.distances).rev().find_map(|(&member, &between)| {
                let distance = centre[member as usize];
                let (farther, loser) = if distance > own { (distance, member) } else { (own, target) };
                occluded(farther, between, threshold).then_some(loser)
            })
        };
        let mut threshold = alpha;
        let evicted = loop {
            let evicted = hit(threshold);
            if evicted.is_some() || threshold <= 1.0 {
                break evicted;
            }
            threshold = (threshold / ALPHA_STEP).max(1.0);
        };
        self.order.insert(place, target);
        evicted
    }

    fn by_pair(&mut self, centre: &[f32], target: u32, alpha: f32, pairs: &mut impl Pairs) -> Option<u32> {
        let mut distances = [0.0f32; BATCH];
        for (rank, &near) in self.order.iter().enumerate() {
            // Pairs with the target have been looked at; it only takes part as a farther member's comparison.
            if near == target {
                continue;
            }
            for batch in self.order[rank + 1..].rchunks(BATCH) {
                pairs.distances(near, batch, &mut distances);
                self.comparisons += batch.len() as u64;
                let hit = batch.iter().zip(&distances).rev().find(|&(&member, &between)| {
                    member != target && occluded(centre[member as usize], between, alpha)
                });
                if let Some((&member, _)) = hit {
                    return Some(member);
                }
            }
        }
        None
    }
}

/// Whether a member at `distance` from the centre is occluded by a nearer one it is `between` away from.
#[inline]
fn occluded(distance: f32, between: f32, alpha: f32) -> bool {
    between == 0.0 || distance / between > alpha
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Points<'a> {
        points: &'a [(f32, f32)],
        asked: u64,
        froms: Vec<u32>,
    }

    impl Pairs for Points<'_> {
        fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]) {
            self.asked += to.len() as u64;
            self.froms.push(from);
            for (&position, out) in to.iter().zip(out) {
                *out = squared(self.points[from as usize], self.points[position as usize]);
            }
        }
    }

    fn squared(a: (f32, f32), b: (f32, f32)) -> f32 {
        (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)
    }

    /// The rule as it is written, pair by pair.
    fn naive(points: &[(f32, f32)], centre: &[f32], t: usize, alpha: f32) -> Eviction {
        let mut sorted: Vec<usize> = (0..points.len()).collect();
        sorted.sort_by(|&a, &b| centre[a].total_cmp(&centre[b]).then(a.cmp(&b)));
        let ratio = |far: f32, a: usize, b: usize| match squared(points[a], points[b]) {
            0.0 => f32::INFINITY,
            between => far / between,
        };
        let mut thresholds = vec![alpha];
        while *thresholds.last().unwrap() > 1.0 {
            thresholds.push((thresholds.last().unwrap() / 1.2).max(1.0));
        }
        let evict = |member: usize, rule| Eviction { member: member as u32, rule };
        for threshold in thresholds {
            for &m in sorted.iter().rev().filter(|&&m| m != t) {
                if centre[m] > centre[t] && ratio(centre[m], t, m) > threshold {
                    return evict(m, Rule::Target);
                }
                if centre[m] <= centre[t] && ratio(centre[t], t, m) > threshold {
                    return evict(t, Rule::Target);
                }
            }
        }
        for (rank, &s) in sorted.iter().enumerate() {
            for &m in sorted[rank + 1..].iter().rev() {
                // A pair with t is none: the first rule would have ended.
                if ratio(centre[m], s, m) > alpha {
                    return evict(m, Rule::Pair);
                }
            }
        }
        evict(*sorted.last().unwrap(), Rule::Farthest)
    }

    proptest! {
        #[test]
        fn equals_the_definition(
            grid in proptest::collection::vec((0i8..40, 0i8..40), 1..70),
            target: proptest::sample::Index,
            alpha in prop_oneof![Just(1.0f32), Just(1.2), Just(1.3), Just(2.0), Just(30.0)],
        ) {
            let points: Vec<(f32, f32)> = grid.iter().map(|&(x, y)| (x.into(), y.into())).collect();
            let centre: Vec<f32> = points.iter().map(|&p| squared(p, (20.0, 20.0))).collect();
            let t = target.index(points.len());
            let mut pairs = Points { points: &points, asked: 0, froms: Vec::new() };
            let mut prune = DeltaPrune::new();
            for _ in 0..2 {
                pairs.asked = 0;
                let found = prune.run(&centre, t as u32, alpha, &mut pairs);
                prop_assert_eq!(found, naive(&points, &centre, t, alpha));
                prop_assert_eq!(prune.comparisons(), pairs.asked);
                if found.rule == Rule::Target {
                    prop_assert_eq!(pairs.asked as usize, points.len() - 1);
                }
            }
        }
    }

    /// Members on a circle: none is nearer to another than to the centre until `crowd` of them stand together.
    fn circle(members: usize) -> Vec<(f32, f32)> {
        let angle = |i: usize| i as f32 * std::f32::consts::TAU / members as f32;
        (0..members).map(|i| (angle(i).cos() * (1.0 + i as f32 * 1e-3), angle(i).sin())).collect()
    }

    fn run(points: &[(f32, f32)], target: u32, alpha: f32) -> (Eviction, u64, Vec<u32>) {
        let centre: Vec<f32> = points.iter().map(|&p| squared(p, (0.0, 0.0))).collect();
        let mut pairs = Points { points, asked: 0, froms: Vec::new() };
        let mut prune = DeltaPrune::new();
        let found = prune.run(&centre, target, alpha, &mut pairs);
        (found, prune.comparisons(), pairs.froms)
    }

    #[test]
    fn the_first_rule_asks_once_about_each_member() {
        // The target stands before the last member.
        let mut points = circle(5);
        points.push((points[4].0 * 0.9, points[4].1 * 0.9));
        let (found, comparisons, froms) = run(&points, 5, 1.2);
        assert_eq!((found, comparisons), (Eviction { member: 4, rule: Rule::Target }, 5));
        assert_eq!(froms, [5], "in one batch");
        // Behind it, the target is what goes.
        points[5] = (points[4].0 * 1.2, points[4].1 * 1.2);
        assert_eq!(run(&points, 5, 1.2).0, Eviction { member: 5, rule: Rule::Target });
        // A copy of a member adds nothing.
        points[5] = points[2];
        assert_eq!(run(&points, 5, 1.2).0, Eviction { member: 5, rule: Rule::Target });
    }

    #[test]
    fn the_second_rule_stops_at_the_first_pair() {
        // A row of members that hide each other; the target is elsewhere.
        let mut points: Vec<(f32, f32)> = (0..64).map(|i| (1.0 + i as f32 * 0.1, 0.0)).collect();
        points.push((-5.0, 0.0));
        let (found, comparisons, _) = run(&points, 64, 1.2);
        assert_eq!(found, Eviction { member: 63, rule: Rule::Pair });
        assert!(comparisons <= 64 + BATCH as u64, "{comparisons}");
    }

    #[test]
    fn the_third_rule_gives_up_the_farthest() {
        let points = [(1.0, 0.0), (-1.1, 0.0), (0.0, 1.2), (0.0, -1.3)];
        let (found, comparisons, _) = run(&points, 0, 1.2);
        assert_eq!((found, comparisons), (Eviction { member: 3, rule: Rule::Farthest }, 3 + 3));
        assert_eq!(run(&[(1.0, 1.0)], 0, 1.2).0.member, 0, "alone");
    }
}
