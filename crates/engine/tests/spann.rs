//! An index of postings behind the same calls: built, checked, opened on every engine, searched against brute force.
#![allow(clippy::unwrap_used)]

mod support;

use gleann::{
    BuildError, Element, Entry, Index, IndexKind, Key, Matrix, Metric, SearchError, SearchKind,
    SearchOptions, Silent, SpannOptions, Width, build_from_rows, build_spann, build_spann_from_rows,
    check_index,
};
use gleann_storage::{IndexDirectory, write_report};
use gleann_vector::{FileFormat, Progress, VectorFile, VectorWriter};
use half::f16;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{ENGINES, clustered, disk_dir, queries, small_options, user_distance, watchdog, with_engine};

fn options(metric: Metric) -> SpannOptions {
    SpannOptions {
        metric,
        posting_pages: Some(1),
        centroid_degree: 12,
        centroid_list: 24,
        threads: 2,
        memory_budget: 1 << 30,
        ..SpannOptions::default()
    }
}

/// Every file but the report, by name.
fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    named
        .filter(|(name, _)| name != "build.json")
        .map(|(name, path)| (name, std::fs::read(path).unwrap()))
        .collect()
}

/// Every posting read: what is found is what brute force finds, by the user's keys.
fn exact<T: Element>(metric: Metric) {
    let dir = disk_dir();
    let out = dir.path().join("index");
    let (rows, asked) = (clustered::<T>(400, 24, 7), queries::<T>(9, 24));
    let keys: Vec<Key> = (0..400).map(|row| 10_000 - 7 * row).collect();
    let options = SpannOptions { keys: Some(keys.clone()), ..options(metric) };
    build_spann_from_rows(&rows, &out, &options, &Silent).unwrap();
    let check = check_index(&out, &Silent).unwrap();
    assert_eq!(check.problems, []);
    for engine in ENGINES {
        let index = Index::open(&out, with_engine(engine)).unwrap();
        assert!(matches!(index.info().kind, IndexKind::Postings { .. }));
        assert!(index.info().memory_bytes > 0);
        for kind in [SearchKind::Beam, SearchKind::Pipe] {
            let search =
                SearchOptions { list: 60_000, kind, width: Width::Fixed(8), ..SearchOptions::default() };
            for (result, query) in index.search_batch(asked.as_slice(), 10, &search).into_iter().zip(0..) {
                let (hits, query) = (result.unwrap().hits, asked.row(query));
                let mut truth: Vec<f64> =
                    (0..400).map(|row| user_distance(metric, query, rows.row(row))).collect();
                let sign = if metric == Metric::InnerProduct { -1.0 } else { 1.0 };
                truth.sort_by(|a, b| (sign * a).total_cmp(&(sign * b)));
                assert_eq!(hits.len(), 10);
                for (hit, truth) in hits.iter().zip(&truth) {
                    let row = keys.iter().position(|&key| key == hit.key).unwrap();
                    assert!((f64::from(hit.distance) - truth).abs() <= 1e-4 * truth.abs().max(1.0));
                    let own = user_distance(metric, query, rows.row(row));
                    assert!(
                        (own - truth).abs() <= 1e-4 * truth.abs().max(1.0),
                        "the key is that of the vector"
                    );
                }
            }
        }
    }
}

#[test]
fn every_metric_type_and_engine_finds_what_brute_force_finds() {
    let _watchdog = watchdog("spann");
    for metric in Metric::ALL {
        exact::<f32>(metric);
        exact::<u8>(metric);
    }
    exact::<f16>(Metric::L2);
    exact::<i8>(Metric::Cosine);
}

#[test]
fn tiny_indexes_are_built_checked_and_searched() {
    let dir = disk_dir();
    for rows in [0usize, 1, 2, 5] {
        let out = dir.path().join(rows.to_string());
        let data = clustered::<f32>(rows, 6, 1);
        let report = build_spann_from_rows(&data, &out, &options(Metric::L2), &Silent).unwrap();
        assert_eq!(report.rows, rows as u64);
        let check = check_index(&out, &Silent).unwrap();
        assert_eq!((check.problems, check.reachable), (vec![], Some(report.postings)));
        let index = Index::open(&out, with_engine(gleann::EngineChoice::Pool)).unwrap();
        let hits = index.search(&[0.0f32; 6], 3, &SearchOptions::default()).unwrap().hits;
        assert_eq!(hits.len(), rows.min(3));
    }
}

#[test]
fn file_and_rows_and_any_number_of_threads_give_the_same_bytes() {
    let dir = disk_dir();
    let rows = clustered::<u8>(900, 16, 3);
    let path = dir.path().join("data.u8bin");
    let mut writer = VectorWriter::<u8>::create(&path, FileFormat::U8bin, 16).unwrap();
    writer.push_rows(rows.as_slice()).unwrap();
    writer.finish().unwrap();
    let source = VectorFile::open(&path).unwrap();
    let build = |name: &str, threads| {
        let out = dir.path().join(name);
        build_spann(&source, &out, &SpannOptions { threads, ..options(Metric::L2) }, &Silent).unwrap();
        files(&out)
    };
    let one = build("one", 1);
    assert!(one == build("three", 3));
    let out = dir.path().join("rows");
    let report = build_spann_from_rows(&rows, &out, &options(Metric::L2), &Silent).unwrap();
    assert!(one == files(&out));
    assert_eq!(report.copies.iter().sum::<u64>(), 900);
    assert_eq!(report.copies[0], 0, "every vector is in some posting");
    assert!(report.mean_copies > 1.5, "{}", report.mean_copies);
}

