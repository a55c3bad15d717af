//! The same index through every engine: the same answers, and the right ones.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{
    BuildOptions, Direct, Element, EngineChoice, Index, Metric, OpenOptions, SearchKind, SearchOptions, Width,
};
use half::f16;
use support::{
    Built, ENGINES, built, built_with, clustered, disk_dir, queries, small_options, watchdog, with_engine,
};

/// Mean recall@10, and every rule a result keeps.
fn recall_on<T: Element>(set: &Built<T>, index: &Index, options: &SearchOptions) -> f64 {
    let count = 20;
    let queries = queries::<T>(count, set.rows.dim());
    let mut recall = 0.0;
    for query in 0..count {
        let query = queries.row(query);
        let result = index.search(query, 10, options).unwrap();
        set.check_hits(query, 10, &result.hits);
        recall += set.recall(query, &result.hits);
    }
    recall / count as f64
}

fn every_metric_of<T: Element>() {
    for metric in Metric::ALL {
        let set = built::<T>(metric, 500, 24);
        let index = set.open(EngineChoice::Auto);
        for kind in [SearchKind::Beam, SearchKind::Pipe] {
            let options = SearchOptions { list: 80, kind, ..SearchOptions::default() };
            let recall = recall_on(&set, &index, &options);
            let floor = if metric == Metric::InnerProduct { 0.8 } else { 0.97 };
            assert!(recall >= floor, "{metric} over {}, {kind}: recall {recall}", T::TYPE);
        }
    }
}

#[test]
fn f32_neighbours_are_found_under_every_metric() {
    let _watchdog = watchdog("f32");
    every_metric_of::<f32>();
}

#[test]
fn f16_neighbours_are_found_under_every_metric() {
    let _watchdog = watchdog("f16");
    every_metric_of::<f16>();
}

#[test]
fn u8_neighbours_are_found_under_every_metric() {
    let _watchdog = watchdog("u8");
    every_metric_of::<u8>();
}

#[test]
fn i8_neighbours_are_found_under_every_metric() {
    let _watchdog = watchdog("i8");
    every_metric_of::<i8>();
}

fn engines_agree<T: Element>(set: &Built<T>) {
    let queries = queries::<T>(30, set.rows.dim());
    let indexes = ENGINES.map(|engine| set.open(engine));
    for (index, engine) in indexes.iter().zip(ENGINES) {
        let info = index.info();
        assert_eq!(info.engine, engine);
        match engine {
            EngineChoice::Mmap => assert!(!info.direct && info.warnings.is_empty()),
            _ if info.direct => assert_eq!(info.warnings, [""; 0]),
            _ => eprintln!("buffered only: {:?}", info.warnings),
        }
    }
    for width in [Width::Fixed(1), Width::Fixed(4), Width::Fixed(128), Width::DYNAMIC] {
        let options = SearchOptions { list: 30, width, ..SearchOptions::default() };
        for query in 0..queries.rows() {
            let query = queries.row(query);
            let [ring, pool, map] = &indexes;
            let expected = map.search(query, 10, &options).unwrap();
            set.check_hits(query, 10, &expected.hits);
            let block = map.info().layout.block_bytes() as u64;
            assert_eq!(expected.stats.bytes, u64::from(expected.stats.reads) * block);
            for index in [ring, pool] {
                let found = index.search(query, 10, &options).unwrap();
                assert_eq!(found.hits, expected.hits);
                let counts =
                    |s: gleann::QueryStats| (s.reads, s.pages, s.bytes, s.hops, s.comparisons, s.exact);
                assert_eq!(counts(found.stats), counts(expected.stats));
            }
        }
    }
}

#[test]
fn io_uring_pool_and_memory_map_give_the_same_answers_and_counts() {
    let _watchdog = watchdog("engines agree");
    engines_agree(&built::<u8>(Metric::L2, 500, 32));
    engines_agree(&built::<f32>(Metric::InnerProduct, 300, 16));
}

