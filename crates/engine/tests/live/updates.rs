//! Updates and searches at once, by every backend, engine and durability.

use crate::model::{BACKENDS, Model, check_hits, everything, made_live, new_vectors, open, options};
use crate::support::watchdog;
use gleann::{
    Backend, Delete, Durability, Element, EngineChoice, Index, Insert, OpenOptions, SearchOptions,
    UpdateOptions,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Four threads with keys of their own insert, replace, delete and get, while searches and a merge run.
pub fn from_four_threads<T: Element>(backend: Backend, options: &OpenOptions) {
    let (_dir, path, model) = made_live::<T>(2000, backend);
    let index = Index::open(&path, options.clone()).unwrap();
    let done = AtomicBool::new(false);
    let queries = new_vectors::<T>(20, 5);
    let models: Vec<Model<T>> = std::thread::scope(|scope| {
        let searching = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for query in &queries {
                    let hits = index.search(query, 10, &SearchOptions::default()).unwrap().hits;
                    check_hits(&hits, 10);
                }
            }
        });
        let mine = |thread: u64| {
            let own = model.0.iter().filter(|(key, _)| *key % 4 == thread);
            Model::<T>(own.map(|(key, vector)| (*key, vector.clone())).collect())
        };
        let writers: Vec<_> = (0..4u64).map(|thread| (thread, mine(thread))).collect();
        let index = &index;
        let writers: Vec<_> = writers
            .into_iter()
            .map(|(thread, mut model)| {
                scope.spawn(move || {
                    for (step, vector) in (0u64..).zip(new_vectors::<T>(80, 100 + thread)) {
                        let key = (step * 37 % 600) * 4 + thread;
                        match step % 4 {
                            0 => model.upsert(index, key, &vector),
                            1 => model.insert(index, 4000 + key, &vector),
                            2 => model.delete(index, key),
                            _ => {
                                model.upsert(index, 4000 + key, &vector);
                                let hits = index.search(&vector, 3, &everything(200)).unwrap().hits;
                                assert!(
                                    hits.iter().any(|hit| hit.key == 4000 + key),
                                    "{key} was acknowledged"
                                );
                            }
                        }
                        assert_eq!(index.get::<T>(key).unwrap().as_ref(), model.0.get(&key));
                    }
                    model
                })
            })
            .collect();
        index.merge().unwrap();
        index.consolidate().unwrap();
        let models = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        searching.join().unwrap();
        models
    });
    let all = Model(models.into_iter().flat_map(|model| model.0).collect::<BTreeMap<_, _>>());
    let context = format!("{backend}, {}, {}, LIOS {:?}", T::TYPE, options.engine, options.updates.lios);
    all.check(&index, &context);
    let recall = all.recall(&index, &queries);
    assert!(recall > 0.9, "{context}: recall {recall}");
    drop(index);
    let index = Index::open(&path, options.clone()).unwrap();
    all.check(&index, &format!("{context}, opened again"));
    index.consolidate().unwrap();
    all.check(&index, &format!("{context}, consolidated"));
    assert_eq!(index.live_stats().unwrap().figures.dead, 0);
}

#[test]
fn four_threads_update_odin_with_whatever_reads_here() {
    let _watchdog = watchdog("odin");
    from_four_threads::<f32>(Backend::Odin, &options(EngineChoice::Auto));
}

#[test]
fn four_threads_update_fresh_with_whatever_reads_here() {
    let _watchdog = watchdog("fresh");
    from_four_threads::<u8>(Backend::Fresh, &options(EngineChoice::Auto));
}

#[test]
fn four_threads_update_odin_over_the_pool() {
    let _watchdog = watchdog("odin over the pool");
    from_four_threads::<u8>(Backend::Odin, &options(EngineChoice::Pool));
}

#[test]
fn four_threads_update_fresh_over_the_pool() {
    let _watchdog = watchdog("fresh over the pool");
    from_four_threads::<f32>(Backend::Fresh, &options(EngineChoice::Pool));
}

