//! What becomes of recall and room when an index is changed again and again.

use crate::steps::Numbers;
use crate::walk::walk;
use crate::world::{Shape, create_shaped, insert, open_shaped, options, repair, search};
use gleann_search::Expansion;
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Backend, Durability, Live};
use std::collections::BTreeMap;
use std::sync::Arc;

const D: usize = 16;
const ROWS: u64 = 3000;
const QUERIES: u64 = 200;

/// A point of one of 40 clusters of different sizes and widths.
fn clustered(seed: u64) -> [f32; D] {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995);
    let (a, b) = (numbers.below(40), numbers.below(40));
    let cluster = a.min(b);
    let mut centre = Numbers(cluster * 7919 + 1);
    let width = 4.0 + cluster as f32 / 4.0;
    std::array::from_fn(|_| {
        let noise: f32 = (0..4).map(|_| numbers.below(1000) as f32 / 1000.0 - 0.5).sum();
        centre.below(60) as f32 + width * noise
    })
}

fn distance_of(query: &[f32; D], vector: &[f32; D]) -> f32 {
    query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Recall@10 against brute force.
fn recall(
    live: &Arc<Live<f32>>,
    volume: &Arc<dyn Volume>,
    rows: &BTreeMap<u64, [f32; D]>,
    list: usize,
) -> f64 {
    let mut hits = 0;
    for number in 0..QUERIES {
        let query = clustered(1 << 40 | number);
        let mut exact: Vec<f32> = rows.values().map(|row| distance_of(&query, row)).collect();
        exact.sort_unstable_by(f32::total_cmp);
        let found = search(live.index(), volume, (&query, 10, list), Expansion::Record);
        hits += found.iter().filter(|(key, _)| distance_of(&query, &rows[key]) <= exact[9]).count();
    }
    hits as f64 / (10 * QUERIES) as f64
}

fn churn(backend: Backend, repair_bytes: usize) {
    let vectors: Vec<_> = (0..ROWS).map(clustered).collect();
    let shape = Shape::new(16, 8, &vectors);
    let volume: Arc<dyn Volume> = Arc::new(SimVolume::new());
    create_shaped(&volume, backend, &shape, &vectors);
    let options = |durability| gleann_update::LiveOptions {
        segment_bytes: 1 << 20,
        buffer_vectors: 400,
        repair_bytes,
        ..options(durability)
    };
    let live = open_shaped(&volume, &shape, options(Durability::None)).unwrap();
    let mut rows: BTreeMap<u64, [f32; D]> = (0..ROWS).zip(vectors).collect();
    let mut numbers = Numbers(9);
    let lists = [12, 20, 40];
    let before = lists.map(|list| recall(&live, &volume, &rows, list));
    for round in 0..10 {
        for _ in 0..ROWS / 10 {
            let at = numbers.below(rows.len() as u64) as usize;
            let key = *rows.keys().nth(at).unwrap();
            live.delete(key).unwrap();
            rows.remove(&key);
        }
        for number in 0..ROWS / 10 {
            let key = (round + 1) << 20 | number;
            insert(&live, &volume, (key, clustered(key), false)).unwrap();
            rows.insert(key, clustered(key));
        }
        let walked = walk(&live, &volume);
        if backend == Backend::Odin {
            eprintln!("{backend} round {round}: {} unreachable before repair", walked.unreachable.len());
        }
        repair(&live, &volume).unwrap();
        let walked = walk(&live, &volume);
        eprintln!(
            "{backend} round {round}: {} unreachable, {} places",
            walked.unreachable.len(),
            walked.places
        );
        assert_eq!(walked.live, rows.len());
        assert!(walked.dangling.is_empty(), "{backend}: {:?}", walked.dangling);
        assert!(walked.unreachable.is_empty(), "{backend}, round {round}");
        assert!(walked.places as f64 <= 1.3 * ROWS as f64, "{backend}: {} places", walked.places);
    }
    let fresh: Arc<dyn Volume> = Arc::new(SimVolume::new());
    let vectors: Vec<[f32; D]> = rows.values().copied().collect();
    create_shaped(&fresh, backend, &shape, &vectors);
    let built = open_shaped(&fresh, &shape, options(Durability::None)).unwrap();
    let renumbered: BTreeMap<u64, [f32; D]> = (0..).zip(vectors).collect();
    // Nothing is pending, so this is the whole graph.
    let survey = live.survey().unwrap();
    assert_eq!((survey.live, survey.unreachable, survey.dead_links), (rows.len() as u64, 0, 0), "{survey:?}");
    assert!(survey.mean_degree() > 8.0 && survey.overlap_ratio().unwrap() > 0.0, "{survey:?}");
    for (list, before) in lists.into_iter().zip(before) {
        let (after, anew) = (recall(&live, &volume, &rows, list), recall(&built, &fresh, &renumbered, list));
        eprintln!(
            "{backend}, list {list}: recall {before:.4} before, {after:.4} after, {anew:.4} built anew"
        );
        assert!(after > anew - 0.02, "{backend}, list {list}: {after} after churn, {anew} when built anew");
    }
}

#[test]
fn churn_of_a_direct_index_keeps_recall_and_room() {
    churn(Backend::Odin, 1 << 20);
}

#[test]
fn churn_of_a_buffered_index_keeps_recall_and_room() {
    churn(Backend::Fresh, 0);
}

/// A checkpoint in portions leaves lists on disk that name nodes which are not: only the log knows of these.
#[test]
fn lists_that_name_what_is_not_on_disk_are_read_whole() {
    let vectors: Vec<_> = (0..400).map(clustered).collect();
    let shape = Shape::new(16, 8, &vectors);
    let mut cut_short = 0;
    for at in (0..).step_by(3) {
        let sim = SimVolume::new();
        let volume: Arc<dyn Volume> = Arc::new(sim.clone());
        create_shaped(&volume, Backend::Odin, &shape, &vectors);
        let options = gleann_update::LiveOptions { portion_blocks: 4, ..options(Durability::None) };
        let live = open_shaped(&volume, &shape, options).unwrap();
        let before = live.survey().unwrap();
        for key in 1000..1100 {
            insert(&live, &volume, (key, clustered(key), false)).unwrap();
        }
        sim.fail_at(sim.operations() + at, std::io::ErrorKind::Other);
        if live.checkpoint(gleann_update::Rewrite::Changes).is_ok() {
            break;
        }
        sim.heal();
        let survey = live.survey().unwrap();
        cut_short += u64::from(survey.links != before.links);
        assert!(survey.live >= 400 && survey.links >= before.links, "at {at}: {before:?}, then {survey:?}");
        drop(live);
        // What is held in memory is what is read from the disk.
        let live = open_shaped(&volume, &shape, options).unwrap();
        let rows = (0..400).zip(vectors.iter().copied()).chain((1000..1100).map(|key| (key, clustered(key))));
        let rows: BTreeMap<u64, [f32; D]> = rows.collect();
        let read = recall(&live, &volume, &rows, 40);
        let live = Arc::new(Arc::into_inner(live).unwrap().hold(200).unwrap());
        // Some of those met first may be nodes that are not on disk yet.
        assert!((150..=200).contains(&live.index().cache.held()), "{} held", live.index().cache.held());
        assert_eq!(recall(&live, &volume, &rows, 40), read, "at {at}");
    }
    assert!(cut_short > 0, "no checkpoint was cut short between two portions");
}
