//! Wrong queries and options: an error that names the argument, what was found and what was expected.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{EngineChoice, Index, Metric, OpenOptions, SearchError, SearchOptions, Width};
use half::f16;
use support::{ENGINES, block_on, built, queries, watchdog};

fn text<T: std::fmt::Debug>(outcome: Result<T, impl std::fmt::Display>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn queries_of_another_dimension_or_type_are_named() {
    let _watchdog = watchdog("dimension and type");
    let set = built::<u8>(Metric::L2, 50, 16);
    let index = set.open(EngineChoice::Auto);
    let options = SearchOptions::default();
    for length in [0, 1, 15, 17, 32] {
        let query = vec![0u8; length];
        let expected = format!("the query has {length} elements, the index has vectors of 16");
        assert_eq!(text(index.search(&query, 3, &options)), expected);
        assert_eq!(text(block_on(index.search_async(&query, 3, &options))), expected);
    }
    let wrong = "the query has elements of type f32, the index holds u8";
    assert_eq!(text(index.search(&[0.0f32; 16], 3, &options)), wrong);
    let batch = index.search_batch(&[0.0f32; 32], 3, &options);
    assert_eq!(batch.into_iter().map(text).collect::<Vec<_>>(), [wrong, wrong]);
    assert_eq!(
        text(index.search(&[0i8; 16], 3, &options)),
        "the query has elements of type i8, the index holds u8"
    );
    let batch = index.search_batch(&[0u8; 40], 3, &options);
    assert_eq!(batch.len(), 1);
    assert_eq!(
        text(batch.into_iter().next().unwrap()),
        "the queries have 40 elements, which is no whole number of vectors of 16"
    );
}

#[test]
fn nan_and_infinity_are_refused_by_component() {
    let _watchdog = watchdog("not finite");
    let set = built::<f32>(Metric::InnerProduct, 50, 8);
    let half = built::<f16>(Metric::Cosine, 50, 8);
    let options = SearchOptions::default();
    for engine in ENGINES {
        let index = set.open(engine);
        for (bad, name) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
            let mut query = [1.0f32; 8];
            query[5] = bad;
            let expected = format!(
                "the query is not usable: row 0, component 5 is {name}; every component must be finite"
            );
            assert_eq!(text(index.search(&query, 3, &options)), expected);
        }
    }
    let mut query = [f16::ONE; 8];
    query[0] = f16::INFINITY;
    assert_eq!(
        text(half.open(EngineChoice::Auto).search(&query, 3, &options)),
        "the query is not usable: row 0, component 0 is inf; every component must be finite"
    );
}

#[test]
fn one_unusable_query_of_a_batch_fails_alone() {
    let _watchdog = watchdog("one of a batch");
    let set = built::<f32>(Metric::L2, 60, 8);
    let index = set.open(EngineChoice::Auto);
    let mut queries = queries::<f32>(9, 8);
    queries.row_mut(2)[7] = f32::NAN;
    queries.row_mut(6)[1] = f32::INFINITY;
    let options = SearchOptions::default();
    let found = index.search_batch(queries.as_slice(), 4, &options);
    assert_eq!(found.len(), 9);
    for (row, found) in found.into_iter().enumerate() {
        match row {
            2 | 6 => {
                let found = text(found);
                let place = if row == 2 { "row 2, component 7 is NaN" } else { "row 6, component 1 is inf" };
                assert!(found.contains(place), "{found}");
            }
            _ => assert_eq!(found.unwrap().hits, index.search(queries.row(row), 4, &options).unwrap().hits),
        }
    }
}

#[test]
fn a_zero_query_under_cosine_is_two_away_from_everything() {
    let _watchdog = watchdog("zero query");
    let set = built::<i8>(Metric::Cosine, 80, 8);
    for engine in ENGINES {
        let hits = set.open(engine).search(&[0i8; 8], 10, &SearchOptions::default()).unwrap().hits;
        set.check_hits(&[0; 8], 10, &hits);
        assert!(hits.iter().all(|hit| hit.distance == 2.0));
    }
}

#[test]
fn options_out_of_range_are_named_with_their_range() {
    let _watchdog = watchdog("options");
    let set = built::<u8>(Metric::L2, 30, 8);
    let index = set.open(EngineChoice::Auto);
    let plain = SearchOptions::default();
    let width = |width| SearchOptions { width, ..plain };
    let dynamic = |start, max| width(Width::Dynamic { start, max });
    let range = "is not possible; expected 1 to 128, and a start not above the maximum";
    let cases = [
        (0, plain, "k is 0; ask for at least one neighbour".to_owned()),
        (70_000, plain, "k is 70000; expected 1 to 65535".into()),
        (usize::MAX, plain, format!("k is {}; expected 1 to 65535", usize::MAX)),
        (3, SearchOptions { list: 0, ..plain }, "list is 0; expected 1 to 65535".into()),
        (3, SearchOptions { list: 65_536, ..plain }, "list is 65536; expected 1 to 65535".into()),
        (3, width(Width::Fixed(0)), format!("width 0 {range}")),
        (3, width(Width::Fixed(129)), format!("width 129 {range}")),
        (3, dynamic(0, 8), format!("width dynamic:0-8 {range}")),
        (3, dynamic(8, 4), format!("width dynamic:8-4 {range}")),
        (3, dynamic(8, 129), format!("width dynamic:8-129 {range}")),
    ];
    for (k, options, expected) in cases {
        assert_eq!(text(index.search(&[0u8; 8], k, &options)), expected);
        assert_eq!(text(block_on(index.search_async(&[0u8; 8], k, &options))), expected);
        for found in index.search_batch(&[0u8; 24], k, &options) {
            assert_eq!(text(found), expected);
        }
    }
    assert_eq!(index.search(&[0u8; 8], 65_535, &plain).unwrap().hits.len(), 30);
    assert!(matches!(
        index.search(&[0u8; 7], 3, &plain),
        Err(SearchError::Dimension { found: 7, expected: 8 })
    ));
}

#[test]
fn opening_with_options_out_of_range_is_refused() {
    let _watchdog = watchdog("open options");
    let set = built::<u8>(Metric::L2, 30, 8);
    for (threads, in_flight) in [(1025, 16), (usize::MAX, 16), (1, 0), (1, 1025), (0, usize::MAX)] {
        let options = OpenOptions { threads, in_flight, ..OpenOptions::default() };
        assert_eq!(
            text(Index::open(set.path(), options)),
            format!(
                "{threads} threads with {in_flight} searches each were asked for; expected at most 1024 threads \
                 and 1 to 1024 searches"
            )
        );
    }
}

#[test]
fn the_largest_finite_queries_are_queries() {
    let _watchdog = watchdog("largest");
    for metric in Metric::ALL {
        let set = built::<f32>(metric, 50, 8);
        let index = set.open(EngineChoice::Auto);
        for query in [[f32::MAX; 8], [f32::MIN; 8], [f32::MIN_POSITIVE; 8], [1e-45; 8]] {
            let hits = index.search(&query, 50, &SearchOptions::default()).unwrap().hits;
            assert_eq!(hits.len(), 50);
            assert!(hits.iter().all(|hit| !hit.distance.is_nan()), "{metric} {query:?}: {hits:?}");
            if metric == Metric::Cosine {
                set.check_hits(&query, 50, &hits);
            }
        }
    }
}