#[test]
fn records_of_several_pages_are_read_whole() {
    let _watchdog = watchdog("several pages");
    let set = built::<f32>(Metric::L2, 60, 2100);
    let index = set.open(EngineChoice::Glommio);
    assert_eq!(index.info().layout.pages_per_block(), 3);
    engines_agree(&set);
    // Four bytes over the page (pitfall of 960 × f32 with R = 64).
    let options = BuildOptions { degree: 64, build_list: 70, ..small_options(Metric::L2, 960) };
    let set = built_with(clustered::<f32>(70, 960, 7), options, disk_dir());
    let index = set.open(EngineChoice::Auto);
    assert_eq!(index.info().layout.pages_per_block(), 2);
    assert!(recall_on(&set, &index, &SearchOptions::default()) > 0.99);
}

#[test]
fn keys_come_back_instead_of_row_numbers() {
    let _watchdog = watchdog("keys");
    let keys: Vec<u64> = (0..200u64).map(|row| u64::MAX - row * row * 1_000_003).collect();
    let options = BuildOptions { keys: Some(keys.clone()), ..small_options(Metric::Cosine, 8) };
    let set = built_with(clustered::<i8>(200, 8, 7), options, disk_dir());
    for engine in ENGINES {
        let index = set.open(engine);
        for row in [0, 1, 100, 199] {
            let result = index.search(set.rows.row(row), 3, &SearchOptions::default()).unwrap();
            set.check_hits(set.rows.row(row), 3, &result.hits);
            assert_eq!((result.hits[0].key, result.hits[0].distance), (keys[row], 0.0));
        }
    }
}

#[test]
fn distances_are_on_the_documented_scale() {
    let _watchdog = watchdog("scale");
    let rows = [3.0f32, 0.0, 0.0, 4.0, -3.0, 0.0, 0.0, 0.0];
    let expected = [
        (Metric::L2, [4.0, 16.0 + 1.0, 16.0, 1.0]),
        (Metric::InnerProduct, [3.0, 0.0, -3.0, 0.0]),
        (Metric::Cosine, [0.0, 2.0, 4.0, 2.0]),
    ];
    for (metric, by_row) in expected {
        let set =
            built_with(gleann_vector::Matrix::from_rows(&rows, 2), small_options(metric, 2), disk_dir());
        for engine in ENGINES {
            let hits = set.open(engine).search(&[1.0f32, 0.0], 4, &SearchOptions::default()).unwrap().hits;
            for hit in &hits {
                assert_eq!(hit.distance, by_row[hit.key as usize], "{metric}, row {}", hit.key);
                assert!(hit.distance != 0.0 || hit.distance.is_sign_positive(), "no negative zero");
            }
            assert_eq!(hits[0].key, if metric == Metric::L2 { 3 } else { 0 });
            // Equal distances come in the order of the rows.
            if metric != Metric::L2 {
                assert_eq!(hits.iter().map(|hit| hit.key).collect::<Vec<_>>(), [0, 1, 3, 2]);
            }
        }
    }
}

#[test]
fn zero_vectors_have_cosine_distance_two_from_everything() {
    let _watchdog = watchdog("zero vectors");
    let rows = [1.0f32, 0.0, 0.0, 0.0, 0.0, 0.0];
    let set =
        built_with(gleann_vector::Matrix::from_rows(&rows, 3), small_options(Metric::Cosine, 3), disk_dir());
    let index = set.open(EngineChoice::Auto);
    let ask = |query: [f32; 3]| -> Vec<(u64, f32)> {
        let hits = index.search(&query, 5, &SearchOptions::default()).unwrap().hits;
        hits.iter().map(|hit| (hit.key, hit.distance)).collect()
    };
    assert_eq!(ask([1.0, 0.0, 0.0]), [(0, 0.0), (1, 2.0)]);
    assert_eq!(ask([0.0; 3]), [(0, 2.0), (1, 2.0)]);
}

