//! Searches over a disk that fails, records that are damaged, and callers that give up.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod small;

use gleann_search::{OptionsError, Query, SearchError, SearchKind, SearchOptions, Turn, Width};
use gleann_storage::{Fault, RecordError, SimOptions};
use gleann_vector::Metric;
use small::{Outcome, small};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn options(kind: SearchKind) -> SearchOptions {
    SearchOptions { list: 30, kind, width: Width::Fixed(4), ..SearchOptions::default() }
}

#[test]
fn a_failed_read_fails_its_search_and_no_other() {
    let set = small::<u8>(Metric::L2, 400, 16, 4096);
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        let clean = set.run(4, SimOptions::default(), 10, options(kind));
        for n in 0..60 {
            let disk = SimOptions { faults: [(n, Fault::Errno(libc_eio()))].into(), ..SimOptions::default() };
            let outcomes = set.run(4, disk, 10, options(kind));
            let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.is_err()).collect();
            // A pipelined search may have ended before the failed read came.
            assert!(failed.len() == 1 || kind == SearchKind::Pipe && failed.is_empty(), "{kind} read {n}");
            for outcome in failed {
                let message = outcome.as_ref().unwrap_err().to_string();
                assert!(message.contains("graph, block") && message.contains("at byte"), "{message}");
            }
            for (outcome, expected) in outcomes.iter().zip(&clean) {
                if let Ok(found) = outcome {
                    assert_eq!(found.nearest.len(), expected.as_ref().unwrap().nearest.len());
                }
            }
        }
    }
}

fn libc_eio() -> i32 {
    5
}

#[test]
fn short_and_late_reads_change_no_answer() {
    let set = small::<u8>(Metric::L2, 400, 16, 4096);
    let expected = set.run(1, SimOptions::default(), 10, options(SearchKind::Beam));
    let faults = (0..500).map(|n| (n, if n % 3 == 0 { Fault::Short(2048) } else { Fault::Late(n * 1000) }));
    let disk = SimOptions { faults: faults.collect(), reorder_seed: 3, ..SimOptions::default() };
    for (outcome, expected) in set.run(5, disk, 10, options(SearchKind::Beam)).iter().zip(&expected) {
        assert_eq!(outcome.as_ref().unwrap().nearest, expected.as_ref().unwrap().nearest);
    }
}

#[test]
fn a_damaged_record_is_an_error_that_names_it() {
    for (change, expected) in [
        (1_000_000_000u32, RecordError::Degree { found: 1_000_000_000, allowed: small::DEGREE as u32 }),
        (400, RecordError::Degree { found: 400, allowed: small::DEGREE as u32 }),
    ] {
        let mut set = small::<u8>(Metric::L2, 400, 16, 4096);
        set.damage(0, |record| record[16..20].copy_from_slice(&change.to_le_bytes()));
        for outcome in set.run(2, SimOptions::default(), 10, options(SearchKind::Beam)) {
            match outcome {
                Err(SearchError::Record { node: 0, cause }) => assert_eq!(cause, expected),
                other => panic!("{other:?}"),
            }
        }
    }
    let mut set = small::<u8>(Metric::L2, 400, 16, 4096);
    set.damage(0, |record| record[20..24].copy_from_slice(&400u32.to_le_bytes()));
    let outcome = set.run(1, SimOptions::default(), 10, options(SearchKind::Pipe)).remove(0);
    let message = outcome.unwrap_err().to_string();
    assert!(message.contains("neighbour 0 is node 400") && message.contains("check-index"), "{message}");
}

#[test]
fn deadlines_and_cancellation_end_a_search_with_reads_in_flight() {
    let set = small::<u8>(Metric::L2, 400, 16, 4096);
    let mut driver = set.driver(3, SimOptions { latency_ns: 1_000_000, ..SimOptions::default() });
    let cancel = Arc::new(AtomicBool::new(false));
    let mut start = |job, deadline, cancel| {
        let options = SearchOptions { deadline, ..options(SearchKind::Beam) };
        driver.start(job, Query { vector: &set.queries[job], k: 5, options, cancel }).unwrap();
    };
    start(0, Some(Duration::from_micros(1500)), None);
    start(1, None, Some(cancel.clone()));
    start(2, None, None);
    let mut outcomes: Vec<Option<Outcome>> = vec![None, None, None];
    let mut turns = 0;
    while driver.turn(&mut |job, outcome| outcomes[job] = Some(outcome)) != Turn::Idle {
        turns += 1;
        if turns == 3 {
            cancel.store(true, Ordering::Relaxed);
        }
        driver.wait(Duration::from_millis(5));
    }
    assert!(
        matches!(outcomes[0], Some(Err(SearchError::Deadline(after))) if after == Duration::from_micros(1500))
    );
    assert!(matches!(outcomes[1], Some(Err(SearchError::Cancelled))));
    assert_eq!(outcomes[2].as_ref().unwrap().as_ref().unwrap().nearest.len(), 5);
    // The slots are reused while reads of the ended searches may still come.
    let rest = set.run(3, SimOptions::default(), 5, options(SearchKind::Beam));
    assert!(rest.iter().all(Result::is_ok));
}

#[test]
fn impossible_options_are_refused() {
    let set = small::<u8>(Metric::L2, 40, 16, 4096);
    let mut driver = set.driver(1, SimOptions { capacity: 8, ..SimOptions::default() });
    let mut refuse =
        |k, options| match driver.start(0, Query { vector: &set.queries[0], k, options, cancel: None }) {
            Err((0, SearchError::Options(problem))) => problem,
            other => panic!("{other:?}"),
        };
    let plain = SearchOptions::default();
    assert_eq!(refuse(0, plain), OptionsError::NoNeighbours);
    assert_eq!(refuse(1, SearchOptions { list: 0, ..plain }), OptionsError::List(0));
    assert_eq!(refuse(70_000, plain), OptionsError::TooManyNeighbours(70_000));
    let wide = SearchOptions { width: Width::Fixed(0), ..plain };
    assert_eq!(refuse(1, wide), OptionsError::Width(Width::Fixed(0)));
    // More reads at a time than the disk takes would never start.
    let wide = SearchOptions { width: Width::Fixed(9), ..plain };
    assert_eq!(refuse(1, wide), OptionsError::Width(Width::Fixed(9)));
    assert!(driver.has_room());
}
