//! Many equal vectors draw a graph together into itself; after a repair every node can be reached all the same.

mod support;

use gleann_graph::{Graph, QueryTarget, Searcher, reachable, repair};
use gleann_vector::{Distance, Element, Matrix, Metric};
use support::{clustered, graph_of, params};

/// Builds with small and usual degrees, repairs, and checks that everything is reached.
fn reached<T: Element>(rows: &[T], dim: usize, degrees: &[usize]) -> Vec<Graph> {
    let vectors = Matrix::from_rows(rows, dim);
    let repaired = |(metric, degree)| {
        let mut graph = graph_of(&vectors, metric, &params(degree, 40));
        let entry = graph.entry();
        let before = reachable(&graph, entry).unwrap().count();
        let given = repair(&mut graph, entry, |_, _, _| {}).unwrap();
        let after = reachable(&graph, entry).unwrap().count();
        assert_eq!(after, vectors.rows() as u64, "{metric}, R = {degree}: {before} before");
        assert!(given <= after - before);
        assert!(graph.degree_histogram().len() <= degree + 1);
        graph
    };
    let grid = Metric::ALL.into_iter().flat_map(|metric| degrees.iter().map(move |&degree| (metric, degree)));
    grid.map(repaired).collect()
}

#[test]
fn all_equal() {
    let row = clustered::<f32>(1, 16, 5);
    reached(&row.repeat(1000), 16, &[1, 2, 3, 4, 32]);
    reached(&[0i8; 16].repeat(300), 16, &[1, 2, 32]);
}

#[test]
fn a_crowd_of_equals_among_others() {
    let mut rows = clustered::<u8>(1, 8, 5).repeat(1062);
    rows.extend(clustered::<u8>(2000, 8, 6));
    reached(&rows, 8, &[4, 32]);
}

#[test]
fn few_vectors_many_copies() {
    let rows: Vec<f32> = clustered::<f32>(5, 64, 5).repeat(100);
    reached(&rows, 64, &[1, 2, 3, 4, 48]);
}

#[test]
fn near_duplicates_do_not_hide_the_distant() {
    let mut rows: Vec<f32> = Vec::new();
    for i in 0..60 {
        rows.extend([1.0 + i as f32 * 1e-6, 1.0, 1.0, 1.0]);
    }
    for i in 0..20 {
        rows.extend([100.0 + i as f32, -50.0 * i as f32, 30.0, 7.0]);
    }
    let vectors = Matrix::from_rows(&rows, 4);
    let distance = Distance::new(Metric::L2, 4);
    let graphs = reached(&rows, 4, &[48]);
    let mut searcher = Searcher::new();
    let target = QueryTarget { vectors: &vectors, distance: &distance, query: &[1.0, 1.0, 1.0, 1.0] };
    searcher.run(&graphs[0], &target, graphs[0].entry().as_slice(), 160);
    let mut found: Vec<u32> = searcher.found().iter().map(|entry| entry.id).collect();
    found.sort_unstable();
    assert_eq!(found, (0..80).collect::<Vec<_>>());
}

#[test]
fn zero_vectors_under_cosine_are_found_and_harm_nobody() {
    let mut rows = clustered::<f32>(400, 12, 5);
    for i in (0..400).step_by(5) {
        rows[i * 12..(i + 1) * 12].fill(0.0);
    }
    reached(&rows, 12, &[4, 24]);
    let vectors = Matrix::from_rows(&rows, 12);
    let graph = graph_of(&vectors, Metric::Cosine, &params(24, 40));
    let recall = support::recall(&vectors, &graph, Metric::Cosine, &clustered::<f32>(30, 12, 6), 40);
    assert!(recall >= 0.97, "{recall}");
    let distance = Distance::new(Metric::Cosine, 12);
    let mut searcher = Searcher::new();
    let target = QueryTarget { vectors: &vectors, distance: &distance, query: &[0.0; 12] };
    searcher.run(&graph, &target, graph.entry().as_slice(), 10);
    assert_eq!(searcher.found().len(), 10);
    assert!(searcher.found().iter().all(|entry| entry.distance == 2.0));
}

#[test]
fn clusters_far_apart_are_joined() {
    let mut rows = Vec::new();
    for cluster in 0..12 {
        let mut own = clustered::<f32>(100, 8, 50 + cluster);
        own.iter_mut().for_each(|x| *x = *x * 1e-3 + (cluster * cluster) as f32 * 1e4);
        rows.extend(own);
    }
    reached(&rows, 8, &[2, 4, 16]);
}
