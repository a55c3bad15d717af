//! Snapshots.

use crate::model::{BACKENDS, Model, made_live, new_vectors, open};
use crate::support::watchdog;
use gleann::UpdateError;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn a_snapshot_is_the_index_and_goes_its_own_way() {
    let _watchdog = watchdog("a snapshot");
    for backend in BACKENDS {
        let (dir, path, mut model) = made_live::<f32>(500, backend);
        let index = open(&path);
        for (key, vector) in (400u64..).zip(new_vectors::<f32>(200, 3)) {
            model.upsert(&index, key, &vector);
        }
        (0..50).for_each(|key| model.delete(&index, key * 3));
        let copy = dir.path().join("copy");
        index.snapshot(&copy).unwrap();
        let at_snapshot = model.clone();
        (0..20).for_each(|key| model.delete(&index, 200 + key));
        assert!(matches!(index.snapshot(&copy), Err(UpdateError::Exists(_))), "{backend}");

        let other = open(&copy);
        at_snapshot.check(&other, &format!("{backend}: the snapshot"));
        let mut theirs = at_snapshot.clone();
        for (key, vector) in (0u64..).zip(new_vectors::<f32>(60, 4)) {
            theirs.upsert(&other, key, &vector);
        }
        model.check(&index, &format!("{backend}: the index itself"));
        other.consolidate().unwrap();
        theirs.check(&other, &format!("{backend}: the snapshot, updated"));
        drop(other);
        theirs.check(&open(&copy), &format!("{backend}: the snapshot, opened again"));
        drop(index);
        model.check(&open(&path), &format!("{backend}: the index, opened again"));
        let left: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}

/// One thread writes key 1000 + i in the order of i, and deletes key i after it: whatever the moment of the snapshot, it
/// holds a prefix of that.
#[test]
fn a_snapshot_amid_updates_is_one_moment_of_them() {
    let _watchdog = watchdog("a snapshot amid updates");
    for backend in BACKENDS {
        let (dir, path, model) = made_live::<u8>(500, backend);
        let index = open(&path);
        let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
        let vectors = new_vectors::<u8>(400, 9);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (i, vector) in (0u64..).zip(&vectors) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    index.insert(1000 + i, vector).unwrap();
                    index.delete(i).unwrap();
                    done.fetch_add(1, Ordering::Release);
                }
            });
            for round in 0..4 {
                let before = done.load(Ordering::Acquire);
                let copy = dir.path().join(format!("copy{round}"));
                index.snapshot(&copy).unwrap();
                let after = done.load(Ordering::Acquire);
                if round == 1 {
                    index.consolidate().unwrap();
                }
                let other = open(&copy);
                let has = |key| other.get::<u8>(key).unwrap().is_some();
                let inserted = (0..400).filter(|i| has(1000 + i)).count();
                let deleted = (0..400).filter(|&i| !has(i)).count();
                assert!((before..=after + 1).contains(&inserted), "{backend}: {before} {inserted} {after}");
                assert!(inserted == deleted || inserted == deleted + 1, "{backend}: {inserted} {deleted}");
                let mut expected: BTreeMap<u64, Vec<u8>> = model.0.clone();
                (0..deleted as u64).for_each(|key| drop(expected.remove(&key)));
                expected.extend((0..inserted as u64).map(|i| (1000 + i, vectors[i as usize].clone())));
                Model(expected).check(&other, &format!("{backend}, round {round}"));
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
