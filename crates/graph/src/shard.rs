//! The pure parts of a build in shards, for when the rows and the graph do not fit in memory together: how many
//! shards, which rows go where, and how the lists of a row from several shards become one.

use crate::{BuildParams, Rows, memory_estimate};
use gleann_vector::{Distance, Element, Matrix, Metric};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use rayon::prelude::*;

/// How a build fits its budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShardPlan {
    /// All rows at once.
    OneShot {
        /// Peak bytes, as estimated.
        bytes: u64,
    },
    /// Every row in its two nearest shards, one shard built after the other.
    Sharded {
        /// Number of shards, at least 3.
        shards: usize,
        /// The most rows a shard may take.
        capacity: u64,
        /// Parameters of the build of one shard: two thirds of the degree.
        params: BuildParams,
        /// Peak bytes of the build of the largest shard, as estimated.
        bytes: u64,
    },
}

/// No number of shards fits the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a memory budget of {budget} bytes is too small for this build: it needs at least {minimum} bytes \
     ({one_shot} bytes to build without shards)"
)]
pub struct PlanError {
    /// The budget given.
    pub budget: u64,
    /// The smallest budget that would do.
    pub minimum: u64,
    /// What the build would need without shards.
    pub one_shot: u64,
}

/// Shards a row goes to.
const HOMES: u64 = 2;
/// Fewer shards than this would each hold nearly everything.
const FEWEST: u64 = 3;
const MOST: u64 = 4096;
/// A shard of fewer rows than this gains no memory worth having and loses the graph's quality.
const SMALLEST: u64 = 1024;
/// Clusters are uneven: a shard may take 20 % more than its share.
const UNEVEN_PCT: u64 = 120;

/// Plans a build on `threads` threads within `budget` bytes, the rows of one shard included.
///
/// # Errors
/// Not even the smallest shards fit; the error names the smallest budget that works.
pub fn plan(rows: &Rows, params: &BuildParams, threads: usize, budget: u64) -> Result<ShardPlan, PlanError> {
    let one_shot = memory_estimate(rows, params, threads);
    if one_shot <= budget {
        return Ok(ShardPlan::OneShot { bytes: one_shot });
    }
    let degree = (params.degree * 2).div_ceil(3);
    let sharded = BuildParams { degree, ..*params };
    let capacity = |shards: u64| {
        let share = (rows.rows.saturating_mul(HOMES)).div_ceil(shards);
        (share.saturating_mul(UNEVEN_PCT)).div_ceil(100).min(rows.rows)
    };
    let bytes = |shards| memory_estimate(&Rows { rows: capacity(shards), ..*rows }, &sharded, threads);
    let most = (rows.rows.saturating_mul(HOMES) / SMALLEST).clamp(FEWEST, MOST);
    // The estimate falls with the number of shards, so the fewest that fit are found by halving.
    let (mut too_few, mut enough) = (FEWEST - 1, most);
    if bytes(most) > budget {
        return Err(PlanError { budget, minimum: bytes(most).min(one_shot), one_shot });
    }
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if bytes(middle) <= budget { enough = middle } else { too_few = middle }
    }
    Ok(ShardPlan::Sharded {
        shards: enough as usize,
        capacity: capacity(enough),
        params: sharded,
        bytes: bytes(enough),
    })
}

/// Writes a row as the f32 vector that shards are told apart by: for cosine, normalised (a zero vector stays
/// zero). Samples for the centroids go through this as well.
///
/// # Panics
/// If `into` is not of the length of `row`.
pub fn partition_row<T: Element>(metric: Metric, row: &[T], into: &mut [f32]) {
    assert_eq!(row.len(), into.len(), "a row of another dimension");
    for (into, x) in into.iter_mut().zip(row) {
        *into = x.to_f32();
    }
    let norm = into.iter().map(|x| x * x).sum::<f32>().sqrt();
    if metric == Metric::Cosine && norm > 0.0 {
        into.iter_mut().for_each(|x| *x /= norm);
    }
}

/// The shards of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Homes {
    /// The nearest shard that had room.
    pub first: u32,
    /// The next nearest, unless no other had room.
    pub second: Option<u32>,
}

/// Assigns rows, in their order, to the two nearest shards that have room.
#[derive(Debug)]
pub struct Assigner {
    metric: Metric,
    centroids: Matrix<f32>,
    distance: Distance<f32>,
    capacity: u64,
    sizes: Vec<u64>,
}

