//! The temporary index finds what brute force finds, keeps every vector in reach, and stands many threads at once.

mod support;

use gleann_graph::PruneSpace;
use gleann_update::{Full, TempIndex, TempParams, TempScratch};
use gleann_vector::{Distance, Element, Matrix, Metric};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{clustered, kth_distance};

fn index<T: Element>(metric: Metric, rows: &[T], dim: usize, params: TempParams) -> TempIndex<T> {
    let norms = rows.chunks(dim).map(|row| row.iter().map(|x| x.to_f32().powi(2)).sum::<f32>());
    let space = PruneSpace::new(metric, dim, norms.fold(0.0, f32::max).sqrt());
    TempIndex::new(Distance::new(metric, dim), space, params, rows.len() / dim)
}

fn filled<T: Element>(metric: Metric, rows: &[T], dim: usize, params: TempParams) -> TempIndex<T> {
    let index = index(metric, rows, dim, params);
    let mut scratch = TempScratch::new();
    for (key, row) in rows.chunks(dim).enumerate() {
        assert_eq!(index.insert(1000 + key as u64, row, &mut scratch), Ok(key as u32));
    }
    index
}

/// How many slots can be reached from `slot`. Where one thread has filled the graph, it begins at slot 0.
fn reached<T: Element>(index: &TempIndex<T>, slot: u32) -> usize {
    let (mut seen, mut next) = (HashSet::from([slot]), vec![slot]);
    while let Some(slot) = next.pop() {
        next.extend(index.neighbours(slot).into_iter().filter(|&id| seen.insert(id)));
    }
    seen.len()
}

fn lists_are_sound<T: Element>(index: &TempIndex<T>, degree: usize) {
    for slot in 0..index.len() as u32 {
        let list = index.neighbours(slot);
        assert!(list.len() <= (degree as f32 * 1.3) as usize + 1);
        assert!(list.iter().all(|&id| id != slot && (id as usize) < index.len()));
        assert_eq!(list.iter().collect::<HashSet<_>>().len(), list.len());
    }
}

/// Share of the 10 nearest live slots that searches find; checks order, liveness and distances on the way.
fn recall<T: Element>(index: &TempIndex<T>, distance: &Distance<T>, rows: &[T]) -> f64 {
    let dim = distance.dim();
    let queries = clustered::<T>(60, dim, 9);
    let (mut scratch, mut found) = (TempScratch::new(), Vec::new());
    let mut hits = 0;
    for query in queries.chunks(dim) {
        index.search(query, 10, 40, &mut scratch, &mut found);
        assert_eq!(found.len(), index.live().min(10));
        assert!(found.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)), "ordered, each once");
        for &(measured, slot) in &found {
            assert!(index.is_live(slot));
            assert_eq!(measured, distance.between(query, index.vector(slot)));
        }
        let truth = kth_distance(distance, rows, query, 10, |slot| index.is_live(slot));
        hits += found.iter().filter(|found| found.0 <= truth).count();
    }
    hits as f64 / 600.0
}

fn finds_what_brute_force_finds<T: Element>() {
    for metric in Metric::ALL {
        let rows = clustered::<T>(2000, 24, 5);
        let index = filled(metric, &rows, 24, TempParams::default());
        let distance = Distance::new(metric, 24);
        lists_are_sound(&index, 32);
        assert_eq!((index.len(), index.live(), index.key(7), reached(&index, 0)), (2000, 2000, 1007, 2000));
        assert_eq!(index.vector(7), &rows[7 * 24..8 * 24]);
        let whole = recall(&index, &distance, &rows);
        for slot in (0..2000).filter(|slot| slot % 3 != 1) {
            assert!(index.delete(slot) && !index.delete(slot));
        }
        assert_eq!((index.len(), index.live()), (2000, 667));
        let third = recall(&index, &distance, &rows);
        assert!(whole >= 0.97 && third >= 0.97, "{metric}: {whole} of all, {third} of a third");
    }
}

#[test]
fn finds_what_brute_force_finds_in_floats() {
    finds_what_brute_force_finds::<f32>();
}

#[test]
fn finds_what_brute_force_finds_in_bytes() {
    finds_what_brute_force_finds::<u8>();
}

