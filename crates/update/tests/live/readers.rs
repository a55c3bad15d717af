//! Searches that began long ago, over checkpoints and places that others have taken since.

use crate::model::Model;
use crate::steps::{Numbers, Session, Step};
use crate::world::{DIM, driver, vector};
use gleann_search::{Driver, Expansion, Query, SearchIndex, SearchKind, SearchOptions, Width};
use gleann_storage::{SimVolume, VirtualClock, VolumeIo};
use gleann_update::Backend;
use std::collections::{BTreeMap, BTreeSet};

const KEYS: u64 = 80;

/// A search under way.
struct Reader {
    driver: Driver<SearchIndex<f32>, VolumeIo, VirtualClock, ()>,
    query: [f32; DIM],
    /// What there was when it began.
    began: Model,
    /// Keys that have been changed since.
    touched: BTreeSet<u64>,
}

impl Reader {
    fn begin(session: &Session, numbers: &mut Numbers) -> Self {
        let query = vector(numbers.below(1 << 40));
        let expansions =
            [Expansion::Record, Expansion::Page { share_pct: 100 }, Expansion::Page { share_pct: 0 }];
        let kinds = [SearchKind::Beam, SearchKind::Pipe];
        let options = SearchOptions {
            list: 10 + numbers.below(60) as usize,
            kind: kinds[numbers.below(2) as usize],
            width: Width::Fixed(1),
            expansion: expansions[numbers.below(3) as usize],
            ..SearchOptions::default()
        };
        let mut driver = driver(session.live.index().clone(), &session.volume, VirtualClock::default(), 1);
        driver.start((), Query { vector: &query, k: 10, options, cancel: None }).unwrap();
        Self { driver, query, began: session.model(), touched: BTreeSet::new() }
    }

    /// Takes a turn; whether the search has ended.
    fn turn(&mut self, known: &BTreeMap<u64, Vec<[f32; DIM]>>, context: &str) -> bool {
        let mut found = None;
        self.driver.turn(&mut |(), outcome| found = Some(outcome));
        let Some(found) = found else { return false };
        let nearest = found.unwrap_or_else(|error| panic!("{context}: {error}")).nearest;
        let mut seen = BTreeSet::new();
        for (key, distance) in nearest {
            assert!(seen.insert(key), "{context}: key {key} twice");
            let is_its = |vector: &&[f32; DIM]| distance_of(&self.query, vector) == distance;
            let had = known[&key].iter().any(|vector| is_its(&vector));
            assert!(had, "{context}: key {key} at {distance}, of {:?}", known[&key]);
            if !self.touched.contains(&key) {
                let vector = self.began.0.get(&key);
                assert!(vector.is_some(), "{context}: key {key} was deleted before the search began");
                assert!(
                    vector.as_ref().is_some_and(is_its),
                    "{context}: key {key} at {distance}, {vector:?}"
                );
            }
        }
        true
    }
}

fn distance_of(query: &[f32; DIM], vector: &[f32; DIM]) -> f32 {
    query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn run(backend: Backend, seed: u64) -> usize {
    let mut session = Session::begin(&SimVolume::new(), backend, 60);
    let mut known: BTreeMap<u64, Vec<[f32; DIM]>> =
        session.model().0.into_iter().map(|(key, vector)| (key, vec![vector])).collect();
    let mut numbers = Numbers(seed);
    let mut readers: Vec<Reader> = Vec::new();
    let mut ended = 0;
    for number in 0..900 {
        let step = match numbers.below(8) {
            0 => Step::Repair,
            1 => Step::Checkpoint,
            _ => numbers.update(KEYS),
        };
        let context = format!("{backend} {seed}, step {number} {step:?}");
        session.take((number, step)).unwrap();
        if let Step::Insert(key) | Step::Upsert(key) | Step::Delete(key) = step {
            readers.iter_mut().for_each(|reader| {
                reader.touched.insert(key);
            });
            known.entry(key).or_default().push(vector(1000 + number as u64));
        }
        if readers.len() < 12 {
            readers.push(Reader::begin(&session, &mut numbers));
        }
        // Some go on at once, others only after many steps.
        for at in (0..readers.len()).rev() {
            if numbers.below(1 + at as u64) == 0 && readers[at].turn(&known, &context) {
                readers.swap_remove(at);
                ended += 1;
            }
        }
        if number % 100 == 99 {
            session.check(&context);
        }
    }
    ended
}

#[test]
fn searches_of_long_ago_find_what_was_there() {
    for backend in [Backend::Odin, Backend::Fresh] {
        for seed in 51..55 {
            let ended = run(backend, seed);
            assert!(ended > 50, "{backend} {seed}: {ended} searches");
        }
    }
}
