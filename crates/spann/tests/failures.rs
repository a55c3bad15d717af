//! Probes over a disk that fails, postings that are damaged, and options that mean nothing.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod small;

use gleann_search::{Entry, Expansion, OptionsError, Query, SearchError, SearchKind, SearchOptions, Width};
use gleann_storage::{BlockId, Fault, PostingError, SimOptions, seal_block};
use gleann_vector::Metric;
use small::small;

const EIO: i32 = 5;

fn options(kind: SearchKind) -> SearchOptions {
    SearchOptions { list: 12, kind, ..SearchOptions::default() }
}

#[test]
fn a_failed_read_fails_its_search_and_no_other() {
    let set = small::<u8>(Metric::L2, 400, 16, 1);
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        let clean = set.run(4, SimOptions::default(), 10, options(kind));
        for n in 0..40 {
            let disk = SimOptions { faults: [(n, Fault::Errno(EIO))].into(), ..SimOptions::default() };
            let outcomes = set.run(4, disk, 10, options(kind));
            let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
            assert_eq!(failed.len(), 1, "{kind} read {n}");
            let message = failed[0].to_string();
            assert!(message.contains("postings, block") && message.contains("at byte"), "{message}");
            for (outcome, clean) in outcomes.iter().zip(&clean) {
                if let Ok(found) = outcome {
                    assert_eq!(found.nearest, clean.as_ref().unwrap().nearest);
                }
            }
        }
    }
}

#[test]
fn flipped_bits_are_found_and_short_and_late_reads_change_no_answer() {
    let set = small::<u8>(Metric::L2, 400, 16, 2);
    let clean = set.run(1, SimOptions::default(), 10, options(SearchKind::Beam));
    for bit in [0, 4096 * 8 + 5, 8191 * 8] {
        let disk = SimOptions { faults: [(3, Fault::Flip(bit))].into(), ..SimOptions::default() };
        let outcomes = set.run(1, disk, 10, options(SearchKind::Beam));
        assert!(matches!(outcomes[0], Err(SearchError::Read(_))), "bit {bit}: {:?}", outcomes[0]);
    }
    let faults = (0..500).map(|n| (n, if n % 3 == 0 { Fault::Short(4096) } else { Fault::Late(n * 1000) }));
    let disk = SimOptions { faults: faults.collect(), reorder_seed: 3, ..SimOptions::default() };
    for (outcome, clean) in set.run(5, disk, 10, options(SearchKind::Pipe)).iter().zip(&clean) {
        assert_eq!(outcome.as_ref().unwrap().nearest, clean.as_ref().unwrap().nearest);
    }
}

#[test]
fn a_damaged_posting_is_an_error_that_names_it() {
    let mut set = small::<u8>(Metric::L2, 400, 16, 1);
    let allowed = set.index.layout.capacity() as u32;
    let blocks = set.index.layout.blocks();
    let mut image = set.image.to_vec();
    for block in 0..set.members.len() as u32 {
        let start = blocks.offset(BlockId(block)) as usize;
        let bytes = &mut image[start..start + blocks.block_bytes()];
        bytes[4096 - 12..4096 - 8].copy_from_slice(&1_000_000u32.to_le_bytes());
        seal_block(bytes, BlockId(block));
    }
    set.image = image.into();
    for outcome in set.run(2, SimOptions::default(), 10, options(SearchKind::Beam)) {
        match outcome {
            Err(SearchError::Posting { cause, .. }) => {
                assert_eq!(cause, PostingError::Count { found: 1_000_000, allowed });
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn options_that_mean_nothing_are_refused_with_the_reason() {
    let set = small::<u8>(Metric::L2, 40, 16, 1);
    let mut driver = set.driver(1, SimOptions::default());
    let mut refuse =
        |k, options| match driver.start(0, Query { vector: &set.queries[0], k, options, cancel: None }) {
            Err((0, SearchError::Options(problem))) => problem,
            other => panic!("{other:?}"),
        };
    let plain = SearchOptions::default();
    assert_eq!(refuse(0, plain), OptionsError::NoNeighbours);
    for (options, named) in [
        (SearchOptions { entry: Entry::MEM_GRAPH, ..plain }, "entry memgraph:10-2 is not possible"),
        (SearchOptions { expansion: Expansion::Page { share_pct: 30 }, ..plain }, "expansion page:30"),
        (SearchOptions { width: Width::DYNAMIC, ..plain }, "give a fixed width"),
    ] {
        let message = refuse(1, options).to_string();
        assert!(message.contains(named) && message.contains("postings"), "{message}");
    }
    assert!(driver.has_room());
}