#[test]
fn nothing_one_and_few() {
    let params = TempParams { degree: 2, ..TempParams::default() };
    let index = index::<f32>(Metric::L2, &[1.0, 2.0, 3.0], 1, params);
    let (mut scratch, mut found) = (TempScratch::new(), vec![(0.0, 9)]);
    index.search(&[0.0], 5, 10, &mut scratch, &mut found);
    assert!(found.is_empty() && index.is_empty() && !index.delete(0) && !index.is_live(0));
    assert_eq!(index.insert(5, &[1.0], &mut scratch), Ok(0));
    index.search(&[0.0], 5, 10, &mut scratch, &mut found);
    assert_eq!(found, [(1.0, 0)]);
    assert!(index.delete(0));
    index.search(&[0.0], 5, 10, &mut scratch, &mut found);
    assert!(found.is_empty(), "the entry is deleted, and all there is");
    assert_eq!(index.insert(6, &[3.0], &mut scratch), Ok(1));
    index.search(&[0.0], 5, 1, &mut scratch, &mut found);
    assert_eq!(found, [(9.0, 1)], "found through the deleted entry");
    index.search(&[0.0], usize::MAX, usize::MAX, &mut scratch, &mut found);
    assert_eq!(found, [(9.0, 1)]);
    index.search(&[0.0], 0, 1, &mut scratch, &mut found);
    assert!(found.is_empty());
    let two = Matrix::from_rows(&[1.0f32, 2.0], 1);
    assert_eq!(index.build(&[7, 8], &two), Err(Full { len: 2, more: 2, capacity: 3 }));
    assert_eq!((index.len(), index.insert(7, &[4.0], &mut scratch)), (2, Ok(2)));
    assert_eq!(index.insert(8, &[4.0], &mut scratch), Err(Full { len: 3, more: 1, capacity: 3 }));
    assert_eq!((index.len(), index.live()), (3, 2));
}

#[test]
fn equal_vectors_stay_in_reach() {
    for degree in [1, 2, 3, 8, 32] {
        let params = TempParams { degree, list: 20, ..TempParams::default() };
        for metric in Metric::ALL {
            for row in [[3.0f32, -1.0], [0.0, 0.0]] {
                let index = filled(metric, &row.repeat(600), 2, params);
                assert_eq!(reached(&index, 0), 600, "{metric}, R = {degree}");
                lists_are_sound(&index, degree);
                // Whoever is deleted, those that are left are found.
                (0..598).for_each(|slot| assert!(index.delete(slot)));
                let (mut scratch, mut found) = (TempScratch::new(), Vec::new());
                index.search(&[1.0, 1.0], 3, 20, &mut scratch, &mut found);
                assert_eq!(found.iter().map(|found| found.1).collect::<Vec<_>>(), [598, 599]);
            }
        }
    }
}

#[test]
fn copies_and_zero_vectors_do_not_hide_the_others() {
    for metric in Metric::ALL {
        let mut rows = clustered::<f32>(1, 12, 5).repeat(700);
        rows.extend(clustered::<f32>(800, 12, 6));
        rows[800 * 12..820 * 12].fill(0.0);
        let index = filled(metric, &rows, 12, TempParams { degree: 16, ..TempParams::default() });
        assert_eq!(reached(&index, 0), 1500);
        let share = recall(&index, &Distance::new(metric, 12), &rows);
        assert!(share >= 0.95, "{metric}: {share}");
    }
}

#[test]
fn a_bulk_build_keeps_order_and_recall() {
    let rows = clustered::<u8>(3000, 24, 5);
    let index = index(Metric::L2, &rows, 24, TempParams::default());
    let keys: Vec<u64> = (0..3000).map(|row| row * 7).collect();
    let (head, tail) = rows.split_at(1000 * 24);
    assert_eq!(index.build(&keys[..1000], &Matrix::from_rows(head, 24)), Ok(0));
    assert_eq!(index.build(&[], &Matrix::zeroed(0, 24)), Ok(1000));
    assert_eq!(index.build(&keys[1000..], &Matrix::from_rows(tail, 24)), Ok(1000));
    assert!((0..3000u32).all(|slot| index.key(slot) == u64::from(slot) * 7));
    lists_are_sound(&index, 32);
    let share = recall(&index, &Distance::new(Metric::L2, 24), &rows);
    assert!(share >= 0.97, "{share}");
    let lists: Vec<Vec<u32>> = (0..3000).map(|slot| index.neighbours(slot)).collect();
    index.link_from(0);
    assert!((0..3000).all(|slot| index.neighbours(slot) == lists[slot as usize]), "linked once");
}