#[test]
fn tiny_indexes_give_what_they_have() {
    let _watchdog = watchdog("tiny");
    for rows in [0, 1, 2, 5, 17] {
        for metric in [Metric::L2, Metric::Cosine] {
            let set = built_with(clustered::<i8>(rows, 10, 7), small_options(metric, 10), disk_dir());
            let query = queries::<i8>(1, 10);
            for engine in ENGINES {
                let index = set.open(engine);
                assert_eq!(index.info().nodes, rows as u64);
                for kind in [SearchKind::Beam, SearchKind::Pipe] {
                    for (k, list) in [(1, 1), (1, 50), (10, 5), (35, 3), (3, 65_535)] {
                        let options = SearchOptions { list, kind, ..SearchOptions::default() };
                        let hits = index.search(query.row(0), k, &options).unwrap().hits;
                        set.check_hits(query.row(0), k, &hits);
                        if k >= rows {
                            assert_eq!(set.recall(query.row(0), &hits), if rows == 0 { 0.0 } else { 1.0 });
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_list_shorter_than_k_is_raised_to_k() {
    let _watchdog = watchdog("list below k");
    let set = built::<u8>(Metric::L2, 300, 16);
    let index = set.open(EngineChoice::Mmap);
    let query = queries::<u8>(1, 16);
    let ask = |list| {
        let options = SearchOptions { list, ..SearchOptions::default() };
        index.search(query.row(0), 40, &options).unwrap().hits
    };
    assert_eq!(ask(1), ask(40));
    assert_eq!(ask(1).len(), 40);
}

#[test]
fn duplicates_come_back_under_all_their_keys() {
    let _watchdog = watchdog("duplicates");
    let rows = gleann_vector::Matrix::from_rows(&[[7u8; 8]; 50].concat(), 8);
    let set = built_with(rows, small_options(Metric::L2, 8), disk_dir());
    let index = set.open(EngineChoice::Auto);
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        let options = SearchOptions { kind, ..SearchOptions::default() };
        let hits = index.search(&[7u8; 8], 50, &options).unwrap().hits;
        set.check_hits(&[7u8; 8], 50, &hits);
    }
}

#[test]
fn every_way_of_asking_gives_the_same_answer_whatever_threads_and_interleaving() {
    let _watchdog = watchdog("threads and interleaving");
    let set = built::<u8>(Metric::L2, 300, 16);
    let queries = queries::<u8>(70, 16);
    let search = SearchOptions { list: 20, ..SearchOptions::default() };
    let reference = set.open(EngineChoice::Mmap);
    let expected: Vec<_> = (0..queries.rows())
        .map(|query| reference.search(queries.row(query), 5, &search).unwrap().hits)
        .collect();
    for engine in ENGINES {
        for (threads, in_flight, pin) in [(1, 1, true), (7, 1, false), (0, 1024, true), (3, 2, true)] {
            let options = OpenOptions { threads, in_flight, pin, ..with_engine(engine) };
            let index = Index::open(set.path(), options).unwrap();
            let info = index.info();
            assert!(info.threads == threads || threads == 0 && info.threads > 0);
            for (query, expected) in expected.iter().enumerate() {
                let query = queries.row(query);
                assert_eq!(&index.search(query, 5, &search).unwrap().hits, expected);
                assert_eq!(&support::block_on(index.search_async(query, 5, &search)).unwrap().hits, expected);
            }
            let batch = index.search_batch(queries.as_slice(), 5, &search);
            assert_eq!(batch.len(), expected.len());
            for (found, expected) in batch.into_iter().zip(&expected) {
                assert_eq!(&found.unwrap().hits, expected);
            }
            assert!(index.search_batch::<u8>(&[], 5, &search).is_empty());
        }
    }
}

#[test]
fn buffered_reads_give_the_same_answers_as_direct_ones() {
    let _watchdog = watchdog("buffered");
    let set = built::<u8>(Metric::L2, 300, 16);
    let queries = queries::<u8>(5, 16);
    for engine in [EngineChoice::Glommio, EngineChoice::Pool] {
        let direct = set.open(engine);
        let options = OpenOptions { direct: Direct::Off, ..with_engine(engine) };
        let buffered = Index::open(set.path(), options).unwrap();
        assert!(!buffered.info().direct && buffered.info().warnings.is_empty());
        for query in 0..5 {
            let options = SearchOptions::default();
            let ask = |index: &Index| index.search(queries.row(query), 10, &options).unwrap();
            let (a, b) = (ask(&direct), ask(&buffered));
            assert_eq!((a.hits, a.stats.reads), (b.hits, b.stats.reads));
        }
    }
}
