//! What the clustering promises: bounds, replication, reachability, and the same postings on any number of threads.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod small;

use gleann_graph::{BuildDistance, BuildParams, Rows, reachable};
use gleann_spann::{ClusterParams, Clusters, cluster, memory_estimate};
use gleann_vector::{Cancelled, Element, Matrix, Metric, Progress};
use half::f16;
use small::{clustered, clusters};
use std::sync::atomic::{AtomicU32, Ordering};

fn params(capacity: usize, cluster: usize, replicas: usize) -> ClusterParams {
    let graph = BuildParams { degree: 8, list: 16, ..BuildParams::default() };
    ClusterParams { capacity, cluster, replicas, closure: 10.0, graph }
}

/// Copies of each vector.
fn copies<T: Element>(found: &Clusters<T>, rows: usize) -> Vec<usize> {
    let mut copies = vec![0; rows];
    found.members.iter().flatten().for_each(|&id| copies[id as usize] += 1);
    copies
}

fn holds_its_promises<T: Element>(metric: Metric, vectors: &Matrix<T>, params: &ClusterParams) {
    let found = clusters(vectors, metric, params);
    assert_eq!(found.members.len(), found.centroids.rows());
    assert_eq!(found.members.len(), found.graph.nodes());
    for members in &found.members {
        assert!((1..=params.capacity).contains(&members.len()), "{} members", members.len());
        let mut sorted = members.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), members.len(), "a vector is in a posting once");
    }
    for (id, copies) in copies(&found, vectors.rows()).into_iter().enumerate() {
        assert!((1..=params.replicas).contains(&copies), "vector {id} is in {copies} postings");
    }
    let Ok(reached) = reachable(&found.graph, found.graph.entry());
    assert_eq!(reached.count(), found.graph.nodes() as u64);
}

#[test]
fn every_vector_is_in_some_posting_and_no_posting_is_too_long() {
    for metric in Metric::ALL {
        for params in [params(24, 6, 8), params(5, 5, 8), params(1, 1, 8), params(40, 3, 1)] {
            holds_its_promises(metric, &clustered::<f32>(700, 8, 3), &params);
            holds_its_promises(metric, &clustered::<u8>(500, 5, 3), &params);
            holds_its_promises(metric, &clustered::<f16>(1, 8, 3), &params);
            holds_its_promises(metric, &clustered::<i8>(5, 8, 3), &params);
            holds_its_promises(metric, &Matrix::<u8>::zeroed(0, 8), &params);
            holds_its_promises(metric, &Matrix::<f32>::zeroed(300, 2), &params);
        }
    }
}

/// Nearest first, within the closure, and none that a chosen one covers: recomputed from the vectors.
#[test]
fn replicas_follow_the_rules_of_the_closure() {
    let vectors = clustered::<f32>(900, 6, 11);
    let distance = BuildDistance::new(Metric::L2, &vectors);
    // So much room that it never decides.
    let params = ClusterParams { closure: 2.0, ..params(900, 10, 4) };
    let found = clusters(&vectors, Metric::L2, &params);
    let square = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum() };
    let mut same = 0;
    for row in 0..900u32 {
        let x = vectors.row(row as usize);
        let mut near: Vec<(f32, usize)> =
            (0..found.members.len()).map(|c| (square(x, found.centroids.row(c)), c)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let limit = near[0].0 * 3.0;
        let mut expected: Vec<usize> = Vec::new();
        for &(d, c) in near.iter().take_while(|near| near.0 <= limit) {
            let centroid = |c: usize| found.centroids.row(c);
            if expected.len() < 4 && expected.iter().all(|&s| square(centroid(s), centroid(c)) >= d) {
                expected.push(c);
            }
        }
        expected.sort_unstable();
        let got: Vec<usize> = (0..found.members.len()).filter(|&c| found.members[c].contains(&row)).collect();
        same += usize::from(got == expected);
    }
    // The centroids of a vector are found by the graph, which may miss one.
    assert!(same >= 880, "{same} of 900");
    assert!(distance.metric() == Metric::L2);
}

#[test]
fn more_room_and_a_wider_closure_make_more_copies() {
    let vectors = clustered::<u8>(1000, 16, 5);
    let mean = |params: &ClusterParams| {
        let copies = copies(&clusters(&vectors, Metric::L2, params), 1000);
        copies.iter().sum::<usize>() as f64 / 1000.0
    };
    let wide = mean(&params(64, 8, 8));
    assert!(wide > 2.0, "{wide}");
    assert!(mean(&params(10, 8, 8)) < wide);
    assert!(mean(&ClusterParams { closure: 0.1, ..params(64, 8, 8) }) < wide);
    assert_eq!(mean(&params(64, 8, 1)), 1.0);
}

#[test]
fn the_same_postings_on_any_number_of_threads() {
    let vectors = clustered::<i8>(3000, 12, 9);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| clusters(&vectors, Metric::Cosine, &params(30, 7, 8)))
    };
    let one = on(1);
    for threads in [2, 5] {
        let other = on(threads);
        assert_eq!(one.members, other.members);
        assert_eq!(one.centroids.as_slice(), other.centroids.as_slice());
        assert!(one.graph == other.graph);
    }
}

struct StopsAfter(AtomicU32);

impl Progress for StopsAfter {
    fn phase(&self, _: &str, _: u64) {}

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn it_stops_when_asked_to() {
    let vectors = clustered::<u8>(2000, 8, 1);
    let distance = BuildDistance::new(Metric::L2, &vectors);
    for checks in [0, 1, 50, 400] {
        let stopped =
            cluster(&vectors, &distance, &params(30, 7, 8), &StopsAfter(AtomicU32::new(checks))).err();
        assert_eq!(stopped, Some(Cancelled), "after {checks} looks");
    }
}

#[test]
fn the_memory_estimate_grows_with_what_it_counts() {
    let rows =
        Rows { rows: 1_000_000, dim: 128, element: gleann_vector::ElementType::U8, metric: Metric::L2 };
    let plain = memory_estimate(&rows, &params(61, 10, 8), 1);
    assert!(plain > 128_000_000 && plain < 2_000_000_000, "{plain}");
    assert!(memory_estimate(&rows, &params(61, 10, 16), 1) > plain);
    assert!(memory_estimate(&rows, &params(61, 5, 8), 1) > plain);
    assert!(memory_estimate(&rows, &params(61, 10, 8), 2) > plain);
}