/// Rows whose distances are held at once.
const BLOCK: usize = 1024;

impl Assigner {
    /// Empty shards around `centroids` (≥ 1), each to take at most `capacity` rows.
    ///
    /// # Panics
    /// If there are no centroids.
    pub fn new(metric: Metric, centroids: Matrix<f32>, capacity: u64) -> Self {
        assert!(centroids.rows() > 0, "no shard to assign rows to");
        let distance = Distance::new(Metric::L2, centroids.dim());
        let sizes = vec![0; centroids.rows()];
        Self { metric, centroids, distance, capacity, sizes }
    }

    /// Rows in each shard so far.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Assigns the row-major `rows`, adding their shards to `homes`. The result depends on the order of rows and
    /// not on how they are divided into calls or threads.
    ///
    /// # Panics
    /// If `rows` are not whole rows of the centroids' dimension, or every shard is full, which cannot happen to
    /// the rows a plan was made for.
    pub fn assign<T: Element>(&mut self, rows: &[T], homes: &mut Vec<Homes>) {
        let (dim, shards) = (self.centroids.dim(), self.sizes.len());
        assert!(rows.len().is_multiple_of(dim), "not a whole number of rows");
        let mut distances = vec![0.0f32; BLOCK.min(rows.len() / dim) * shards];
        for block in rows.chunks(BLOCK * dim) {
            let distances = &mut distances[..block.len() / dim * shards];
            let each = block.par_chunks_exact(dim).zip(distances.par_chunks_exact_mut(shards));
            each.with_min_len(32).for_each_init(
                || vec![0.0f32; dim],
                |row, (given, distances)| {
                    partition_row(self.metric, given, row);
                    self.distance.to_many(row, self.centroids.as_slice(), distances);
                },
            );
            homes.extend(distances.chunks_exact(shards).map(|distances| self.settle(distances)));
        }
    }

    /// Takes the places of one row.
    fn settle(&mut self, distances: &[f32]) -> Homes {
        let first = self.nearest_with_room(distances, None).expect("the plan has room for every row");
        let second = self.nearest_with_room(distances, Some(first));
        for shard in [Some(first), second].into_iter().flatten() {
            self.sizes[shard as usize] += 1;
        }
        Homes { first, second }
    }

    fn nearest_with_room(&self, distances: &[f32], except: Option<u32>) -> Option<u32> {
        let has_room = |shard: &u32| self.sizes[*shard as usize] < self.capacity && Some(*shard) != except;
        let shards = (0..distances.len() as u32).filter(has_room);
        shards.min_by(|&a, &b| distances[a as usize].total_cmp(&distances[b as usize]))
    }
}

/// Joins the lists a node has in several shards.
#[derive(Debug, Clone)]
pub struct ListMerger {
    degree: usize,
    seed: u64,
    list: Vec<u32>,
}

impl ListMerger {
    /// Lists of at most `degree` ids; `seed` decides what a union longer than that loses.
    pub fn new(degree: usize, seed: u64) -> Self {
        Self { degree, seed, list: Vec::new() }
    }

