//! A list whose neighbours were deleted is repaired, whatever the budgets, and searches hardly notice.

mod support;

use gleann_graph::{
    BuildDistance, BuildParams, Graph, PruneParams, PruneSpace, QueryTarget, Searcher, build,
};
use gleann_lios::{Resumable, Step, run_to_end};
use gleann_quant::{Codebook, Codes, PqParams};
use gleann_update::{RepairJob, RepairParams, RepairPolicy, RepairSource};
use gleann_vector::{Distance, Matrix, Metric, Silent};
use proptest::prelude::*;
use std::collections::BTreeSet;
use support::{clustered, kth_distance};

/// Lists and points of a small world.
#[derive(Debug, Clone)]
struct World {
    lists: Vec<Vec<u32>>,
    points: Vec<[f32; 2]>,
    live: Vec<bool>,
}

impl RepairSource for World {
    fn is_live(&self, id: u32) -> bool {
        self.live[id as usize]
    }

    fn dead_list(&self, id: u32) -> &[u32] {
        assert!(!self.live[id as usize], "only the lists of the dead are known");
        &self.lists[id as usize]
    }

    fn vector(&self, id: u32, out: &mut [f32]) {
        out.copy_from_slice(&self.points[id as usize]);
    }
}

const PRUNE: PruneParams = PruneParams { degree: 5, alpha: 1.2, max_candidates: 750, saturate: true };
const POLICIES: [RepairPolicy; 3] =
    [RepairPolicy::All, RepairPolicy::Nearest { per_dead: 2 }, RepairPolicy::Nearest { per_dead: 0 }];

fn space() -> PruneSpace {
    PruneSpace::new(Metric::L2, 2, 0.0)
}

fn world() -> impl Strategy<Value = World> {
    (2usize..60).prop_flat_map(|nodes| {
        let list = prop::collection::btree_set(0..nodes as u32, 0..6);
        let point = (0u8..12, 0u8..12).prop_map(|(x, y)| [f32::from(x), f32::from(y)]);
        let lists = prop::collection::vec(list, nodes);
        let live = prop::collection::vec(prop::bool::weighted(0.6), nodes);
        (lists, prop::collection::vec(point, nodes), live).prop_map(|(lists, points, live)| {
            let without = |(node, list): (usize, BTreeSet<u32>)| {
                list.into_iter().filter(|&id| id as usize != node).take(PRUNE.degree).collect()
            };
            World { lists: lists.into_iter().enumerate().map(without).collect(), points, live }
        })
    })
}

/// Live neighbours, and live neighbours of dead ones.
fn candidates(world: &World, node: u32) -> (Vec<u32>, BTreeSet<u32>) {
    let (kept, dead): (Vec<u32>, Vec<u32>) =
        world.lists[node as usize].iter().partition(|&&id| world.live[id as usize]);
    let around = dead.iter().flat_map(|&id| &world.lists[id as usize]);
    let around = around.filter(|&&id| world.live[id as usize] && id != node && !kept.contains(&id));
    let around = around.copied().collect();
    (kept, around)
}

proptest! {
    #[test]
    fn a_repaired_list_is_live_short_and_the_same_for_every_budget(
        world in world(),
        budgets in prop::collection::vec(0u8..4, 1..6),
    ) {
        for policy in POLICIES {
            let mut job = RepairJob::new(&world, space(), RepairParams { prune: PRUNE, policy });
            let mut other = RepairJob::new(&world, space(), RepairParams { prune: PRUNE, policy });
            for node in 0..world.lists.len() as u32 {
                let list = &world.lists[node as usize];
                job.start(node, list);
                run_to_end(&mut job);
                let result = job.result();
                prop_assert!(result.len() <= PRUNE.degree);
                prop_assert!(result.iter().all(|&id| id != node && world.live[id as usize]));
                prop_assert_eq!(result.iter().collect::<BTreeSet<_>>().len(), result.len());
                let (kept, around) = candidates(&world, node);
                let all = kept.len() + around.len();
                if kept.len() == list.len() {
                    prop_assert_eq!(result, &list[..]);
                } else if all > 0 {
                    prop_assert!(result.iter().all(|id| kept.contains(id) || around.contains(id)));
                    let enough = match policy {
                        RepairPolicy::All => all.min(PRUNE.degree),
                        RepairPolicy::Nearest { .. } => (kept.len() + usize::from(all > kept.len())).min(PRUNE.degree),
                    };
                    prop_assert!(result.len() >= enough, "{result:?} of {kept:?} and {around:?}");
                }
                other.start(node, list);
                let mut asked = 0;
                loop {
                    let mut left = budgets[asked % budgets.len()];
                    let step = other.step(&mut || { left = left.saturating_sub(1); left == 0 });
                    asked += 1;
                    if step == Step::Done {
                        break;
                    }
                }
                prop_assert_eq!(other.result(), job.result());
                prop_assert_eq!(other.comparisons(), job.comparisons());
            }
        }
    }
}

