//! Every search axis against brute force, on a disk that reorders.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod small;

use gleann_search::{SearchKind, SearchOptions, Width};
use gleann_storage::SimOptions;
use gleann_vector::{Element, Metric};
use half::f16;
use small::{Small, small};

const WIDTHS: [Width; 4] = [Width::Fixed(1), Width::Fixed(4), Width::Fixed(16), Width::DYNAMIC];

fn every_axis<T: Element>(set: &Small<T>, floor: f64) {
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        for width in WIDTHS {
            for slots in [1, 7] {
                let options = SearchOptions { list: 60, kind, width, ..SearchOptions::default() };
                let disk = SimOptions { reorder_seed: 99, ..SimOptions::default() };
                let outcomes = set.run(slots, disk, 10, options);
                let recall = set.recall(&outcomes, 10);
                let metric = set.index.distance.metric();
                assert!(recall >= floor, "{metric} {} {kind} {width}: recall {recall}", T::TYPE);
            }
        }
    }
}

#[test]
fn every_metric_type_kind_and_width_finds_the_neighbours() {
    for metric in Metric::ALL {
        // Inner product over unnormalised vectors on a nearest-neighbour graph is the hard case.
        let floor = if metric == Metric::InnerProduct { 0.5 } else { 0.95 };
        every_axis(&small::<f32>(metric, 600, 24, 4096), floor);
        every_axis(&small::<f16>(metric, 600, 24, 4096), floor);
        every_axis(&small::<u8>(metric, 600, 24, 4096), floor);
        every_axis(&small::<i8>(metric, 600, 24, 4096), floor);
    }
}

#[test]
fn records_of_several_pages_and_large_pages_work() {
    every_axis(&small::<f32>(Metric::L2, 120, 1500, 4096), 0.95);
    every_axis(&small::<f32>(Metric::L2, 300, 96, 16384), 0.95);
}

#[test]
fn a_list_as_long_as_the_index_finds_everything() {
    for rows in [0, 1, 2, 9, 40] {
        let set = small::<u8>(Metric::L2, rows, 8, 4096);
        for kind in [SearchKind::Beam, SearchKind::Pipe] {
            for (list, k) in [(64, 64), (5, 64), (1, 1), (64, 10)] {
                let options = SearchOptions { list, kind, ..SearchOptions::default() };
                let outcomes = set.run(3, SimOptions::default(), k, options);
                let recall = set.recall(&outcomes, k);
                assert!(rows == 0 || k == 1 || recall == 1.0, "n {rows}, L {list}, k {k}: {recall}");
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_how_many_searches_share_a_core() {
    let set = small::<i8>(Metric::L2, 500, 16, 4096);
    let options = SearchOptions { list: 30, ..SearchOptions::default() };
    let alone = set.run(1, SimOptions::default(), 10, options);
    let together =
        set.run(20, SimOptions { reorder_seed: 5, capacity: 9, ..SimOptions::default() }, 10, options);
    for (a, b) in alone.iter().zip(&together) {
        let (a, b) = (a.as_ref().unwrap(), b.as_ref().unwrap());
        assert_eq!(a.nearest, b.nearest);
        assert_eq!((a.stats.reads, a.stats.comparisons), (b.stats.reads, b.stats.comparisons));
    }
}

/// A change of these numbers is a change of the algorithm: say so in the commit that changes them.
#[test]
fn golden_counts() {
    let set = small::<u8>(Metric::L2, 600, 24, 4096);
    let mut lines = Vec::new();
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        for width in WIDTHS {
            let options = SearchOptions { list: 40, kind, width, ..SearchOptions::default() };
            let outcomes = set.run(1, SimOptions::default(), 10, options);
            let (mut reads, mut hops, mut comparisons) = (0, 0, 0);
            for outcome in outcomes {
                let stats = outcome.unwrap().stats;
                assert_eq!(stats.bytes, u64::from(stats.reads) * 4096);
                assert_eq!(stats.pages, stats.reads);
                reads += stats.reads;
                hops += stats.hops;
                comparisons += stats.comparisons;
            }
            lines.push(format!("{kind} {width}: reads {reads} hops {hops} comparisons {comparisons}"));
        }
    }
    assert_eq!(lines.join("\n"), include_str!("golden_counts.txt").trim_end());
}
