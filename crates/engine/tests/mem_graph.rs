//! The navigation graph from the build to the search: every type, metric and sampling, from no row on; what is
//! refused; what a budget, an interruption and damage do to it.
#![allow(clippy::unwrap_used)]

mod building;

use building::{StopAt, assert_sound, build_sound, clustered, file, files, options};
use gleann::{
    BuildError, BuildOptions, BuildPhase, Entry, Index, MemGraphOptions, OpenOptions, OptionsError, Sampling,
    SearchError, SearchOptions, build, build_from_rows, check_index,
};
use gleann_storage::{IndexDirectory, MemberKind, PointFormat, StoredMemGraph, write_mem_graph};
use gleann_vector::{Element, Matrix, Metric, Silent};
use half::f16;
use std::path::Path;

const SAMPLINGS: [Sampling; 2] = [Sampling::Random, Sampling::Clustered];

fn with(metric: Metric, sampling: Sampling, share: f64) -> BuildOptions {
    let mem_graph = Some(MemGraphOptions { sampling, share, degree: 8, list: 16 });
    BuildOptions { mem_graph, ..options(metric) }
}

fn begin(points: u16) -> SearchOptions {
    let entry = Entry::MemGraph { list: points, points };
    SearchOptions { list: 40, entry, ..SearchOptions::default() }
}

fn open(out: &Path) -> Index {
    Index::open(out, OpenOptions { threads: 1, ..OpenOptions::default() }).unwrap()
}

fn stored(out: &Path) -> StoredMemGraph {
    IndexDirectory::open(out).unwrap().mem_graph().unwrap().unwrap()
}

#[test]
fn every_type_metric_and_sampling() {
    for metric in Metric::ALL {
        for sampling in SAMPLINGS {
            for_type::<f32>(metric, sampling);
            for_type::<f16>(metric, sampling);
            for_type::<u8>(metric, sampling);
            for_type::<i8>(metric, sampling);
        }
    }
}

fn for_type<T: Element>(metric: Metric, sampling: Sampling) {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered::<T>(400, 17, 3);
    let out = dir.path().join("index");
    build_sound(&file(dir.path(), &rows), &out, &with(metric, sampling, 0.1));
    let stored = stored(&out);
    assert_eq!((stored.nodes.len(), stored.format), (40, PointFormat::Codes), "{metric} {sampling}");
    // The points are the codes that the index has of the same nodes.
    let codes = IndexDirectory::open(&out).unwrap().codes().unwrap().unwrap();
    for (place, &node) in stored.nodes.iter().enumerate() {
        assert_eq!(stored.points.row(place), codes.row(node as usize));
    }
    let index = open(&out);
    let info = index.info().mem_graph.unwrap();
    assert_eq!(info.nodes, 40);
    assert!(info.bytes < index.info().memory_bytes);
    // It begins elsewhere, and comes to the same.
    let mut common = 0;
    for row in (0..400).step_by(10) {
        let keys = |options: &SearchOptions| -> Vec<u64> {
            index.search(rows.row(row), 10, options).unwrap().hits.iter().map(|hit| hit.key).collect()
        };
        let from_medoid = keys(&SearchOptions { list: 40, ..SearchOptions::default() });
        common += keys(&begin(5)).iter().filter(|key| from_medoid.contains(key)).count();
    }
    assert!(common >= 380, "{metric} {} {sampling}: {common} of 400 in common", T::TYPE);
}

#[test]
fn no_row_to_fifty_rows() {
    for rows in [0u32, 1, 2, 50] {
        for sampling in SAMPLINGS {
            for share in [0.001, 1.0] {
                let dir = tempfile::tempdir().unwrap();
                let data = clustered::<i8>(rows as usize, 10, 1);
                let out = dir.path().join("index");
                build_sound(&file(dir.path(), &data), &out, &with(Metric::L2, sampling, share));
                let expected = if share == 1.0 { rows } else { rows.min(1) };
                let stored = stored(&out);
                assert_eq!(stored.nodes.len() as u32, expected, "{sampling} {share} of {rows}");
                assert_eq!(stored.entry.is_none(), rows == 0);
                let index = open(&out);
                let query = vec![3i8; 10];
                let hits = index.search(&query, 50, &begin(10)).unwrap().hits;
                assert_eq!(hits, index.search(&query, 50, &SearchOptions::default()).unwrap().hits);
                assert_eq!(hits.len() as u32, rows);
            }
        }
    }
}

#[test]
fn equal_rows_are_one_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let rows = Matrix::from_rows(&vec![7u8; 1000 * 16], 16);
    let out = dir.path().join("index");
    build_sound(&file(dir.path(), &rows), &out, &with(Metric::L2, Sampling::Clustered, 0.05));
    assert_eq!(stored(&out).nodes.len(), 1);
    let out = dir.path().join("random");
    build_sound(&file(dir.path(), &rows), &out, &with(Metric::L2, Sampling::Random, 0.05));
    assert_eq!(stored(&out).nodes.len(), 50);
}

#[test]
fn an_index_without_one_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("index");
    let rows = clustered::<u8>(100, 16, 4);
    build_sound(&file(dir.path(), &rows), &out, &options(Metric::L2));
    let index = open(&out);
    assert_eq!(index.info().mem_graph, None);
    let error = index.search(rows.row(0), 3, &begin(4)).unwrap_err();
    assert!(matches!(error, SearchError::Options(OptionsError::NoMemGraph)), "{error}");
    assert!(error.to_string().contains("--mem-graph"), "{error}");
    // Others are answered as before.
    assert_eq!(index.search(rows.row(0), 3, &SearchOptions::default()).unwrap().hits.len(), 3);
}