    /// The union of `lists`, ids of the whole graph, without repetition and without `node` itself. A longer one
    /// than the degree is shuffled and cut.
    pub fn merge(&mut self, node: u32, lists: &[&[u32]]) -> &[u32] {
        self.list.clear();
        self.list.extend(lists.iter().copied().flatten().filter(|&&id| id != node));
        self.list.sort_unstable();
        self.list.dedup();
        let own = self.seed ^ u64::from(node).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.list.shuffle(&mut Pcg64::seed_from_u64(own));
        self.list.truncate(self.degree);
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::ElementType;

    const ROWS: Rows = Rows { rows: 200_000, dim: 128, element: ElementType::F32, metric: Metric::L2 };

    #[test]
    fn plans_get_finer_as_the_budget_shrinks() {
        let params = BuildParams::default();
        let whole = memory_estimate(&ROWS, &params, 2);
        assert_eq!(plan(&ROWS, &params, 2, whole), Ok(ShardPlan::OneShot { bytes: whole }));
        let mut before = 2;
        for budget in [whole - 1, whole / 2, 64 << 20] {
            let Ok(ShardPlan::Sharded { shards, capacity, params: each, bytes }) =
                plan(&ROWS, &params, 2, budget)
            else {
                panic!("no plan for {budget}")
            };
            assert!(shards > before && bytes <= budget, "{shards} shards of {bytes} for {budget}");
            assert!(capacity * shards as u64 >= 2 * ROWS.rows && each.degree == 43);
            let fewer = Rows { rows: (2 * ROWS.rows).div_ceil(shards as u64 - 1) * 6 / 5, ..ROWS };
            assert!(shards == 3 || memory_estimate(&fewer, &each, 2) > budget, "the fewest that fit");
            before = shards - 1;
        }
    }

    #[test]
    fn the_smallest_budget_is_named_and_works() {
        let params = BuildParams::default();
        let error = plan(&ROWS, &params, 2, 1 << 20).unwrap_err();
        assert!(plan(&ROWS, &params, 2, error.minimum).is_ok());
        assert!(plan(&ROWS, &params, 2, error.minimum - 1).is_err());
        assert!(error.to_string().contains(&error.minimum.to_string()));
        let none = Rows { rows: 0, ..ROWS };
        assert!(matches!(plan(&none, &params, 1, 64 << 20), Ok(ShardPlan::OneShot { .. })));
    }

    #[test]
    fn rows_go_to_the_two_nearest_shards_with_room() {
        let centroids = Matrix::from_rows(&[0.0f32, 10.0, 20.0], 1);
        let mut assigner = Assigner::new(Metric::L2, centroids, 4);
        let mut homes = Vec::new();
        assigner.assign(&[1u8, 9, 19, 1, 2, 3], &mut homes);
        let found: Vec<(u32, Option<u32>)> = homes.iter().map(|h| (h.first, h.second)).collect();
        let expected = [(0, Some(1)), (1, Some(0)), (2, Some(1)), (0, Some(1)), (0, Some(2)), (2, None)];
        assert_eq!(found, expected);
        assert_eq!(assigner.sizes(), [4, 4, 3]);
    }

    #[test]
    fn a_plan_has_room_for_every_row_however_uneven() {
        let rows: Vec<f32> = (0..5000).map(|i| if i % 10 == 0 { 100.0 } else { (i % 7) as f32 }).collect();
        let capacity = 5000 * 2 * 6 / 5 / 3;
        let assign = |calls: usize| {
            let mut assigner =
                Assigner::new(Metric::L2, Matrix::from_rows(&[0.0f32, 90.0, 200.0], 1), capacity);
            let mut homes = Vec::new();
            rows.chunks(5000 / calls).for_each(|rows| assigner.assign(rows, &mut homes));
            assert!(assigner.sizes().iter().all(|&size| size <= capacity));
            homes
        };
        let homes = assign(1);
        assert_eq!(homes.len(), 5000);
        assert!(homes.iter().all(|homes| homes.second != Some(homes.first)));
        assert_eq!(homes, assign(7));
    }

    #[test]
    fn merged_lists_are_a_union_cut_by_chance_alone() {
        let mut merger = ListMerger::new(4, 7);
        let mut small = merger.merge(9, &[&[1, 2], &[2, 9, 3]]).to_vec();
        small.sort_unstable();
        assert_eq!(small, [1, 2, 3]);
        let lists: [&[u32]; 2] = [&[1, 2, 3, 4], &[5, 6, 7, 8]];
        let cut = merger.merge(9, &lists).to_vec();
        assert_eq!(cut.len(), 4);
        assert_eq!(cut, ListMerger::new(4, 7).merge(9, &lists));
        assert_ne!(cut, ListMerger::new(4, 8).merge(9, &lists));
        assert!((0..20).any(|node| merger.merge(100 + node, &lists) != cut));
        assert!(merger.merge(0, &[]).is_empty());
    }

    #[test]
    fn cosine_rows_are_normalised() {
        let mut row = [0.0; 2];
        partition_row(Metric::Cosine, &[3i8, -4], &mut row);
        assert_eq!(row, [0.6, -0.8]);
        partition_row(Metric::Cosine, &[0i8, 0], &mut row);
        assert_eq!(row, [0.0, 0.0]);
        partition_row(Metric::L2, &[3i8, -4], &mut row);
        assert_eq!(row, [3.0, -4.0]);
    }
}
