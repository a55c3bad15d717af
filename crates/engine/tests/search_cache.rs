//! Records held in memory: no read for them, the same neighbours, and never more bytes than allowed.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{CachePolicy, CacheSize, Index, Metric, OpenOptions, SearchKind, SearchOptions};
use gleann_vector::{FileFormat, VectorWriter};
use std::path::{Path, PathBuf};
use support::{Built, built, queries};

const ROWS: usize = 600;
const DIM: usize = 24;

fn open(set: &Built<u8>, cache: CachePolicy) -> Index {
    Index::open(set.path(), OpenOptions { cache, threads: 1, ..OpenOptions::default() }).unwrap()
}

/// Reads and hits of 20 queries, and the share of true neighbours among what they found.
fn run(set: &Built<u8>, index: &Index, kind: SearchKind) -> (u32, u32, f64) {
    let queries = queries::<u8>(20, DIM);
    let options = SearchOptions { list: 60, kind, ..SearchOptions::default() };
    let (mut reads, mut hits, mut recall) = (0, 0, 0.0);
    for row in 0..20 {
        let result = index.search(queries.row(row), 10, &options).unwrap();
        assert_eq!(result.stats.bytes, u64::from(result.stats.reads) * 4096);
        reads += result.stats.reads;
        hits += result.stats.cache_hits;
        set.check_hits(queries.row(row), 10, &result.hits);
        recall += set.recall(queries.row(row), &result.hits) / 20.0;
    }
    (reads, hits, recall)
}

fn policies(size: CacheSize, file: PathBuf) -> [CachePolicy; 3] {
    let hot = |queries| CachePolicy::Hot { size, queries };
    [CachePolicy::Sssp(size), hot(None), hot(Some(file))]
}

/// A sample of 50 queries in a file.
fn query_file(folder: &Path, dim: usize) -> PathBuf {
    let file = folder.join("sample.u8bin");
    let mut writer = VectorWriter::<u8>::create(&file, FileFormat::U8bin, dim).unwrap();
    writer.push_rows(queries::<u8>(50, dim).as_slice()).unwrap();
    writer.finish().unwrap();
    file
}

#[test]
fn what_is_held_is_not_read() {
    let set = built::<u8>(Metric::L2, ROWS, DIM);
    let folder = tempfile::tempdir().unwrap();
    let file = query_file(folder.path(), DIM);
    for kind in [SearchKind::Beam, SearchKind::Pipe] {
        let (plain, none, floor) = run(&set, &open(&set, CachePolicy::None), kind);
        assert_eq!(none, 0);
        for policy in policies(CacheSize::Records { ppm: 200_000 }, file.clone()) {
            let index = open(&set, policy.clone());
            assert_eq!(index.info().cached_records, ROWS as u64 / 5, "{policy}");
            let (reads, hits, recall) = run(&set, &index, kind);
            assert!(hits > 0 && reads < plain, "{policy}: {reads} reads and {hits} hits, {plain} without");
            assert!(recall >= floor - 0.02, "{policy}: recall {recall}, {floor} without");
        }
        for policy in policies(CacheSize::Records { ppm: 1_000_000 }, file.clone()) {
            let (reads, hits, _) = run(&set, &open(&set, policy.clone()), kind);
            // Records that no query of the sample wanted are not held.
            assert!(
                if matches!(policy, CachePolicy::Sssp(_)) { reads == 0 } else { reads < hits },
                "{policy}"
            );
        }
    }
}

#[test]
fn a_budget_in_bytes_is_kept() {
    let set = built::<u8>(Metric::L2, ROWS, DIM);
    let folder = tempfile::tempdir().unwrap();
    let file = query_file(folder.path(), DIM);
    let base = open(&set, CachePolicy::None).info().memory_bytes;
    for budget in [0, 1000, 10_000, 1 << 30] {
        for policy in policies(CacheSize::Bytes(budget), file.clone()) {
            let info = open(&set, policy.clone()).info().clone();
            let held = info.memory_bytes - base;
            assert!(held <= budget, "{policy}: {held} bytes");
            assert!(budget < 1000 || info.cached_records > 0, "{policy}");
        }
    }
}

#[test]
fn a_sample_that_does_not_fit_is_refused() {
    let set = built::<u8>(Metric::L2, 50, DIM);
    let size = CacheSize::Bytes(1 << 20);
    let folder = tempfile::tempdir().unwrap();
    let other = query_file(folder.path(), DIM + 1);
    for (file, part) in
        [(other, "25 × u8, the index of 24 × u8"), (PathBuf::from("/nowhere.u8bin"), "nowhere")]
    {
        let policy = CachePolicy::Hot { size, queries: Some(file) };
        let options = OpenOptions { cache: policy, ..OpenOptions::default() };
        let error = Index::open(set.path(), options).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}
