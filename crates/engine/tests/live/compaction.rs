//! Compaction.

use crate::model::{BACKENDS, DIM, Model, check_hits, everything, made_live, new_vectors, open};
use crate::support::{clustered, copy_index, small_options, watchdog};
use gleann::{
    Backend, BuildOptions, Element, Index, Matrix, Metric, Packing, SearchOptions, build_from_rows,
    check_index, make_live,
};
use gleann_storage::{CURRENT_NAME, Generation, IndexDirectory};
use gleann_vector::Silent;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn names(path: &Path) -> BTreeSet<String> {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn names_are(path: &Path, expected: &[&str]) {
    assert_eq!(names(path), expected.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn a_compacted_index_is_that_of_a_fresh_build() {
    let _watchdog = watchdog("compaction");
    for (backend, packing) in [(Backend::Odin, Packing::PageShuffle), (Backend::Fresh, Packing::ById)] {
        let (dir, _, mut model) = made_live::<u8>(600, backend);
        let path = dir.path().join("packed");
        let build = BuildOptions { packing, seed: 5, alpha: 1.3, ..small_options(Metric::L2, DIM) };
        build_from_rows(&clustered::<u8>(600, DIM, 7), &path, &build, &Silent).unwrap();
        make_live(&path, backend).unwrap();
        let index = open(&path);
        (0..100).for_each(|key| model.delete(&index, key * 5));
        index.compact().unwrap();
        model.check(&index, &format!("{backend}: compacted"));
        let figures = index.live_stats().unwrap().figures;
        assert_eq!((figures.live, figures.dead, figures.log_bytes), (500, 0, 0));
        drop(index);
        names_are(&path, &[CURRENT_NAME, "LOCK", "gen-000001"]);
        let found = check_index(&path, &Silent).unwrap();
        assert_eq!((found.problems, found.rows, found.reachable), (vec![], 500, Some(500)));

        let compacted = IndexDirectory::open_live(&path).unwrap();
        // Vectors are written in the order of their places, which a build takes for rows.
        let keys = compacted_order(&model, &path, packing);
        let rows: Vec<u8> = keys.iter().flat_map(|key| model.0[key].clone()).collect();
        let fresh = dir.path().join("fresh");
        let build = BuildOptions { keys: Some(keys), ..build };
        build_from_rows(&Matrix::from_rows(&rows, DIM), &fresh, &build, &Silent).unwrap();
        let expected = IndexDirectory::open(&fresh).unwrap();
        assert_eq!(compacted.manifest().parameters, expected.manifest().parameters);
        assert_eq!(compacted.manifest().layout, expected.manifest().layout);
        assert_eq!(compacted.manifest().packing, packing);
        if packing == Packing::ById {
            for name in ["pq.codebook", "pq.codes", "keys.u64", "MANIFEST"] {
                let read = |dir: &Path| std::fs::read(dir.join(name)).unwrap();
                assert!(read(compacted.path()) == read(&fresh), "{name}");
            }
        }
    }
}

/// The keys in the order in which a compaction finds them.
fn compacted_order<T: Element>(model: &Model<T>, path: &Path, packing: Packing) -> Vec<u64> {
    match packing {
        Packing::ById => model.0.keys().copied().collect(),
        Packing::PageShuffle => {
            let keys = IndexDirectory::open_live(path).unwrap().keys().unwrap().unwrap();
            keys.into_iter().filter(|key| model.0.contains_key(key)).collect()
        }
    }
}

/// Two threads update and one searches while an index is compacted again and again.
fn amid_updates<T: Element>(backend: Backend) {
    let (dir, path, model) = made_live::<T>(1000, backend);
    let index = open(&path);
    let done = AtomicBool::new(false);
    let models: Vec<Model<T>> = std::thread::scope(|scope| {
        let (index, done) = (&index, &done);
        scope.spawn(move || {
            let queries = new_vectors::<T>(10, 5);
            while !done.load(Ordering::Relaxed) {
                for query in &queries {
                    let hits = index.search(query, 10, &SearchOptions::default()).unwrap().hits;
                    check_hits(&hits, 10);
                }
            }
        });
        let writers: Vec<_> = (0..2u64)
            .map(|thread| {
                let own = model.0.iter().filter(|(key, _)| *key % 2 == thread);
                let mut model = Model::<T>(own.map(|(key, vector)| (*key, vector.clone())).collect());
                scope.spawn(move || {
                    let vectors = new_vectors::<T>(500, 20 + thread);
                    let mut step = 0;
                    while !done.load(Ordering::Relaxed) {
                        let (key, vector) = (step * 7 % 700 * 2 + thread, &vectors[step as usize % 500]);
                        match step % 3 {
                            0 => model.upsert(index, key, vector),
                            1 => model.delete(index, key),
                            _ => model.insert(index, 2000 + key, vector),
                        }
                        assert_eq!(
                            index.get::<T>(key).unwrap().as_ref(),
                            model.0.get(&key),
                            "{backend} {key}"
                        );
                        if step % 11 == 0 {
                            let (key, vector) = model.0.iter().next_back().unwrap();
                            let hits = index.search(vector, 5, &everything(1500)).unwrap().hits;
                            assert!(hits.iter().any(|hit| hit.key == *key), "{backend}: {key} is lost");
                        }
                        step += 1;
                    }
                    model
                })
            })
            .collect();
        for round in 0..3 {
            index.compact().unwrap();
            if round == 1 {
                index.merge().unwrap();
                index.snapshot(dir.path().join("copy")).unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let model = Model(models.into_iter().flat_map(|model| model.0).collect());
    model.check(&index, &format!("{backend}: compacted three times"));
    let recall = model.recall(&index, &new_vectors::<T>(20, 5));
    assert!(recall > 0.9, "{backend}: recall {recall}");
    drop(index);
    names_are(&path, &[CURRENT_NAME, "LOCK", "gen-000003"]);
    assert_eq!(check_index(&path, &Silent).unwrap().problems, []);
    let index = open(&path);
    model.check(&index, &format!("{backend}: opened again"));
    index.consolidate().unwrap();
    model.check(&index, &format!("{backend}: consolidated"));
    drop(index);
    assert_eq!(check_index(&dir.path().join("copy"), &Silent).unwrap().problems, []);
    Index::open(dir.path().join("copy"), crate::model::options(gleann::EngineChoice::Pool)).unwrap();
}

#[test]
fn odin_is_compacted_amid_updates() {
    let _watchdog = watchdog("odin, compacted");
    amid_updates::<f32>(Backend::Odin);
}

#[test]
fn fresh_is_compacted_amid_updates() {
    let _watchdog = watchdog("fresh, compacted");
    amid_updates::<u8>(Backend::Fresh);
}

/// What a crash leaves: a generation that was being made, or the one before.
#[test]
fn leftovers_of_a_crash_are_removed() {
    let _watchdog = watchdog("leftovers");
    for backend in BACKENDS {
        let (dir, path, mut model) = made_live::<f32>(200, backend);
        let before = dir.path().join("before");
        copy_index(&path, &before);
        std::fs::create_dir(path.join("gen-000001")).unwrap();
        std::fs::write(path.join("gen-000001/graph.gln"), b"half").unwrap();
        std::fs::write(path.join("gen-000001.vectors.fbin.tmp"), b"half").unwrap();
        std::fs::write(path.join("notes.txt"), b"of the user").unwrap();
        let index = open(&path);
        model.check(&index, "a generation that was being made");
        assert!(!names(&path).iter().any(|name| name.starts_with("gen-")) && path.join("notes.txt").exists());
        index.compact().unwrap();
        model.delete(&index, 3);
        drop(index);
        // A crash just after the switch: the files of the generation before are there still.
        for name in names(&before) {
            std::fs::copy(before.join(&name), path.join(&name)).unwrap();
        }
        copy_index(&Generation(1).directory(&path), &path.join("gen-000007"));
        let index = open(&path);
        model.check(&index, "the generation before");
        names_are(&path, &[CURRENT_NAME, "LOCK", "gen-000001", "notes.txt"]);
        assert!(make_live(&path, backend).is_err() && IndexDirectory::open(&path).is_err());
        drop(index);
        // A name that is none is no reason to take an older generation for the index.
        std::fs::write(path.join(CURRENT_NAME), b"gen-1").unwrap();
        let error = Index::open(&path, crate::model::options(gleann::EngineChoice::Pool)).unwrap_err();
        assert!(error.to_string().contains(CURRENT_NAME), "{error}");
    }
}

/// A compaction that cannot be done leaves the index as it was, and takes nothing.
#[test]
fn a_compaction_that_fails_changes_nothing() {
    let _watchdog = watchdog("a failing compaction");
    let (_dir, path, mut model) = made_live::<f32>(300, Backend::Odin);
    let index = open(&path);
    // Nothing can be built where a file has the name of the directory, and nobody may remove it.
    std::fs::write(path.join("gen-000001"), b"").unwrap();
    let error = index.compact().unwrap_err();
    assert!(error.to_string().contains("gen-000001"), "{error}");
    for (key, vector) in (0u64..).zip(new_vectors::<f32>(20, 3)) {
        model.upsert(&index, key, &vector);
    }
    model.check(&index, "after a failure");
    std::fs::remove_file(path.join("gen-000001")).unwrap();
    index.compact().unwrap();
    model.check(&index, "and again");
    drop(index);
    model.check(&open(&path), "opened again");
}
