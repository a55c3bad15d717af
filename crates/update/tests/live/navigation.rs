//! A navigation graph whose nodes go, and whose places others take.

use crate::steps::{Session, Step, begin};
use crate::watched::Watched;
use crate::world::{DIM, Shape, driver, open_navigated, options, vector};
use gleann_graph::{BuildDistance, BuildParams};
use gleann_search::{Entry, MemGraph, Points, Query, SearchOptions};
use gleann_storage::{VirtualClock, Volume};
use gleann_update::{Backend, Durability, Live};
use gleann_vector::{Matrix, Metric, Silent};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: u64 = 120;
const SAMPLE: u64 = 30;

/// A graph over the first nodes.
fn mem_graph() -> MemGraph<f32> {
    let vectors: Vec<_> = (0..SAMPLE).map(vector).collect();
    let matrix = Matrix::from_rows(vectors.as_flattened(), DIM);
    let params = BuildParams { degree: 8, list: 20, ..BuildParams::default() };
    let graph =
        gleann_graph::build(&matrix, &BuildDistance::new(Metric::L2, &matrix), &params, &Silent).unwrap();
    MemGraph::new((0..SAMPLE as u32).collect(), Points::Vectors(matrix), graph)
}

/// The keys that a search from the navigation graph finds.
fn found(live: &Arc<Live<f32>>, volume: &Arc<dyn Volume>, query: &[f32; DIM]) -> usize {
    let mut driver = driver(live.index().clone(), volume, VirtualClock::default(), 1);
    let options = SearchOptions {
        list: 600,
        entry: Entry::MemGraph { list: 4, points: 2 },
        ..SearchOptions::default()
    };
    driver.start((), Query { vector: query, k: 300, options, cancel: None }).unwrap();
    let mut found = None;
    while found.is_none() {
        driver.turn(&mut |(), outcome| found = Some(outcome));
    }
    found.expect("it has ended").unwrap().nearest.len()
}

fn session(watched: &Watched, backend: Backend) -> Session {
    let volume: Arc<dyn Volume> = Arc::new(watched.clone());
    let model = begin(&volume, backend, ROWS);
    let mut session = Session::open(&volume, model).unwrap();
    session.live =
        open_navigated(&volume, Shape::small(), options(Durability::Each), Some(mem_graph())).unwrap();
    session
}

#[test]
fn searches_begin_elsewhere_where_the_nodes_of_a_navigation_graph_have_gone() {
    for backend in [Backend::Odin, Backend::Fresh] {
        let watched = Watched::new();
        let mut session = session(&watched, backend);
        for key in 0..SAMPLE {
            session.take((0, Step::Delete(key))).unwrap();
        }
        let left = (ROWS - SAMPLE) as usize;
        assert_eq!(found(&session.live, &session.volume, &vector(3)), left, "{backend}: deleted");
        session.take((0, Step::Repair)).unwrap();
        assert_eq!(found(&session.live, &session.volume, &vector(3)), left, "{backend}: gone");
        // Inserts take the places of those that have gone, and are searched for from there.
        let (live, volume, count) =
            (session.live.clone(), session.volume.clone(), Arc::new(AtomicUsize::new(0)));
        let searches = count.clone();
        watched.watch(move |_, name| {
            if !name.starts_with("wal-") && !name.is_empty() {
                for seed in 0..10 {
                    assert!(found(&live, &volume, &vector(seed)) >= left, "in the middle of a merge");
                }
                searches.fetch_add(1, Ordering::Relaxed);
            }
        });
        for key in 0..SAMPLE {
            session.take((key as usize, Step::Insert(key))).unwrap();
        }
        session.take((0, Step::Repair)).unwrap();
        watched.look_away();
        assert!(count.load(Ordering::Relaxed) > 0);
        assert_eq!(found(&session.live, &session.volume, &vector(3)), ROWS as usize);
        session.check("at the end");
    }
}
