//! Builds at the edges: no rows, few rows, equal rows, zero rows, records over several pages, every type and metric,
//! and what is refused before any data is read.
#![allow(clippy::unwrap_used)]

mod building;

use building::{assert_sound, build_sound, clustered, file, options};
use gleann::{BuildError, BuildOptions, GraphPlan, build, build_from_rows};
use gleann_storage::IndexDirectory;
use gleann_vector::{Element, Matrix, Metric, Silent};
use half::f16;

#[test]
fn no_row_to_ten_rows() {
    for rows in [0, 1, 2, 10] {
        let dir = tempfile::tempdir().unwrap();
        let source = file(dir.path(), &clustered::<i8>(rows, 10, 1));
        let options = BuildOptions { degree: 60, build_list: 75, pq_bytes: 5, ..options(Metric::L2) };
        let out = dir.path().join("index");
        let report = build_sound(&source, &out, &options);
        assert_eq!((report.rows, report.unreachable), (rows as u64, 0));
        let manifest = IndexDirectory::open(&out).unwrap().manifest().clone();
        assert_eq!(manifest.entry.is_none(), rows == 0);
    }
}

#[test]
fn fewer_rows_than_centroids() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<f32>(111, 24, 2));
    build_sound(&source, &dir.path().join("index"), &options(Metric::L2));
}

#[test]
fn equal_rows_can_all_be_reached() {
    let dir = tempfile::tempdir().unwrap();
    let rows = Matrix::from_rows(&vec![7u8; 1000 * 16], 16);
    let report = build_sound(&file(dir.path(), &rows), &dir.path().join("index"), &options(Metric::L2));
    assert_eq!(report.degrees.iter().sum::<u64>(), 1000);
}

#[test]
fn every_type_and_metric() {
    for metric in Metric::ALL {
        for_type::<f32>(metric);
        for_type::<f16>(metric);
        for_type::<u8>(metric);
        for_type::<i8>(metric);
    }
}

fn for_type<T: Element>(metric: Metric) {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = clustered::<T>(200, 17, 3);
    if metric == Metric::Cosine {
        // Vectors without a direction are vectors all the same.
        rows.row_mut(5).fill(T::zeroed());
        rows.row_mut(199).fill(T::zeroed());
    }
    let out = dir.path().join("index");
    build_sound(&file(dir.path(), &rows), &out, &options(metric));
    let index = IndexDirectory::open(&out).unwrap();
    assert_eq!((index.manifest().metric, index.manifest().layout.element()), (metric, T::TYPE));
    let mut next = 0;
    let graph = index.graph().unwrap();
    let mut all_same = true;
    graph
        .for_each_record(&Silent, |node, record| {
            next = node.index();
            all_same &= record.vector::<T>() == rows.row(next);
        })
        .unwrap();
    assert!(all_same && next == 199);
}

#[test]
fn records_over_several_pages() {
    // 1007 dimensions still fit a page of 4096 bytes with 15 neighbours; 1008 do not with 16.
    for (dim, degree, pages) in [(1007, 14, 1), (1008, 16, 2), (1024, 16, 2), (1536, 16, 2), (8192, 16, 9)] {
        let dir = tempfile::tempdir().unwrap();
        let source = file(dir.path(), &clustered::<f32>(60, dim, 4));
        let options = BuildOptions { degree, ..options(Metric::L2) };
        let report = build_sound(&source, &dir.path().join("index"), &options);
        assert_eq!((report.records_per_block, report.pages_per_block), (1, pages), "{dim} dimensions");
        assert_eq!(report.overlap_ratio, None);
    }
}