#[test]
fn the_nearest_neighbours_of_the_dead_take_their_place() {
    // Node 0 at the origin lost node 1, which stood before a row of others.
    let mut world = World {
        lists: vec![vec![1, 2], vec![7, 6, 5, 4, 3, 0, 2], vec![], vec![], vec![], vec![], vec![], vec![]],
        points: (0..8).map(|i| [i as f32, 0.0]).collect(),
        live: (0..8).map(|i| i != 1).collect(),
    };
    let params = RepairParams { prune: PRUNE, policy: RepairPolicy::Nearest { per_dead: 2 } };
    let mut job = RepairJob::new(world.clone(), space(), params);
    job.start(0, &[1, 2]);
    run_to_end(&mut job);
    assert_eq!((job.result().iter().copied().collect(), job.comparisons()), (BTreeSet::from([2, 3, 4]), 5));
    // Everything near is dead: the way goes on through the dead until it comes out.
    world.live = (0..8).map(|i| i == 0 || i == 7).collect();
    world.lists = (0..8).map(|i| vec![(i + 1) % 8]).collect();
    let mut job = RepairJob::new(world, space(), params);
    job.start(0, &[1]);
    run_to_end(&mut job);
    assert_eq!(job.result(), [7]);
}

/// A built graph with its codes, and who is dead.
struct Built {
    graph: Graph,
    codebook: Codebook,
    codes: Codes,
    dead: Vec<bool>,
}

impl RepairSource for Built {
    fn is_live(&self, id: u32) -> bool {
        !self.dead[id as usize]
    }

    fn dead_list(&self, id: u32) -> &[u32] {
        self.graph.neighbours(id)
    }

    fn vector(&self, id: u32, out: &mut [f32]) {
        self.codebook.decode(self.codes.code(id), out);
    }

    fn prefetch(&self, id: u32) {
        self.codes.prefetch(id);
    }
}

const DIM: usize = 32;

fn built(vectors: &Matrix<f32>, metric: Metric) -> Built {
    let params = BuildParams { degree: 24, list: 50, ..BuildParams::default() };
    let graph =
        build(vectors, &BuildDistance::new(metric, vectors), &params, &Silent).expect("nobody cancels");
    let codebook = Codebook::train(vectors, PqParams::new(metric, 16), &Silent).expect("nobody cancels");
    let mut codes = Matrix::zeroed(vectors.rows(), codebook.chunks());
    codebook.encode_rows(vectors.as_slice(), codes.as_mut_slice());
    let codes = Codes::new(codes, &codebook).expect("codes of this codebook");
    let dead = vec![false; vectors.rows()];
    Built { graph, codebook, codes, dead }
}

/// Share of the 10 nearest live rows that a search over `graph` finds.
fn recall(vectors: &Matrix<f32>, graph: &Graph, metric: Metric, dead: &[bool]) -> f64 {
    let distance = Distance::new(metric, DIM);
    let mut searcher = Searcher::new();
    let queries = clustered::<f32>(100, DIM, 9);
    let mut hits = 0;
    for query in queries.chunks(DIM) {
        let target = QueryTarget { vectors, distance: &distance, query };
        let entry = (0..vectors.rows() as u32).find(|&id| !dead[id as usize]);
        searcher.run(graph, &target, entry.as_slice(), 40);
        let truth = kth_distance(&distance, vectors.as_slice(), query, 10, |id| !dead[id as usize]);
        let live = searcher.found().iter().filter(|entry| !dead[entry.id as usize]);
        hits += live.take(10).filter(|found| found.distance <= truth).count();
    }
    hits as f64 / 1000.0
}

#[test]
fn recall_survives_the_death_of_a_fifth() {
    for metric in Metric::ALL {
        let vectors = Matrix::from_rows(&clustered::<f32>(3000, DIM, 5), DIM);
        let mut built = built(&vectors, metric);
        let before = recall(&vectors, &built.graph, metric, &built.dead);
        built.dead = (0..3000u32).map(|id| id.wrapping_mul(2_654_435_761) >> 16 < 13_107).collect();
        let max_norm = vectors.as_slice().chunks(DIM).map(|row| row.iter().map(|x| x * x).sum::<f32>());
        let space = PruneSpace::new(metric, DIM, max_norm.fold(0.0, f32::max).sqrt());
        for policy in [RepairPolicy::All, RepairPolicy::Nearest { per_dead: 3 }] {
            let prune = PruneParams { degree: 24, alpha: 1.2, max_candidates: 750, saturate: true };
            let mut job = RepairJob::new(&built, space, RepairParams { prune, policy });
            let mut lists = Vec::new();
            for id in 0..3000 {
                job.start(id, built.graph.neighbours(id));
                run_to_end(&mut job);
                lists.push(if built.dead[id as usize] { Vec::new() } else { job.result().to_vec() });
            }
            let repaired = Graph::from_lists(&lists, 24, built.graph.entry());
            let after = recall(&vectors, &repaired, metric, &built.dead);
            assert!(after >= before - 0.02, "{metric}, {policy:?}: {before} before, {after} after");
        }
    }
}
