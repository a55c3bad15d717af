//! The prune of one pool, a whole small build, and one search in memory.

#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use gleann_graph::{
    BuildDistance, BuildParams, Candidate, Gathered, Prune, PruneParams, QueryTarget, Searcher, Step, build,
};
use gleann_vector::{Distance, Element, Matrix, Metric, Silent};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::hint::black_box;

const DIM: usize = 128;

/// Rows around 50 centres, all coordinates within a byte.
fn rows<T: Element>(count: usize, seed: u64) -> Matrix<T> {
    let mut rng = Pcg64::seed_from_u64(1);
    let centres: Vec<f32> = (0..50 * DIM).map(|_| rng.random_range(40.0f32..200.0)).collect();
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut matrix = Matrix::zeroed(count, DIM);
    for id in 0..count {
        let centre = rng.random_range(0..50usize) * DIM;
        for (d, x) in matrix.row_mut(id).iter_mut().enumerate() {
            *x = T::from_f32(centres[centre + d] + rng.random_range(-30.0f32..30.0)).expect("within a byte");
        }
    }
    matrix
}

/// RobustPrune of the 500 nearest of 5000 rows to R = 96, distances to the centre given.
fn prune<T: Element>(criterion: &mut Criterion) {
    let vectors = rows::<T>(5000, 2);
    let distance = BuildDistance::new(Metric::L2, &vectors);
    let mut candidates: Vec<Candidate> =
        (1..5000).map(|id| Candidate { distance: distance.between(&vectors, 0, id), id }).collect();
    candidates.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    candidates.truncate(500);
    let params = PruneParams { degree: 96, alpha: 1.2, max_candidates: 750, saturate: false };
    let (mut prune, mut gathered) = (Prune::new(), Gathered::empty());
    criterion.bench_function(&format!("prune/{}/500-to-96", T::TYPE), |bencher| {
        bencher.iter(|| {
            prune.start(params, 0, black_box(&candidates));
            gathered.gather(&vectors, &distance, prune.pool().iter().map(|candidate| candidate.id));
            black_box(prune.run(&mut gathered.pairs(&distance)).len())
        });
    });
    prune.start(params, 0, &candidates);
    gathered.gather(&vectors, &distance, prune.pool().iter().map(|candidate| candidate.id));
    let mut checkpoint = 0;
    while prune.step(&mut gathered.pairs(&distance), 64) == Step::More {
        checkpoint = checkpoint.max(prune.checkpoint_bytes());
    }
    println!("a checkpoint takes at most {checkpoint} bytes");
    println!("{} of 96 selected after {} comparisons", prune.result().len(), prune.comparisons());
}

fn build_and_search<T: Element>(criterion: &mut Criterion) {
    let vectors = rows::<T>(5000, 2);
    let distance = BuildDistance::new(Metric::L2, &vectors);
    let params = BuildParams { degree: 32, list: 50, ..BuildParams::default() };
    let mut group = criterion.benchmark_group("graph");
    group.sample_size(10);
    group.bench_function(BenchmarkId::new("build-5000", T::TYPE), |bencher| {
        bencher.iter(|| build(&vectors, &distance, &params, &Silent).expect("nobody cancels").nodes());
    });
    let graph = build(&vectors, &distance, &params, &Silent).expect("nobody cancels");
    let (metric, mut searcher) = (Distance::new(Metric::L2, DIM), Searcher::new());
    let queries = rows::<T>(1000, 3);
    let mut next = 0;
    group.bench_function(BenchmarkId::new("search-list-50", T::TYPE), |bencher| {
        bencher.iter(|| {
            next = (next + 1) % queries.rows();
            let target = QueryTarget { vectors: &vectors, distance: &metric, query: queries.row(next) };
            searcher.run(&graph, &target, graph.entry().as_slice(), 50);
            searcher.found()[0].id
        });
    });
}

fn all(criterion: &mut Criterion) {
    prune::<u8>(criterion);
    prune::<f32>(criterion);
    build_and_search::<u8>(criterion);
    build_and_search::<f32>(criterion);
}

criterion_group!(benches, all);
criterion_main!(benches);
