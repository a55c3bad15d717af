//! Every combination of the values of all axes against brute force: each alone may be right where two together are
//! not.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod small;

use gleann_search::{
    Entry, Expansion, OptionsError, Query, SearchError, SearchKind, SearchOptions, Stop, Width,
};
use gleann_storage::SimOptions;
use gleann_vector::{Element, Metric};
use small::{Judged, Small, small_judged};

const KINDS: [SearchKind; 2] = [SearchKind::Beam, SearchKind::Pipe];
const WIDTHS: [Width; 3] = [Width::Fixed(1), Width::Fixed(8), Width::Dynamic { start: 2, max: 16 }];
const EXPANSIONS: [Expansion; 3] =
    [Expansion::Record, Expansion::Page { share_pct: 100 }, Expansion::Page { share_pct: 30 }];
const STOPS: [Stop; 2] = [Stop::Exhausted, Stop::Bound { margin_pct: 30 }];
const ENTRIES: [Entry; 2] = [Entry::Medoid, Entry::MemGraph { list: 12, points: 5 }];
const JUDGED: [Judged; 3] = [Judged::Memory, Judged::Record, Judged::Off];

fn every_search(mut run: impl FnMut(SearchOptions)) {
    for kind in KINDS {
        for width in WIDTHS {
            for entry in ENTRIES {
                for expansion in EXPANSIONS {
                    for stop in STOPS {
                        run(SearchOptions { list: 60, kind, width, entry, expansion, stop, deadline: None });
                    }
                }
            }
        }
    }
}

fn name(options: &SearchOptions) -> String {
    let SearchOptions { kind, width, entry, expansion, stop, .. } = options;
    format!("{kind} {width} {entry} {expansion} {stop}")
}

fn holds_its_own<T: Element>(set: &Small<T>, judged: Judged, floor: f64) {
    every_search(|options| {
        let disk = SimOptions { reorder_seed: 3, ..SimOptions::default() };
        let outcomes = set.run(4, disk, 10, options);
        // Checks form, order and exactness of every result, too.
        let recall = set.recall(&outcomes, 10);
        let context = format!("{} {} {judged:?} {}", set.index.distance.metric(), T::TYPE, name(&options));
        assert!(recall >= floor, "{context}: recall {recall}");
        let blocks = set.index.layout.blocks(set.index.nodes.into()) as u32;
        for stats in outcomes.iter().map(|outcome| outcome.as_ref().unwrap().stats) {
            assert_eq!(stats.bytes, u64::from(stats.reads) * set.index.layout.block_bytes() as u64);
            assert!(stats.expanded <= stats.exact, "{context}: more expanded than measured");
            if options.expansion != Expansion::Record {
                assert!(stats.reads <= blocks, "{context}: a page is read twice");
            }
        }
    });
}

#[test]
fn every_combination_finds_the_neighbours() {
    for judged in JUDGED {
        for page in [4096, 16384] {
            holds_its_own(&small_judged::<u8>(Metric::L2, (300, 24), page, judged), judged, 0.95);
        }
    }
}

#[test]
fn every_combination_finds_the_neighbours_with_records_in_memory() {
    for judged in JUDGED {
        holds_its_own(&small_judged::<f32>(Metric::L2, (300, 24), 4096, judged).cached(40), judged, 0.95);
        // All of them: nothing is ever read.
        let set = small_judged::<u8>(Metric::L2, (200, 24), 4096, judged).cached(200);
        every_search(|options| {
            let outcomes = set.run(2, SimOptions::default(), 10, options);
            assert!(set.recall(&outcomes, 10) >= 0.95, "{}", name(&options));
            assert!(outcomes.iter().all(|outcome| outcome.as_ref().unwrap().stats.reads == 0));
        });
    }
}

#[test]
fn every_combination_serves_every_metric() {
    for judged in JUDGED {
        holds_its_own(&small_judged::<i8>(Metric::Cosine, (300, 24), 4096, judged), judged, 0.9);
        // Inner product over unnormalised vectors on a nearest-neighbour graph is the hard case.
        holds_its_own(&small_judged::<f32>(Metric::InnerProduct, (300, 24), 4096, judged), judged, 0.4);
    }
}

#[test]
fn codes_in_the_record_search_as_codes_in_memory_do() {
    let memory = small_judged::<u8>(Metric::L2, (400, 24), 4096, Judged::Memory);
    let record = small_judged::<u8>(Metric::L2, (400, 24), 4096, Judged::Record);
    for kind in KINDS {
        let options = SearchOptions { list: 30, kind, ..SearchOptions::default() };
        let run = |set: &Small<u8>| set.run(1, SimOptions::default(), 10, options);
        for (a, b) in run(&memory).iter().zip(run(&record)) {
            let (a, b) = (a.as_ref().unwrap(), b.unwrap());
            assert_eq!(a.nearest, b.nearest);
            // PipeSearch goes by when reads come, and a page that holds fewer records is read more often.
            let work = |stats: &gleann_search::QueryStats| (stats.expanded, stats.comparisons);
            assert!(kind == SearchKind::Pipe || work(&a.stats) == work(&b.stats));
        }
    }
}

#[test]
fn page_search_reads_less_where_neighbours_share_pages() {
    // The rows lie in the order of their clusters' making, so pages hold strangers; with all of the index in a few
    // large pages they cannot.
    let set = small_judged::<u8>(Metric::L2, (400, 24), 16384, Judged::Memory);
    let reads = |expansion| -> u32 {
        let options = SearchOptions { list: 40, expansion, ..SearchOptions::default() };
        set.run(1, SimOptions::default(), 10, options)
            .into_iter()
            .map(|found| found.unwrap().stats.reads)
            .sum()
    };
    assert!(reads(EXPANSIONS[1]) * 2 < reads(Expansion::Record));
}

#[test]
fn a_navigation_graph_that_is_not_there_is_an_error() {
    let set = small_judged::<u8>(Metric::L2, (60, 8), 4096, Judged::Memory).without_mem_graph();
    let mut driver = set.driver(1, SimOptions::default());
    let options = SearchOptions { entry: Entry::MEM_GRAPH, ..SearchOptions::default() };
    let query = Query { vector: &set.queries[0], k: 3, options, cancel: None };
    let Err((0, SearchError::Options(refused))) = driver.start(0, query) else { panic!("it started") };
    assert_eq!(refused, OptionsError::NoMemGraph);
    // The place it would have taken is free.
    let query = Query { vector: &set.queries[0], k: 3, options: SearchOptions::default(), cancel: None };
    assert!(driver.has_room() && driver.start(1, query).is_ok());
}
