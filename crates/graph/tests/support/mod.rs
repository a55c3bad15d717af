//! Seeded data of low intrinsic dimension, and the brute force that answers are held against.

use gleann_graph::{BuildDistance, BuildParams, Graph, QueryTarget, Searcher, build};
use gleann_vector::{Distance, Element, ElementType, Matrix, Metric, Silent};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// `rows` vectors of `dim` elements around 20 centres on a 6-dimensional subspace, the same for the same seed.
pub fn clustered<T: Element>(rows: usize, dim: usize, seed: u64) -> Vec<T> {
    let mut rng = Pcg64::seed_from_u64(7);
    let mut uniform = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.random_range(-1.0f32..1.0)).collect() };
    let (basis, centres) = (uniform(6 * dim), uniform(20 * 6));
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut all = Vec::with_capacity(rows * dim);
    for _ in 0..rows {
        let centre = rng.random_range(0..20usize) * 6;
        let point: Vec<f32> = (0..6).map(|i| centres[centre + i] + rng.random_range(-0.5f32..0.5)).collect();
        for d in 0..dim {
            let value: f32 = (0..6).map(|i| point[i] * basis[i * dim + d]).sum();
            let (scale, shift) = match T::TYPE {
                ElementType::F32 | ElementType::F16 => (1.0, 0.0),
                ElementType::U8 => (16.0, 128.0),
                ElementType::I8 => (16.0, 0.0),
            };
            all.push(T::from_f32(value * scale + shift).expect("the scale keeps values in range"));
        }
    }
    all
}

pub fn params(degree: usize, list: usize) -> BuildParams {
    BuildParams { degree, list, seed: 3, ..BuildParams::default() }
}

pub fn graph_of<T: Element>(vectors: &Matrix<T>, metric: Metric, params: &BuildParams) -> Graph {
    build(vectors, &BuildDistance::new(metric, vectors), params, &Silent).expect("nobody cancels")
}

/// Share of the `k` nearest (by distance, so that ties count) a search with pool `list` finds.
pub fn recall<T: Element>(
    vectors: &Matrix<T>,
    graph: &Graph,
    metric: Metric,
    queries: &[T],
    list: usize,
) -> f64 {
    let k = 10;
    let distance = Distance::new(metric, vectors.dim());
    let mut searcher = Searcher::new();
    let (mut hits, mut all) = (0, 0);
    for query in queries.chunks(vectors.dim()) {
        let mut truth: Vec<f32> =
            (0..vectors.rows()).map(|i| distance.between(query, vectors.row(i))).collect();
        truth.sort_by(f32::total_cmp);
        let target = QueryTarget { vectors, distance: &distance, query };
        searcher.run(graph, &target, graph.entry().as_slice(), list);
        hits += searcher.found().iter().take(k).filter(|found| found.distance <= truth[k - 1]).count();
        all += k;
    }
    hits as f64 / all as f64
}
