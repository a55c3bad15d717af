//! Indexes that begin empty.

use crate::model::{BACKENDS, DIM, Model, everything, new_vectors, open, options};
use crate::support::{disk_dir, small_options, watchdog};
use gleann::{
    Backend, BuildOptions, CodePlacement, CreateError, Durability, EngineChoice, Index, MemGraphOptions,
    Metric, OpenOptions, SearchOptions, UpdateOptions, check_index,
};
use gleann_vector::{ElementType, Silent};
use std::collections::BTreeMap;

#[test]
fn an_index_of_nothing_takes_vectors_and_becomes_a_graph() {
    let _watchdog = watchdog("an index of nothing");
    for (backend, metric) in [(Backend::Odin, Metric::L2), (Backend::Fresh, Metric::L2)] {
        let dir = disk_dir();
        let path = dir.path().join("index");
        let mem_graph =
            Some(MemGraphOptions { share: 0.05, degree: 8, list: 16, ..MemGraphOptions::default() });
        let build = BuildOptions { mem_graph, ..small_options(metric, DIM) };
        Index::create(&path, ElementType::F32, DIM, &build, backend).unwrap();
        assert_eq!(check_index(&path, &Silent).unwrap().problems, []);
        let mut model = Model::<f32>(BTreeMap::new());
        let vectors = new_vectors::<f32>(300, 3);
        let index = open(&path);
        model.check(&index, &format!("{backend}: nothing"));
        assert_eq!(index.search(&vectors[0], 10, &SearchOptions::default()).unwrap().hits, []);
        index.merge().unwrap();
        for (key, vector) in (0u64..40).zip(&vectors) {
            model.insert(&index, key * 3, vector);
        }
        model.delete(&index, 0);
        model.delete(&index, 1);
        model.upsert(&index, 3, &vectors[100]);
        model.check(&index, &format!("{backend}: buffered"));
        drop(index);
        let index = open(&path);
        model.check(&index, &format!("{backend}: buffered, opened again"));
        let copy = dir.path().join("copy");
        index.snapshot(&copy).unwrap();
        model.check(&open(&copy), &format!("{backend}: a snapshot of what is buffered"));
        index.merge().unwrap();
        model.check(&index, &format!("{backend}: built"));
        assert_eq!(
            index.live_stats().unwrap().figures.free as usize + model.0.len(),
            places(&index, model.0.len())
        );
        for (key, vector) in (1000u64..).zip(&vectors[40..]) {
            model.insert(&index, key, vector);
        }
        model.check(&index, &format!("{backend}: built, and more"));
        drop(index);
        let found = check_index(&path, &Silent).unwrap();
        assert_eq!((found.problems, found.rows > 0), (vec![], true));
        let index = open(&path);
        model.check(&index, &format!("{backend}: built, and more, opened again"));
        index.compact().unwrap();
        model.check(&index, &format!("{backend}: compacted"));
        drop(index);
        let index = open(&path);
        assert_eq!(index.info().mem_graph.unwrap().nodes, (model.0.len() as f64 * 0.05).round() as u64);
        // And back to nothing.
        let keys: Vec<u64> = model.0.keys().copied().collect();
        keys.iter().for_each(|&key| model.delete(&index, key));
        index.compact().unwrap();
        model.check(&index, &format!("{backend}: nothing again"));
        model.insert(&index, 5, &vectors[5]);
        drop(index);
        model.check(&open(&path), &format!("{backend}: one, opened again"));
    }
}

fn places(index: &Index, nodes: usize) -> usize {
    let layout = index.info().layout;
    layout.blocks(nodes as u64) as usize * layout.records_per_block()
}

#[test]
fn a_graph_is_built_in_the_background_once_there_are_vectors_enough() {
    let _watchdog = watchdog("bootstrap");
    for backend in BACKENDS {
        let dir = disk_dir();
        let path = dir.path().join("index");
        Index::create(&path, ElementType::U8, DIM, &small_options(Metric::L2, DIM), backend).unwrap();
        let updates =
            UpdateOptions { bootstrap: 300, durability: Durability::None, ..UpdateOptions::default() };
        let index = Index::open(&path, OpenOptions { updates, ..options(EngineChoice::Auto) }).unwrap();
        let vectors = new_vectors::<u8>(1500, 3);
        std::thread::scope(|scope| {
            for thread in 0..2usize {
                let (index, vectors) = (&index, &vectors);
                scope.spawn(move || {
                    for row in (thread..vectors.len()).step_by(2) {
                        index.insert(row as u64, &vectors[row]).unwrap();
                        if row % 97 == 0 {
                            let hits = index.search(&vectors[row], 1, &everything(100)).unwrap().hits;
                            assert_eq!(hits[0].distance, 0.0, "{backend}: what was acknowledged is found");
                        }
                    }
                });
            }
        });
        let model = Model((0u64..).zip(vectors).collect::<BTreeMap<_, _>>());
        model.check(&index, &format!("{backend}: inserted"));
        // Ends the background work.
        drop(index);
        assert!(
            path.join("CURRENT").exists() && !path.join("MANIFEST").exists(),
            "{backend}: there is a graph"
        );
        let index = open(&path);
        model.check(&index, &format!("{backend}: opened again"));
        let recall = model.recall(&index, &new_vectors::<u8>(30, 5));
        assert!(recall > 0.9, "{backend}: recall {recall}");
    }
}

#[test]
fn what_cannot_be_created_is_refused() {
    let dir = disk_dir();
    let path = dir.path().join("index");
    let good = small_options(Metric::L2, DIM);
    let refused = |dim, options: &BuildOptions| {
        Index::create(&path, ElementType::F32, dim, options, Backend::Odin).unwrap_err()
    };
    let record = BuildOptions { codes: CodePlacement::Record, ..good.clone() };
    assert!(matches!(refused(DIM, &record), CreateError::Live(_)));
    assert!(matches!(refused(0, &good), CreateError::Build(_)));
    assert!(matches!(refused(4, &BuildOptions { pq_bytes: 5, ..good.clone() }), CreateError::Build(_)));
    Index::create(&path, ElementType::F32, DIM, &good, Backend::Odin).unwrap();
    assert!(matches!(refused(DIM, &good), CreateError::Build(_)), "it is there already");
}
