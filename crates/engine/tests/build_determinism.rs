//! The same vectors, options and seed give the same bytes, whatever the number of threads and however often the build
//! was interrupted.
#![allow(clippy::unwrap_used)]

mod building;

use building::{StopAt, assert_sound, build_sound, clustered, file, files, options, sharded};
use gleann::{BuildError, BuildOptions, build};
use gleann_storage::IndexDirectory;
use gleann_vector::{Metric, Silent, VectorFile};
use std::path::Path;

#[test]
fn threads_do_not_change_the_index() {
    let dir = tempfile::tempdir().unwrap();
    for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
        let source = file(dir.path(), &clustered::<f32>(700, 40, 11));
        let whole = options(metric);
        for (name, options) in [("whole", whole.clone()), ("sharded", sharded(&whole, &source))] {
            let build = |threads: usize| {
                let out = dir.path().join(format!("{metric}-{name}-{threads}"));
                let report = build_sound(&source, &out, &BuildOptions { threads, ..options.clone() });
                assert_eq!(report.shards > 0, name == "sharded");
                files(&out)
            };
            assert!(build(1) == build(3), "{metric}, {name}");
        }
    }
}

#[test]
fn the_seed_changes_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<u8>(500, 16, 12));
    let [a, b] = [1, 2].map(|seed| {
        let out = dir.path().join(seed.to_string());
        build_sound(&source, &out, &BuildOptions { seed, ..options(Metric::L2) }).build_id
    });
    assert_ne!(a, b);
}

#[test]
fn an_interrupted_build_at_once_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<u8>(600, 24, 13));
    interrupt_everywhere(dir.path(), &source, &options(Metric::L2));
}

#[test]
fn an_interrupted_build_in_shards_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<f32>(600, 40, 14));
    interrupt_everywhere(dir.path(), &source, &sharded(&options(Metric::L2), &source));
}

/// Stops a build at each of its phases in turn and continues it.
fn interrupt_everywhere(dir: &Path, source: &VectorFile, options: &BuildOptions) {
    let expected = dir.join("expected");
    build_sound(source, &expected, options);
    let expected = files(&expected);
    // One build that is stopped at its first phase, continued up to its second, and so on; and one for each
    // phase that is stopped once.
    let often = dir.join("often");
    let (mut stops, mut continued) = (0, 0);
    for stop in 1.. {
        let once = dir.join(format!("once-{stop}"));
        let Err(error) = build(source, &once, options, &StopAt::phase(stop)) else { break };
        assert!(matches!(error, BuildError::Cancelled { .. }), "{error}");
        assert!(!IndexDirectory::is_index(&once));
        let report = build(source, &once, options, &Silent).unwrap();
        assert_sound(&once, source.rows());
        assert!(files(&once) == expected, "stopped at phase {stop}");
        continued += usize::from(report.continued_after.is_some());
        if !IndexDirectory::is_index(&often) {
            // Stopped, or done at last.
            drop(build(source, &often, options, &StopAt::phase(stop)));
        }
        stops = stop;
    }
    assert!(stops >= 8 && continued >= 5, "{stops} stops, {continued} continued");
    if !IndexDirectory::is_index(&often) {
        build(source, &often, options, &Silent).unwrap();
    }
    assert!(files(&often) == expected, "stopped often");
}

#[test]
fn another_build_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered::<u8>(500, 16, 15);
    let source = file(dir.path(), &rows);
    let out = dir.path().join("index");
    let options = options(Metric::L2);
    build(&source, &out, &options, &StopAt::phase(5)).unwrap_err();
    let degree = BuildOptions { degree: 17, ..options.clone() };
    let error = build(&source, &out, &degree, &Silent).unwrap_err().to_string();
    assert!(error.contains("degree 16 there, 17 now") && error.contains("restart"), "{error}");
    // The same shape and name, another content.
    let mut other = rows;
    other.row_mut(499)[15] ^= 1;
    let source = file(dir.path(), &other);
    let error = build(&source, &out, &options, &Silent).unwrap_err().to_string();
    assert!(error.contains("content xxh3"), "{error}");
    let restart = BuildOptions { restart: true, ..options };
    let report = build_sound(&source, &out, &restart);
    assert_eq!(report.continued_after, None);
}
