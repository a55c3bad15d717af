//! Searches that begin where the navigation graph says, by codes and by vectors, against brute force.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod small;

use gleann_graph::{BuildDistance, BuildParams, random_sample};
use gleann_quant::Codes;
use gleann_search::{
    Entry, Estimates, MemGraph, OptionsError, Points, Query, SearchError, SearchKind, SearchOptions, Width,
};
use gleann_storage::SimOptions;
use gleann_vector::{Element, Matrix, Metric, Silent};
use half::f16;
use small::{Small, small};
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
enum By {
    Codes,
    Vectors,
}

/// The index with a navigation graph over `count` of its nodes; by vectors, it does without codes.
fn navigated<T: Element>(mut set: Small<T>, count: u32, by: By) -> Small<T> {
    let nodes = random_sample(set.index.nodes, count, 11);
    let mut vectors = Matrix::<T>::zeroed(nodes.len(), set.vectors.dim());
    for (place, &node) in nodes.iter().enumerate() {
        vectors.row_mut(place).copy_from_slice(set.vectors.row(node as usize));
    }
    let distance = BuildDistance::new(set.index.distance.metric(), &vectors);
    let params = BuildParams { degree: 8, list: 16, ..BuildParams::default() };
    let graph = gleann_graph::build(&vectors, &distance, &params, &Silent).unwrap();
    let index = Arc::get_mut(&mut set.index).expect("no search runs");
    let points = match by {
        By::Codes => {
            let codebook = index.estimates.codebook().unwrap();
            let mut codes = Matrix::zeroed(nodes.len(), codebook.chunks());
            codebook.encode_rows(vectors.as_slice(), codes.as_mut_slice());
            Points::Codes(Codes::new(codes, codebook).unwrap())
        }
        By::Vectors => {
            index.estimates = Estimates::Off;
            Points::Vectors(vectors)
        }
    };
    index.entry.mem_graph = Some(MemGraph::new(nodes, points, graph));
    set
}

fn begin(list: u16, points: u16) -> Entry {
    Entry::MemGraph { list, points }
}

fn every_axis<T: Element>(metric: Metric, floor: f64) {
    for by in [By::Codes, By::Vectors] {
        let set = navigated(small::<T>(metric, 600, 24, 4096), 60, by);
        for kind in [SearchKind::Beam, SearchKind::Pipe] {
            for width in [Width::Fixed(1), Width::Fixed(8), Width::DYNAMIC] {
                for entry in [begin(1, 1), begin(10, 10), begin(60, 3)] {
                    let options = SearchOptions { list: 60, kind, width, entry, ..SearchOptions::default() };
                    let disk = SimOptions { reorder_seed: 7, ..SimOptions::default() };
                    let recall = set.recall(&set.run(7, disk, 10, options), 10);
                    assert!(recall >= floor, "{metric} {} {by:?} {kind} {width} {entry}: {recall}", T::TYPE);
                }
            }
        }
    }
}

#[test]
fn every_metric_type_kind_and_width_finds_the_neighbours() {
    for metric in Metric::ALL {
        let floor = if metric == Metric::InnerProduct { 0.5 } else { 0.95 };
        every_axis::<f32>(metric, floor);
        every_axis::<f16>(metric, floor);
        every_axis::<u8>(metric, floor);
        every_axis::<i8>(metric, floor);
    }
}

#[test]
fn a_list_as_long_as_the_index_finds_everything() {
    for rows in [0, 1, 2, 9, 40] {
        for by in [By::Codes, By::Vectors] {
            let set = navigated(small::<u8>(Metric::L2, rows, 8, 4096), 5, by);
            let options = SearchOptions { list: 64, entry: begin(9, 9), ..SearchOptions::default() };
            let outcomes = set.run(3, SimOptions::default(), 64, options);
            assert!(rows == 0 || set.recall(&outcomes, 64) == 1.0, "n {rows}, {by:?}");
        }
    }
}

#[test]
fn it_begins_nearer_than_the_medoid() {
    let set = navigated(small::<u8>(Metric::L2, 600, 24, 4096), 60, By::Codes);
    let cost = |entry| {
        let options = SearchOptions { list: 20, entry, width: Width::Fixed(1), ..SearchOptions::default() };
        let outcomes = set.run(1, SimOptions::default(), 10, options);
        let reads: u32 = outcomes.iter().map(|outcome| outcome.as_ref().unwrap().stats.reads).sum();
        (reads, set.recall(&outcomes, 10))
    };
    let ((medoid, medoid_recall), (nearer, recall)) = (cost(Entry::Medoid), cost(begin(10, 10)));
    assert!(nearer < medoid && recall >= medoid_recall, "{nearer} {recall}, {medoid} {medoid_recall}");
}

#[test]
fn an_index_without_one_refuses_the_entry_and_lives_on() {
    let mut set = small::<u8>(Metric::L2, 50, 8, 4096);
    Arc::get_mut(&mut set.index).expect("no search runs").entry.mem_graph = None;
    let mut driver = set.driver(1, SimOptions::default());
    let options = SearchOptions { entry: Entry::MEM_GRAPH, ..SearchOptions::default() };
    let query = Query { vector: &set.queries[0], k: 3, options, cancel: None };
    let (job, error) = driver.start(5, query).unwrap_err();
    assert!(job == 5 && matches!(error, SearchError::Options(OptionsError::NoMemGraph)), "{error}");
    let query = Query { vector: &set.queries[0], k: 3, options: SearchOptions::default(), cancel: None };
    assert!(driver.start(6, query).is_ok());
}

/// A change of these numbers is a change of the algorithm: say so in the commit that changes them.
#[test]
fn golden_counts() {
    let set = navigated(small::<u8>(Metric::L2, 600, 24, 4096), 60, By::Codes);
    let mut lines = Vec::new();
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        for entry in [begin(10, 1), begin(10, 10), begin(40, 10)] {
            let options = SearchOptions { list: 40, kind, entry, ..SearchOptions::default() };
            let mut sum = (0, 0, 0);
            for outcome in set.run(1, SimOptions::default(), 10, options) {
                let stats = outcome.unwrap().stats;
                sum = (sum.0 + stats.reads, sum.1 + stats.hops, sum.2 + stats.comparisons);
            }
            let (reads, hops, comparisons) = sum;
            lines.push(format!("{kind} {entry}: reads {reads} hops {hops} comparisons {comparisons}"));
        }
    }
    assert_eq!(lines.join("\n"), include_str!("golden_mem_graph.txt").trim_end());
}
