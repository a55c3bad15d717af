//! The build as a whole: recall for every metric and element type, determinism, sizes from nothing on, and the
//! counts of a seeded small graph.

mod support;

use gleann_graph::{
    BuildDistance, BuildParams, Graph, QueryTarget, Saturate, Searcher, build, nearest_to_mean, reachable,
};
use gleann_vector::{Cancelled, Distance, Element, Matrix, Metric, Progress};
use half::f16;
use support::{clustered, graph_of, params, recall};

const DIM: usize = 24;

fn recalls<T: Element>() -> Vec<f64> {
    let vectors = Matrix::from_rows(&clustered::<T>(1200, DIM, 1), DIM);
    let queries = clustered::<T>(30, DIM, 2);
    let of = |metric| {
        let graph = graph_of(&vectors, metric, &params(24, 50));
        let degrees = graph.degree_histogram();
        assert!(degrees.len() <= 25 && degrees.iter().sum::<u64>() == 1200, "{metric}: {degrees:?}");
        recall(&vectors, &graph, metric, &queries, 40)
    };
    Metric::ALL.into_iter().map(of).collect()
}

#[test]
fn recall_is_high_for_every_metric_and_element_type() {
    for (element, found) in [
        ("f32", recalls::<f32>()),
        ("f16", recalls::<f16>()),
        ("u8", recalls::<u8>()),
        ("i8", recalls::<i8>()),
    ] {
        assert!(found.iter().all(|&recall| recall >= 0.98), "{element}: {found:?} for {:?}", Metric::ALL);
    }
}

#[test]
fn inner_product_of_unnormalised_vectors_finds_the_largest() {
    let mut rows = clustered::<f32>(1200, DIM, 1);
    for (i, row) in rows.chunks_mut(DIM).enumerate() {
        let norm: f32 = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        let wanted = 0.1 * 100f32.powf((i * 37 % 1200) as f32 / 1200.0);
        row.iter_mut().for_each(|x| *x *= wanted / norm);
    }
    let vectors = Matrix::from_rows(&rows, DIM);
    let graph = graph_of(&vectors, Metric::InnerProduct, &params(24, 50));
    let found = recall(&vectors, &graph, Metric::InnerProduct, &clustered::<f32>(40, DIM, 2), 40);
    assert!(found >= 0.95, "{found}");
}

#[test]
fn the_graph_does_not_depend_on_the_threads() {
    let floats = Matrix::from_rows(&clustered::<f32>(900, DIM, 1), DIM);
    let bytes = Matrix::from_rows(&clustered::<u8>(900, DIM, 1), DIM);
    let on = |threads: usize, params: BuildParams| -> Vec<Graph> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let of_floats = Metric::ALL.into_iter().map(|metric| graph_of(&floats, metric, &params));
            of_floats.chain([graph_of(&bytes, Metric::L2, &params)]).collect()
        })
    };
    let params = params(16, 30);
    let one = on(1, params);
    assert_eq!(one, on(3, params));
    assert_eq!(one, on(3, params));
    assert_ne!(one, on(1, BuildParams { seed: 4, ..params }));
    let two_passes = BuildParams { passes: 2, saturate: Saturate::Always, ..params };
    assert_eq!(on(1, two_passes), on(3, two_passes));
}

#[test]
fn any_number_of_vectors_is_a_graph() {
    for n in [0, 1, 2, 3, 10, 61] {
        for metric in Metric::ALL {
            let vectors = Matrix::from_rows(&clustered::<i8>(n, 10, 1), 10);
            let graph = graph_of(&vectors, metric, &params(60, 75));
            assert_eq!((graph.nodes(), graph.entry().is_some()), (n, n > 0));
            assert_eq!(graph.entry(), nearest_to_mean(&vectors, &BuildDistance::new(metric, &vectors)));
            assert_eq!(reachable(&graph, graph.entry()).unwrap().count(), n as u64, "{n} vectors, {metric}");
            for id in 0..n as u32 {
                let mut list = graph.neighbours(id).to_vec();
                assert!(list.len() < n && list.iter().all(|&other| other < n as u32 && other != id));
                list.sort_unstable();
                list.dedup();
                assert_eq!(list.len(), graph.neighbours(id).len());
            }
        }
    }
}

#[test]
fn a_saturated_graph_has_full_lists_where_it_can() {
    let vectors = Matrix::from_rows(&clustered::<u8>(600, DIM, 1), DIM);
    let sparse = graph_of(&vectors, Metric::L2, &BuildParams { saturate: Saturate::Off, ..params(20, 60) });
    let middle = graph_of(&vectors, Metric::L2, &params(20, 60));
    let full = graph_of(&vectors, Metric::L2, &BuildParams { saturate: Saturate::Always, ..params(20, 60) });
    let edges = |graph: &Graph| (0..600).map(|id| graph.neighbours(id).len()).sum::<usize>();
    let found = [edges(&sparse), edges(&middle), edges(&full)];
    assert!(found[0] < found[1] && found[1] < found[2] && found[2] >= 600 * 19, "{found:?}");
}

#[test]
fn a_cancelled_build_stops() {
    struct After(std::sync::atomic::AtomicU64);
    impl Progress for After {
        fn phase(&self, _: &str, _: u64) {}
        fn advance(&self, done: u64) {
            self.0.fetch_add(done, std::sync::atomic::Ordering::Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.0.load(std::sync::atomic::Ordering::Relaxed) >= 200
        }
    }
    let vectors = Matrix::from_rows(&clustered::<f32>(2000, DIM, 1), DIM);
    let progress = After(0.into());
    let built = build(&vectors, &BuildDistance::new(Metric::L2, &vectors), &params(16, 30), &progress);
    assert_eq!(built.unwrap_err(), Cancelled);
    assert!(progress.0.into_inner() < 1000);
}

/// Bytes have exact distances on every processor, so these numbers are the same everywhere. A change here is a
/// change of the algorithm: of the graph that is built, or of the way a search takes through it.
#[test]
fn the_counts_of_a_seeded_graph_are_known() {
    let vectors = Matrix::from_rows(&clustered::<u8>(1000, DIM, 1), DIM);
    let queries = clustered::<u8>(20, DIM, 2);
    let mut counts = Vec::new();
    for passes in [1, 2] {
        let graph = graph_of(&vectors, Metric::L2, &BuildParams { passes, ..params(16, 40) });
        let distance = Distance::new(Metric::L2, DIM);
        let mut searcher = Searcher::new();
        let (mut hops, mut comparisons) = (0, 0);
        for query in queries.chunks(DIM) {
            let target = QueryTarget { vectors: &vectors, distance: &distance, query };
            searcher.run(&graph, &target, graph.entry().as_slice(), 20);
            hops += searcher.counts().hops;
            comparisons += searcher.counts().comparisons;
        }
        let edges: usize = (0..1000).map(|id| graph.neighbours(id).len()).sum();
        counts.push((passes, edges, hops, comparisons));
    }
    assert_eq!(counts, [(1, 11_317, 440, 2512), (2, 9837, 443, 2309)]);
}
