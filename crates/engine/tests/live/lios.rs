//! Updates in the stalls of searches: everything is as without, whoever does the work.

use crate::model::{BACKENDS, made_live, new_vectors, options};
use crate::support::watchdog;
use crate::updates::from_four_threads;
use gleann::{
    Backend, BudgetKind, EngineChoice, Index, LiosOptions, OpenOptions, SearchOptions, UpdateOptions,
    Utilisation,
};
use std::sync::atomic::{AtomicBool, Ordering};

/// Cores that work on updates, with so many threads beside them.
fn lios(budget: BudgetKind, threads: usize, engine: EngineChoice) -> OpenOptions {
    let lios = LiosOptions { budget, utilisation: Utilisation::Fixed(1.0), ..LiosOptions::new(0.05) };
    let options = options(engine);
    let updates = UpdateOptions { threads, lios: Some(lios), ..options.updates };
    OpenOptions { updates, ..options }
}

#[test]
fn cores_alone_update_odin() {
    let _watchdog = watchdog("odin without threads");
    from_four_threads::<f32>(Backend::Odin, &lios(BudgetKind::OnArrival, 0, EngineChoice::Auto));
}

#[test]
fn cores_alone_update_fresh() {
    let _watchdog = watchdog("fresh without threads");
    from_four_threads::<u8>(Backend::Fresh, &lios(BudgetKind::Bounded, 0, EngineChoice::Auto));
}

#[test]
fn cores_and_a_thread_update_odin_over_the_pool() {
    let _watchdog = watchdog("odin with a thread");
    from_four_threads::<u8>(Backend::Odin, &lios(BudgetKind::Bounded, 1, EngineChoice::Pool));
}

#[test]
fn cores_and_a_thread_update_fresh() {
    let _watchdog = watchdog("fresh with a thread");
    from_four_threads::<f32>(Backend::Fresh, &lios(BudgetKind::Unbounded, 1, EngineChoice::Auto));
}

#[test]
fn a_tuned_core_gets_updates_done_while_it_is_searched_without_a_pause() {
    let _watchdog = watchdog("tuned");
    for backend in BACKENDS {
        let (_dir, path, mut model) = made_live::<f32>(1000, backend);
        let updates =
            UpdateOptions { threads: 0, lios: Some(LiosOptions::new(0.05)), ..UpdateOptions::default() };
        let index =
            Index::open(&path, OpenOptions { threads: 1, updates, ..OpenOptions::default() }).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let queries = new_vectors::<f32>(20, 5);
                for query in queries.iter().cycle() {
                    index.search(query, 10, &SearchOptions::default()).unwrap();
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            for (key, vector) in (5000..).zip(new_vectors::<f32>(50, 9)) {
                model.insert(&index, key, &vector);
                model.delete(&index, key - 4990);
            }
            index.merge().unwrap();
            done.store(true, Ordering::Relaxed);
        });
        model.check(&index, &format!("{backend}"));
        let lios = index.live_stats().unwrap().lios.unwrap();
        assert!(lios.totals.hops > 0 && lios.update_ns() > 0, "{lios:?}");
    }
}

#[test]
fn somebody_has_to_update() {
    let (_dir, path, _) = made_live::<f32>(100, Backend::Odin);
    let updates = UpdateOptions { threads: 0, ..UpdateOptions::default() };
    let error = Index::open(&path, OpenOptions { updates, ..OpenOptions::default() }).err().unwrap();
    assert!(error.to_string().contains("turn LIOS on"), "{error}");
    let updates = UpdateOptions { lios: Some(LiosOptions::new(-1.0)), ..UpdateOptions::default() };
    let error = Index::open(&path, OpenOptions { updates, ..OpenOptions::default() }).err().unwrap();
    assert!(error.to_string().contains("theta is -1"), "{error}");
}