struct StopAt(usize, AtomicUsize);

impl Progress for StopAt {
    fn phase(&self, _: &str, _: u64) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed) >= self.0
    }
}

#[test]
fn a_stopped_build_is_no_index_and_is_built_anew() {
    let dir = disk_dir();
    let rows = clustered::<u8>(600, 16, 3);
    let expected = dir.path().join("expected");
    build_spann_from_rows(&rows, &expected, &options(Metric::L2), &Silent).unwrap();
    let out = dir.path().join("stopped");
    let mut stopped = 0;
    for phase in 1..20 {
        match build_spann_from_rows(&rows, &out, &options(Metric::L2), &StopAt(phase, AtomicUsize::new(0))) {
            Err(BuildError::Cancelled { .. }) => {
                assert!(!IndexDirectory::is_index(&out));
                stopped += 1;
            }
            Ok(_) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(stopped >= 3, "{stopped}");
    assert!(files(&expected) == files(&out));
    assert!(!out.join(".build").exists());
    let again = build_spann_from_rows(&rows, &out, &options(Metric::L2), &Silent).unwrap_err().to_string();
    assert!(again.contains("is an index already"), "{again}");
}

#[test]
fn what_does_not_go_is_refused_with_the_reason() {
    let dir = disk_dir();
    let rows = clustered::<u8>(300, 16, 3);
    let out = dir.path().join("index");
    let refused = |options: SpannOptions| {
        build_spann_from_rows(&rows, &out, &options, &Silent).unwrap_err().to_string()
    };
    let plain = || options(Metric::L2);
    for (options, named) in [
        (SpannOptions { memory_budget: 1 << 20, ..plain() }, "too small to cluster the vectors"),
        (SpannOptions { posting_pages: Some(65), ..plain() }, "posting_pages is 65"),
        (SpannOptions { cluster: Some(100_000), ..plain() }, "cluster is 100000"),
        (SpannOptions { replicas: 0, ..plain() }, "replicas is 0; expected 1 to 64"),
        (SpannOptions { closure: f32::NAN, ..plain() }, "closure is NaN"),
        (SpannOptions { centroid_degree: 0, ..plain() }, "degree 0 is not supported"),
        (SpannOptions { keys: Some(vec![1]), ..plain() }, "keys is 1 keys; expected 300"),
        (SpannOptions { keys: Some(vec![1; 300]), ..plain() }, "same key 1"),
    ] {
        let message = refused(options);
        assert!(message.contains(named), "{message}");
    }
    // An interrupted build of a graph is not ours to continue.
    let graph = small_options(Metric::L2, 16);
    let other = dir.path().join("graph");
    build_from_rows(&rows, &other, &graph, &StopAt(3, AtomicUsize::new(0))).unwrap_err();
    let message = build_spann_from_rows(&rows, &other, &plain(), &Silent).unwrap_err().to_string();
    assert!(message.contains("system graph there, spann now"), "{message}");
}

#[test]
fn searches_refuse_what_means_nothing_to_postings() {
    let dir = disk_dir();
    let out = dir.path().join("index");
    build_spann_from_rows(&clustered::<u8>(300, 16, 3), &out, &options(Metric::L2), &Silent).unwrap();
    let index = Index::open(&out, with_engine(gleann::EngineChoice::Pool)).unwrap();
    for options in [
        SearchOptions { entry: Entry::MEM_GRAPH, ..SearchOptions::default() },
        SearchOptions { width: Width::DYNAMIC, ..SearchOptions::default() },
    ] {
        let error = index.search(&[0u8; 16], 1, &options).unwrap_err();
        assert!(matches!(error, SearchError::Options(_)), "{error}");
        assert!(error.to_string().contains("an index of postings"), "{error}");
    }
    assert!(matches!(
        index.search(&[0.0f32; 16], 1, &SearchOptions::default()),
        Err(SearchError::Element { .. })
    ));
}

#[test]
fn damage_is_found_by_the_check_and_by_searches() {
    let dir = disk_dir();
    let out = dir.path().join("index");
    let rows: Matrix<u8> = clustered(500, 16, 3);
    build_spann_from_rows(&rows, &out, &options(Metric::L2), &Silent).unwrap();
    let problems = || -> Vec<String> {
        check_index(&out, &Silent).unwrap().problems.iter().map(ToString::to_string).collect()
    };
    assert_eq!(problems(), [""; 0]);
    let index = IndexDirectory::open(&out).unwrap();
    let report = index.report().unwrap();
    let mut changed = report.clone();
    changed.insert("copies".into(), vec![1u64].into());
    write_report(&out, index.manifest().build_id, changed).unwrap();
    assert_eq!(problems(), ["build.json: \"copies\" is not that of the index"]);
    write_report(&out, index.manifest().build_id, report).unwrap();
    for (name, at) in [("postings.gln", 4096 + 100), ("centroids.gln", 70)] {
        let path = out.join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        assert!(problems().iter().any(|problem| problem.starts_with(name)), "{:?}", problems());
        let opened = Index::open(&out, with_engine(gleann::EngineChoice::Pool));
        let message = match opened {
            Err(error) => error.to_string(),
            Ok(index) => {
                let options = SearchOptions { list: 60_000, ..SearchOptions::default() };
                index.search(rows.row(0), 1, &options).unwrap_err().to_string()
            }
        };
        assert!(message.contains(name) && message.contains("checksum"), "{message}");
        std::fs::write(&path, &whole).unwrap();
    }
}
