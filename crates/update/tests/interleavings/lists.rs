//! The temporary index: whoever finds an id finds everything of it, and nobody is cut off.

use crate::explore::explore;
use crate::temp::{TempIndex, TempParams, TempScratch};
use gleann_graph::PruneSpace;
use gleann_vector::{Distance, Metric};
use shuttle::thread;
use std::sync::Arc;

const DIM: usize = 2;

/// Short lists, so that a few vectors fill them and have them pruned.
fn index(capacity: usize) -> Arc<TempIndex<f32>> {
    let params = TempParams { degree: 1, list: 4, alpha: 1.2 };
    let space = PruneSpace::new(Metric::L2, DIM, 0.0);
    Arc::new(TempIndex::new(Distance::new(Metric::L2, DIM), space, params, capacity))
}

fn vector(key: u64) -> [f32; DIM] {
    [(key * 7 % 5) as f32, (key % 3) as f32]
}

/// How many slots can be reached from `slot`.
fn reached(index: &TempIndex<f32>, slot: u32) -> usize {
    let mut seen = vec![slot];
    let mut next = 0;
    while let Some(&at) = seen.get(next) {
        let new: Vec<u32> = index.neighbours(at).into_iter().filter(|id| !seen.contains(id)).collect();
        seen.extend(new);
        next += 1;
    }
    seen.len()
}

/// Holds what a search finds against what it names. It asks for all, and so looks at what is not linked yet, too.
fn search(index: &TempIndex<f32>, scratch: &mut TempScratch<f32>) -> Vec<u64> {
    let mut found = Vec::new();
    index.search(&[1.0, 1.0], 8, 8, scratch, &mut found);
    assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 != pair[1].1), "{found:?}");
    for &(distance, slot) in &found {
        let own = vector(index.key(slot));
        assert_eq!(index.vector(slot), own, "a vector of another key");
        assert_eq!(distance, (own[0] - 1.0).powi(2) + (own[1] - 1.0).powi(2));
    }
    found.iter().map(|&(_, slot)| index.key(slot)).collect()
}

#[test]
fn vectors_that_come_at_once_all_arrive() {
    explore(150, || {
        let index = index(8);
        let threads: Vec<_> = (0..3u64)
            .map(|thread| {
                let index = index.clone();
                thread::spawn(move || {
                    let mut scratch = TempScratch::new();
                    for key in [2 * thread, 2 * thread + 1] {
                        index.insert(key, &vector(key), &mut scratch).unwrap();
                        assert!(!search(&index, &mut scratch).is_empty());
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((index.len(), index.live()), (6, 6));
        // Whichever was linked first is where searches begin.
        assert!((0..6).any(|entry| reached(&index, entry) == 6), "not all in reach of one");
    });
}

/// Two search while one deletes and puts again what they may find.
#[test]
fn what_was_deleted_before_is_not_found() {
    explore(150, || {
        let index = index(8);
        let mut scratch = TempScratch::new();
        let first = index.insert(0, &vector(0), &mut scratch).unwrap();
        index.insert(1, &vector(1), &mut scratch).unwrap();
        let searching: Vec<_> = (0..2)
            .map(|_| {
                let index = index.clone();
                thread::spawn(move || {
                    let gone = !index.is_live(first);
                    let found = search(&index, &mut TempScratch::new());
                    assert!(!(gone && found.contains(&0)), "a deleted key");
                })
            })
            .collect();
        index.insert(2, &vector(2), &mut scratch).unwrap();
        assert!(index.delete(first) && !index.delete(first));
        index.insert(3, &vector(3), &mut scratch).unwrap();
        searching.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((index.live(), index.len()), (3, 4));
        assert!(!search(&index, &mut scratch).contains(&0));
    });
}