/// Four threads insert from nothing, four search meanwhile, one deletes.
#[test]
fn inserts_and_searches_race() {
    const DIM: usize = 16;
    const ROWS: usize = 2000;
    let rows = clustered::<f32>(ROWS, DIM, 5);
    let row = |key: u64| &rows[key as usize * DIM..][..DIM];
    for round in 0..4 {
        let params = TempParams { degree: 16, list: 32, alpha: 1.2 };
        let index = index(Metric::L2, &rows, DIM, params);
        let distance = Distance::<f32>::new(Metric::L2, DIM);
        let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let insert = || {
            let mut scratch = TempScratch::new();
            let (mut found, mut missed) = (Vec::new(), 0);
            loop {
                let key = begun.fetch_add(1, Ordering::SeqCst);
                if key >= ROWS {
                    break missed;
                }
                let slot = index.insert(key as u64, row(key as u64), &mut scratch).expect("room for all");
                assert_eq!((index.key(slot), index.vector(slot)), (key as u64, row(key as u64)));
                index.search(row(key as u64), 1, 32, &mut scratch, &mut found);
                missed += usize::from(found[0].0 > 0.0);
                if key % 50 == 49 {
                    assert!(index.delete(slot));
                    index.search(row(key as u64), 5, 32, &mut scratch, &mut found);
                    assert!(found.iter().all(|found| found.1 != slot), "deleted before the search began");
                }
                done.fetch_add(1, Ordering::SeqCst);
            }
        };
        let search = |thread: usize| {
            let (mut scratch, mut found) = (TempScratch::new(), Vec::new());
            let mut turn = thread;
            while done.load(Ordering::SeqCst) < ROWS {
                turn += 1;
                let query = row((turn * 7919 % ROWS) as u64);
                // Each fiftieth may have been deleted.
                let least = done.load(Ordering::SeqCst).saturating_sub(ROWS / 50).min(5);
                index.search(query, 5, 32, &mut scratch, &mut found);
                assert!(found.len() >= least && found.len() <= 5);
                assert_eq!(found.iter().map(|found| found.1).collect::<HashSet<_>>().len(), found.len());
                for &(measured, slot) in &found {
                    let key = index.key(slot);
                    assert!(
                        (key as usize) < begun.load(Ordering::SeqCst),
                        "nobody has begun to insert {key}"
                    );
                    assert_eq!(measured, distance.between(query, row(key)));
                }
            }
        };
        let missed: usize = std::thread::scope(|scope| {
            let inserters: Vec<_> = (0..4).map(|_| scope.spawn(insert)).collect();
            let searchers: Vec<_> = (0..4).map(|thread| scope.spawn(move || search(thread))).collect();
            searchers.into_iter().for_each(|thread| thread.join().expect("a search met half a node"));
            inserters.into_iter().map(|thread| thread.join().expect("an insert failed")).sum()
        });
        assert!(missed <= ROWS / 100, "round {round}: {missed} are not found just after their insert");
        assert_eq!((index.len(), index.live()), (ROWS, ROWS - ROWS / 50));
        lists_are_sound(&index, 16);
        let entry = (0..ROWS as u32).find(|&slot| reached(&index, slot) == ROWS);
        assert!(entry.is_some_and(|entry| entry < 4), "round {round}: not all in reach of one of the first");
        let (mut scratch, mut found) = (TempScratch::new(), Vec::new());
        let lost = (0..ROWS as u32).filter(|&slot| index.is_live(slot)).filter(|&slot| {
            index.search(index.vector(slot), 1, 32, &mut scratch, &mut found);
            found[0].0 > 0.0
        });
        assert!(lost.count() <= ROWS / 200, "round {round}");
    }
}

#[test]
fn equal_vectors_that_race_stay_in_reach() {
    for degree in [1, 2, 5] {
        let params = TempParams { degree, list: 8, alpha: 1.2 };
        let index = index(Metric::L2, &[7u8; 800 * 4], 4, params);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let index = &index;
                scope.spawn(move || {
                    let mut scratch = TempScratch::new();
                    (0..200).for_each(|i| {
                        index.insert(thread * 200 + i, &[7; 4], &mut scratch).expect("room for all");
                    });
                });
            }
        });
        lists_are_sound(&index, degree);
        assert!((0..4).any(|slot| reached(&index, slot) == 800), "R = {degree}");
    }
}
