//! Probes against brute force, over every metric and element type, on a disk that reorders.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod small;

use gleann_search::{SearchKind, SearchOptions, Stop, Width};
use gleann_storage::SimOptions;
use gleann_vector::{Element, Matrix, Metric};
use half::f16;
use small::{Small, over, small};

const ALL: usize = 60_000;

fn plain(list: usize) -> SearchOptions {
    SearchOptions { list, ..SearchOptions::default() }
}

/// Every posting read: the result is that of brute force, bit by bit.
fn exact_when_everything_is_read<T: Element>(set: &Small<T>) {
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        for (width, slots) in [(1, 1), (4, 7), (32, 3)] {
            let options = SearchOptions { kind, width: Width::Fixed(width), ..plain(ALL) };
            let disk = SimOptions { reorder_seed: 99, ..SimOptions::default() };
            let outcomes = set.run(slots, disk, 10, options);
            for (query, outcome) in set.queries.iter().zip(outcomes) {
                let found = outcome.unwrap();
                assert_eq!(found.stats.reads as usize, set.members.len());
                assert_eq!(found.nearest, set.exact(query, 10, 0..set.index.nodes));
            }
        }
    }
}

#[test]
fn every_metric_and_type_is_exact_when_everything_is_read() {
    for metric in Metric::ALL {
        exact_when_everything_is_read(&small::<f32>(metric, 600, 24, 1));
        exact_when_everything_is_read(&small::<f16>(metric, 600, 24, 1));
        exact_when_everything_is_read(&small::<u8>(metric, 600, 24, 1));
        exact_when_everything_is_read(&small::<i8>(metric, 600, 24, 2));
    }
}

#[test]
fn few_postings_find_most_neighbours() {
    for metric in [Metric::L2, Metric::Cosine] {
        let set = small::<u8>(metric, 2000, 16, 1);
        let outcomes = set.run(4, SimOptions::default(), 10, plain(16));
        let mut found = 0;
        for (query, outcome) in set.queries.iter().zip(outcomes) {
            let outcome = outcome.unwrap();
            assert_eq!(outcome.stats.reads, 16);
            assert!(outcome.stats.exact < 400);
            let truth = set.exact(query, 10, 0..2000);
            found += outcome.nearest.iter().filter(|hit| truth.contains(hit)).count();
        }
        assert!(found >= 180, "{metric}: {found} of 200");
    }
}

/// What is found is exactly the best of what was read, each vector once although several postings hold it.
#[test]
fn the_postings_of_the_nearest_centroids_are_read_and_replicas_counted_once() {
    let set = small::<i8>(Metric::L2, 1500, 12, 1);
    for list in [1, 3, 20] {
        for outcome in set.queries.iter().zip(set.run(5, SimOptions::default(), 10, plain(list))) {
            let (query, found) = (outcome.0, outcome.1.unwrap());
            let ranked = set.ranked(query);
            let read = ranked[..found.stats.reads as usize].iter().map(|&(_, posting)| &set.members[posting]);
            let rows: Vec<u32> = read.flatten().copied().collect();
            assert_eq!(found.stats.exact as usize, rows.len());
            assert_eq!(found.nearest, set.exact(query, 10, rows.into_iter()));
        }
    }
}

#[test]
fn postings_beyond_the_margin_are_not_read() {
    let set = small::<f32>(Metric::L2, 1500, 12, 1);
    for margin_pct in [0, 10, 60, 700] {
        let options = SearchOptions { stop: Stop::Bound { margin_pct }, ..plain(40) };
        for (query, outcome) in set.queries.iter().zip(set.run(3, SimOptions::default(), 1, options)) {
            let ranked = set.ranked(query);
            let limit = ranked[0].0 * (1.0 + f32::from(margin_pct) / 100.0);
            let within = ranked.iter().filter(|centroid| centroid.0 <= limit).count().min(40);
            assert_eq!(outcome.unwrap().stats.reads as usize, within, "{margin_pct} %");
        }
    }
}

#[test]
fn as_many_as_there_are_are_found_however_few_postings_were_to_be_read() {
    for rows in [0, 1, 2, 5, 300] {
        let set = small::<u8>(Metric::L2, rows, 8, 1);
        for (list, k) in [(1, 1), (1, 200), (2, 64), (7, 300), (ALL, 1000)] {
            for stop in [Stop::Exhausted, Stop::Bound { margin_pct: 5 }] {
                for kind in [SearchKind::Beam, SearchKind::Pipe] {
                    let options = SearchOptions { kind, stop, ..plain(list) };
                    for outcome in set.run(3, SimOptions::default(), k, options) {
                        let found = outcome.unwrap();
                        assert_eq!(found.nearest.len(), k.min(rows), "{rows} rows, list {list}, k {k}");
                        assert!(found.stats.reads as usize <= set.members.len(), "no posting is read twice");
                    }
                }
            }
        }
    }
}

#[test]
fn thousands_of_equal_vectors_are_all_found() {
    let mut vectors = Matrix::<u8>::zeroed(3000, 4);
    vectors.row_mut(1234).copy_from_slice(&[9, 9, 9, 9]);
    let set = over(Metric::L2, vectors, vec![vec![9, 9, 9, 9], vec![0; 4]], 1);
    let outcomes = set.run(2, SimOptions::default(), 3000, plain(ALL));
    for outcome in outcomes {
        assert_eq!(outcome.unwrap().nearest.len(), 3000);
    }
    let nearest = set.run(1, SimOptions::default(), 1, plain(4)).remove(0).unwrap().nearest;
    assert_eq!(nearest, [(1234, 0.0)]);
}

#[test]
fn results_do_not_depend_on_how_many_searches_share_a_core() {
    let set = small::<u8>(Metric::L2, 900, 16, 1);
    let alone = set.run(1, SimOptions::default(), 10, plain(8));
    let disk = SimOptions { reorder_seed: 5, capacity: 9, ..SimOptions::default() };
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        let together = set.run(20, disk.clone(), 10, SearchOptions { kind, ..plain(8) });
        for (a, b) in alone.iter().zip(&together) {
            assert_eq!(a.as_ref().unwrap().nearest, b.as_ref().unwrap().nearest);
        }
    }
}