#[test]
fn rows_that_are_no_numbers_are_named() {
    let mut rows = clustered::<f32>(300, 8, 5);
    for (bad, message) in [(f32::NAN, "NaN; every component must be finite"), (1e20, "at most 1e16")] {
        rows.row_mut(211)[3] = bad;
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("index");
        let error = build(&file(dir.path(), &rows), &out, &options(Metric::L2), &Silent).unwrap_err();
        assert!(matches!(error, BuildError::Component { row: 211, component: 3, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("data.fbin: row 211, component 3") && text.contains(message), "{text}");
        assert!(!IndexDirectory::is_index(&out));
    }
}

#[test]
fn rows_in_memory_and_on_disk_give_the_same_index() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered::<u8>(400, 12, 6);
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    build(&file(dir.path(), &rows), &a, &options(Metric::L2), &Silent).unwrap();
    build_from_rows(&rows, &b, &options(Metric::L2), &Silent).unwrap();
    assert_eq!(building::files(&a), building::files(&b));
}

#[test]
fn keys_are_stored_and_must_be_unique() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<u8>(50, 12, 7));
    let mut keys: Vec<u64> = (0..50).map(|row| u64::MAX - row * row).collect();
    let with = |keys: &[u64]| BuildOptions { keys: Some(keys.to_vec()), ..options(Metric::L2) };
    let out = dir.path().join("index");
    build_sound(&source, &out, &with(&keys));
    assert_eq!(IndexDirectory::open(&out).unwrap().keys().unwrap(), Some(keys.clone()));
    keys[30] = keys[4];
    let error = build(&source, &dir.path().join("other"), &with(&keys), &Silent).unwrap_err();
    assert!(error.to_string().contains("rows 4 and 30 have the same key"), "{error}");
    let error = with(&keys[..49]).plan(&source, &dir.path().join("third")).unwrap_err();
    assert!(error.to_string().contains("keys is 49 keys; expected 50"), "{error}");
}

#[test]
fn impossible_options_name_what_works() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<f32>(100, 20, 8));
    let base = options(Metric::L2);
    let refused = |options: BuildOptions| {
        let out = dir.path().join("index");
        let error = options.plan(&source, &out).unwrap_err().to_string();
        assert_eq!(build(&source, &out, &options, &Silent).unwrap_err().to_string(), error);
        assert!(!out.exists(), "refused, but something was made");
        error
    };
    for pq_bytes in [0, 21] {
        let error = refused(BuildOptions { pq_bytes, ..base.clone() });
        assert!(error.contains("expected 1 to 20"), "{error}");
    }
    assert!(refused(BuildOptions { page_size: 512, ..base.clone() }).contains("4096, 8192 or 16384"));
    assert!(refused(BuildOptions { degree: 0, ..base.clone() }).contains("1 to 1024"));
    assert!(refused(BuildOptions { build_list: 0, ..base.clone() }).contains("best 1 to 2 times the degree"));
    assert!(refused(BuildOptions { alpha: f32::NAN, ..base.clone() }).contains("1.2"));
}

#[test]
fn a_budget_that_is_too_small_names_the_least_that_works() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<f32>(3000, 64, 9));
    let out = dir.path().join("index");
    let with = |memory_budget| BuildOptions { memory_budget, ..options(Metric::L2) }.plan(&source, &out);
    let mut budget = 4096;
    for _ in 0..8 {
        match with(budget) {
            Err(BuildError::Budget { minimum, .. }) => {
                assert!(minimum > budget);
                budget = minimum;
            }
            planned => {
                let plan = planned.unwrap();
                assert!(plan.memory.iter().all(|phase| phase.bytes <= budget));
                assert!(matches!(plan.graph, GraphPlan::Sharded { .. }));
                return;
            }
        }
    }
    panic!("the named minimum never works");
}

#[test]
fn what_is_in_the_way_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<u8>(50, 12, 10));
    let message =
        |out: &std::path::Path| build(&source, out, &options(Metric::L2), &Silent).unwrap_err().to_string();
    let full = dir.path().join("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("thesis.tex"), "precious").unwrap();
    assert!(message(&full).contains("is not empty"));
    assert!(message(&full.join("thesis.tex")).contains("is not a directory"));
    let out = dir.path().join("index");
    build_sound(&source, &out, &options(Metric::L2));
    assert!(message(&out).contains("is an index already"));
    let again = BuildOptions { restart: true, ..options(Metric::L2) };
    assert!(build(&source, &out, &again, &Silent).unwrap_err().to_string().contains("is an index already"));
    assert_sound(&out, 50);
}