#[test]
fn four_threads_update_an_index_that_holds_some_of_its_records() {
    let _watchdog = watchdog("cache");
    for backend in BACKENDS {
        let cache = gleann::CachePolicy::Sssp("30%".parse().unwrap());
        from_four_threads::<f32>(backend, &OpenOptions { cache, ..options(EngineChoice::Auto) });
    }
}

#[test]
fn records_are_held_until_they_change() {
    let _watchdog = watchdog("held");
    let (_dir, path, mut model) = made_live::<f32>(2000, Backend::Odin);
    let cache = gleann::CachePolicy::Sssp("30%".parse().unwrap());
    let index = Index::open(&path, OpenOptions { cache, ..options(EngineChoice::Auto) }).unwrap();
    assert_eq!(index.info().cached_records, 600);
    let hits = |index: &Index| {
        let query = new_vectors::<f32>(1, 5).remove(0);
        index.search(&query, 10, &everything(2000)).unwrap().stats.cache_hits
    };
    assert_eq!(hits(&index), 600);
    for (key, vector) in (9000..).zip(new_vectors::<f32>(3, 9)) {
        model.insert(&index, key, &vector);
    }
    model.delete(&index, 7);
    model.check(&index, "changed");
    index.merge().unwrap();
    model.check(&index, "merged");
    let left = hits(&index);
    assert!((1..600).contains(&left), "{left} of 600 are still held");
    index.consolidate().unwrap();
    model.check(&index, "consolidated");
}

#[test]
fn everything_is_deleted_and_inserted_again() {
    let _watchdog = watchdog("delete all");
    for backend in BACKENDS {
        let (_dir, path, mut model) = made_live::<f32>(300, backend);
        let index = open(&path);
        let keys: Vec<u64> = model.0.keys().copied().collect();
        let vectors = std::mem::take(&mut model.0);
        assert!(index.delete_batch(&keys).into_iter().all(|outcome| outcome.unwrap() == Delete::Deleted));
        let query = &vectors[&7];
        assert_eq!(index.search(query, 5, &everything(300)).unwrap().hits, []);
        model.check(&index, &format!("{backend}: nothing left"));
        index.consolidate().unwrap();
        model.check(&index, &format!("{backend}: nothing left, consolidated"));
        drop(index);
        let index = open(&path);
        model.check(&index, &format!("{backend}: nothing left, opened again"));
        for (&key, vector) in &vectors {
            model.insert(&index, key, vector);
        }
        model.check(&index, &format!("{backend}: all again"));
        index.merge().unwrap();
        let rows: Vec<Vec<f32>> = vectors.values().take(30).cloned().collect();
        let recall = model.recall(&index, &rows);
        assert!(recall > 0.9, "{backend}: recall {recall}");
        drop(index);
        model.check(&open(&path), &format!("{backend}: all again, opened again"));
    }
}

#[test]
fn every_durability_keeps_what_an_orderly_end_leaves() {
    let _watchdog = watchdog("durability");
    for backend in BACKENDS {
        let group = Durability::Group(Duration::from_millis(2));
        for durability in [Durability::None, Durability::Each, group] {
            let (_dir, path, mut model) = made_live::<u8>(200, backend);
            let updates = UpdateOptions { durability, ..UpdateOptions::default() };
            let index = Index::open(&path, OpenOptions { updates, ..options(EngineChoice::Auto) }).unwrap();
            let vectors = new_vectors::<u8>(30, 6);
            for (key, vector) in (190u64..).zip(&vectors) {
                model.upsert(&index, key, vector);
            }
            model.delete(&index, 0);
            let outcomes = index.insert_batch(&[1000, 190, 1001], &vectors[..3].concat());
            let outcomes: Vec<Insert> = outcomes.into_iter().map(Result::unwrap).collect();
            assert_eq!(outcomes, [Insert::Inserted, Insert::AlreadyExists, Insert::Inserted]);
            model.0.extend([(1000, vectors[0].clone()), (1001, vectors[2].clone())]);
            index.flush().unwrap();
            drop(index);
            model.check(&open(&path), &format!("{backend}, {durability:?}"));
        }
    }
}