#[test]
fn impossible_options_are_refused_before_any_work() {
    let rows = clustered::<u8>(10, 16, 4);
    let dir = tempfile::tempdir().unwrap();
    for share in [0.0, -1.0, 1.5, f64::NAN] {
        let out = dir.path().join("index");
        let options = with(Metric::L2, Sampling::Random, share);
        let error = build_from_rows(&rows, &out, &options, &Silent).unwrap_err();
        assert!(matches!(error, BuildError::Option { option: "mem-graph", .. }), "{error}");
        assert!(!out.exists());
    }
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<f32>(3000, 24, 8));
    for sampling in SAMPLINGS {
        let with = |threads, seed| {
            let out = dir.path().join(format!("{sampling} {threads} {seed}"));
            build_sound(
                &source,
                &out,
                &BuildOptions { threads, seed, ..with(Metric::Cosine, sampling, 0.1) },
            );
            files(&out)
        };
        let one = with(1, 0);
        assert!(one == with(3, 0));
        assert_ne!(one["mem.graph"][64..], with(1, 1)["mem.graph"][64..]);
    }
}

#[test]
fn a_stopped_build_continues_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<u8>(2000, 16, 9));
    let options = with(Metric::L2, Sampling::Clustered, 0.1);
    let expected = dir.path().join("expected");
    build_sound(&source, &expected, &options);
    let out = dir.path().join("index");
    let mut stopped_after = Vec::new();
    for stop in 1.. {
        match build(&source, &out, &options, &StopAt::phase(stop)) {
            Err(BuildError::Cancelled { finished, .. }) => stopped_after.extend(finished),
            built => {
                built.unwrap();
                break;
            }
        }
        if stop < 3 {
            continue; // nothing is kept yet
        }
        // Another navigation graph is another build.
        let without = BuildOptions { mem_graph: None, ..options.clone() };
        for other in [without, with(Metric::L2, Sampling::Random, 0.1)] {
            let error = build(&source, &out, &other, &Silent).unwrap_err().to_string();
            assert!(error.contains("mem_graph"), "{error}");
        }
    }
    assert!(stopped_after.contains(&BuildPhase::Pages), "stopped after {stopped_after:?}");
    assert_sound(&out, source.rows());
    assert!(files(&out) == files(&expected));
}

#[test]
fn a_plan_shows_it_and_a_budget_bounds_it() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<f32>(4000, 64, 10));
    let out = dir.path().join("index");
    for sampling in SAMPLINGS {
        let with = |memory_budget| BuildOptions { memory_budget, ..with(Metric::L2, sampling, 0.5) };
        let plan = with(1 << 30).plan(&source, &out).unwrap();
        let planned = plan.mem_graph.unwrap();
        assert_eq!(planned.nodes, 2000);
        let without = BuildOptions { mem_graph: None, ..with(1 << 30) }.plan(&source, &out).unwrap();
        assert_eq!(plan.index_bytes - without.index_bytes, planned.bytes);
        let peak = plan.memory.iter().find(|phase| phase.phase == "memgraph").unwrap().bytes;
        let error = with(1 << 20).plan(&source, &out).unwrap_err().to_string();
        assert!(error.contains("too small"), "{error}");
        assert!(with(peak + (64 << 20)).plan(&source, &out).is_ok());
    }
    let report = build_sound(&source, &out, &with(Metric::L2, Sampling::Random, 0.5));
    let bytes = report.members["mem.graph"];
    let most = with(Metric::L2, Sampling::Random, 0.5).plan(&source, &dir.path().join("other")).unwrap();
    assert!(bytes <= most.mem_graph.unwrap().bytes);
    assert_eq!(report.phases.last().unwrap().phase.name(), "memgraph");
}

/// Puts another navigation graph in the place of a built one, and returns what a check finds.
fn found(change: impl FnOnce(&mut StoredMemGraph)) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("index");
    build_sound(
        &file(dir.path(), &clustered::<u8>(500, 16, 20)),
        &out,
        &with(Metric::L2, Sampling::Random, 0.1),
    );
    let mut manifest = IndexDirectory::open(&out).unwrap().manifest().clone();
    let mut graph = stored(&out);
    change(&mut graph);
    manifest.members.retain(|member| member.kind != MemberKind::MemGraph);
    manifest.members.push(write_mem_graph(&out, manifest.build_id, &graph).unwrap());
    manifest.publish(&out).unwrap();
    check_index(&out, &Silent).unwrap().problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_check_finds_what_is_wrong() {
    assert_eq!(found(|_| {}), [""; 0]);
    let problems = found(|graph| graph.points.row_mut(7)[2] ^= 1);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("mem.graph: the point of node"), "{problems:?}");
    let problems = found(|graph| {
        let lost = if graph.entry == Some(9) { 10 } else { 9 };
        for row in graph.lists.chunks_exact_mut(graph.degree + 1) {
            let kept: Vec<u32> = row[1..=row[0] as usize].iter().copied().filter(|&id| id != lost).collect();
            row.fill(0);
            row[0] = kept.len() as u32;
            row[1..=kept.len()].copy_from_slice(&kept);
        }
    });
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("cannot be reached from the graph's entry"), "{problems:?}");
}
