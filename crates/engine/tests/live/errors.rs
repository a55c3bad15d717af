//! What is refused, and with which words.

use crate::model::{BACKENDS, DIM, made_live, new_vectors, open, options};
use crate::support::{built, watchdog};
use gleann::{
    Backend, CachePolicy, EngineChoice, Index, Metric, OpenError, OpenOptions, UpdateError, make_live,
};

#[test]
fn a_static_index_takes_no_updates() {
    let index = built::<f32>(Metric::L2, 100, DIM).open(EngineChoice::Pool);
    let vector = [0.0f32; DIM];
    assert!(matches!(index.insert(1, &vector), Err(UpdateError::ReadOnly { .. })));
    assert!(matches!(index.upsert(1, &vector), Err(UpdateError::ReadOnly { .. })));
    assert!(matches!(index.delete(1), Err(UpdateError::ReadOnly { .. })));
    assert!(matches!(index.get::<f32>(1), Err(UpdateError::ReadOnly { .. })));
    assert!(matches!(index.flush(), Err(UpdateError::ReadOnly { .. })));
    assert!(matches!(index.merge(), Err(UpdateError::ReadOnly { .. })));
    assert!(matches!(index.snapshot("nowhere"), Err(UpdateError::ReadOnly { .. })));
    let batch = index.insert_batch(&[1, 2], &[0.0f32; 2 * DIM]);
    assert!(batch.iter().all(|outcome| matches!(outcome, Err(UpdateError::ReadOnly { .. }))));
    let message = index.delete(1).unwrap_err().to_string();
    assert!(message.contains("make it live first"), "{message}");
    assert!(index.live_stats().is_none());
}

#[test]
fn vectors_that_do_not_fit_are_refused_and_nothing_changes() {
    let _watchdog = watchdog("bad vectors");
    for backend in BACKENDS {
        let (_dir, path, mut model) = made_live::<f32>(100, backend);
        let index = open(&path);
        let good = new_vectors::<f32>(1, 2).remove(0);
        let mut bad = good.clone();
        bad[3] = f32::NAN;
        let refused = |result: Result<_, UpdateError>| {
            let error = result.unwrap_err();
            assert!(matches!(error, UpdateError::Vector { .. }), "{backend}: {error}");
            error.to_string()
        };
        assert!(refused(index.insert(900, &bad)).contains("NaN"));
        assert!(refused(index.insert(900, &good[..5])).contains("16"));
        assert!(refused(index.insert(900, &[1u8; DIM])).contains("u8"));
        assert!(matches!(index.get::<u8>(3), Err(UpdateError::Vector { .. })));
        // One bad row of a batch does not keep the others from their place.
        let rows = [good.clone(), bad, good.clone()].concat();
        let outcomes = index.insert_batch(&[901, 902, 903], &rows);
        assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
        model.0.extend([(901, good.clone()), (903, good)]);
        model.check(&index, &backend.to_string());
    }
}

#[test]
fn a_live_index_is_opened_once() {
    let (_dir, path, model) = made_live::<u8>(50, Backend::Odin);
    let index = open(&path);
    let second = Index::open(&path, options(EngineChoice::Pool));
    assert!(matches!(second, Err(OpenError::Locked(_))));
    assert!(matches!(make_live(&path, Backend::Odin), Err(OpenError::Locked(_))));
    drop(index);
    model.check(&open(&path), "opened again");
    assert!(make_live(&path, Backend::Odin).is_err(), "it is live already");
}

#[test]
fn live_indexes_have_no_map_and_no_cache_by_demand() {
    let (_dir, path, _) = made_live::<u8>(50, Backend::Fresh);
    let refused = |options| match Index::open(&path, options) {
        Err(error @ OpenError::NotLive { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(refused(options(EngineChoice::Mmap)).contains("memory map"));
    let cache = CachePolicy::Hot { size: gleann::CacheSize::Bytes(1 << 20), queries: None };
    assert!(refused(OpenOptions { cache, ..options(EngineChoice::Auto) }).contains("sssp"));
}
