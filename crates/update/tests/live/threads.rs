//! Inserts, deletes, searches and checkpoints at once, on a disk of the system.

use crate::model::Model;
use crate::steps::Numbers;
use crate::world::{DIM, create, disk, open, options, repair, search, vector};
use gleann_search::{Expansion, Turn};
use gleann_storage::{OsVolume, VirtualClock, Volume};
use gleann_update::{Backend, Delete, Durability, InsertJob, Live, Rewrite, Runner};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const KEYS: usize = 1500;
const BUILT: usize = 900;

#[derive(Debug, Clone, Copy)]
struct Event {
    /// The seed of the new vector; none where the key goes.
    put: Option<u64>,
    began: u64,
    ended: u64,
}

#[derive(Default)]
struct Key {
    /// Whether somebody is changing it.
    busy: AtomicBool,
    events: Mutex<Vec<Event>>,
}

struct World {
    live: Arc<Live<f32>>,
    volume: Arc<dyn Volume>,
    keys: Vec<Key>,
    time: AtomicU64,
    seeds: AtomicU64,
    stop: AtomicBool,
}

impl World {
    fn now(&self) -> u64 {
        self.time.fetch_add(1, Ordering::SeqCst)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    /// Begins an event of a random key that nobody is changing, if `wanted` says so of whether it is there.
    fn begin(&self, numbers: &mut Numbers, put: bool, wanted: impl Fn(bool) -> bool) -> Option<(usize, u64)> {
        let key = numbers.below(KEYS as u64) as usize;
        let state = &self.keys[key];
        if state.busy.swap(true, Ordering::SeqCst) {
            return None;
        }
        let mut events = state.events.lock().unwrap();
        if !wanted(events.last().is_some_and(|event| event.put.is_some())) {
            state.busy.store(false, Ordering::SeqCst);
            return None;
        }
        let seed = self.seeds.fetch_add(1, Ordering::SeqCst);
        events.push(Event { put: put.then_some(seed), began: self.now(), ended: u64::MAX });
        Some((key, seed))
    }

    fn end(&self, key: usize) {
        self.keys[key].events.lock().unwrap().last_mut().unwrap().ended = self.now();
        self.keys[key].busy.store(false, Ordering::SeqCst);
    }

    fn insert_on(&self, seed: u64) -> usize {
        let mut numbers = Numbers(seed);
        let mut ended = 0;
        if self.live.is_buffered() {
            while self.goes_on() {
                let Some((key, seed)) = self.begin(&mut numbers, true, |_| true) else { continue };
                let put = self.live.put(key as u64, &vector(seed), true).unwrap();
                self.live.settled(put.lsn).unwrap();
                self.end(key);
                ended += 1;
                std::thread::sleep(Duration::from_micros(300));
            }
            return ended;
        }
        let mut runner =
            Runner::new(self.live.clone(), disk(&self.volume).unwrap(), VirtualClock::default(), 4);
        loop {
            while self.goes_on() && runner.has_room() {
                let Some((key, seed)) = self.begin(&mut numbers, true, |_| true) else { continue };
                let (key, vector) = (key as u64, vector(seed).to_vec());
                runner.start(InsertJob { key, vector, replace: true, job: key }).map_err(|e| e.1).unwrap();
            }
            let turn = runner.turn(&mut |key, inserted| {
                self.live.settled(inserted.unwrap().lsn).unwrap();
                self.end(key as usize);
                ended += 1;
            });
            if turn == Turn::Idle && !self.goes_on() {
                return ended;
            }
        }
    }

    fn delete_on(&self, seed: u64) -> usize {
        let mut numbers = Numbers(seed);
        let mut ended = 0;
        while self.goes_on() {
            let Some((key, _)) = self.begin(&mut numbers, false, |there| there) else { continue };
            let (outcome, lsn) = self.live.delete(key as u64).unwrap();
            assert_eq!(outcome, Delete::Deleted);
            self.live.settled(lsn).unwrap();
            self.end(key);
            ended += 1;
            std::thread::sleep(Duration::from_micros(400));
        }
        ended
    }

    fn search_on(&self, seed: u64) -> usize {
        let mut numbers = Numbers(seed);
        let mut ended = 0;
        while self.goes_on() {
            let query = vector(numbers.below(1 << 30));
            let everything = numbers.below(3) == 0;
            let (k, list) = if everything { (KEYS + 500, KEYS + 500) } else { (10, 40) };
            let expansion =
                [Expansion::Record, Expansion::Page { share_pct: 100 }][numbers.below(2) as usize];
            let began = self.now();
            let found = search(self.live.index(), &self.volume, (&query, k, list), expansion);
            let after = self.now();
            self.check(&query, (began, after), &found, everything);
            ended += 1;
        }
        ended
    }

    /// Holds what was found between two times against what happened.
    fn check(&self, query: &[f32; DIM], (began, after): (u64, u64), found: &[(u64, f32)], everything: bool) {
        let mut distances = vec![None; KEYS];
        for &(key, distance) in found {
            assert!(distances[key as usize].replace(distance).is_none(), "key {key} twice");
            let events = self.keys[key as usize].events.lock().unwrap().clone();
            // Only what no later event had replaced when the search began.
            let first = events.iter().rposition(|event| event.ended < began).unwrap_or(0);
            let can_be = |event: &Event| {
                event.began < after
                    && event.put.is_some_and(|seed| distance_of(query, &vector(seed)) == distance)
            };
            let it_is = events[first..].iter().any(can_be);
            assert!(it_is, "key {key} at {distance}, search from {began} to {after}, {events:?}");
        }
        if !everything {
            return;
        }
        for (key, distance) in distances.iter().enumerate() {
            let events = self.keys[key].events.lock().unwrap().clone();
            let last = events.iter().rev().find(|event| event.began < after);
            let surely = last.is_some_and(|event| event.put.is_some() && event.ended < began);
            assert!(
                !surely || distance.is_some(),
                "key {key} is not found by the search from {began} to {after}: {events:?}"
            );
        }
    }

    fn checkpoint_on(&self) -> usize {
        let mut rounds = 0;
        while self.goes_on() {
            if rounds % 2 == 0 {
                self.live.checkpoint(Rewrite::Changes).unwrap();
            } else {
                repair(&self.live, &self.volume).unwrap();
            }
            rounds += 1;
            std::thread::sleep(Duration::from_millis(3));
        }
        rounds
    }
}

fn distance_of(query: &[f32; DIM], vector: &[f32; DIM]) -> f32 {
    query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn run(backend: Backend, duration: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let volume: Arc<dyn Volume> = Arc::new(OsVolume::open(directory.path()).unwrap());
    let vectors: Vec<_> = (0..BUILT as u64).map(vector).collect();
    create(&volume, backend, &vectors);
    let live = open(&volume, options(Durability::None).durability).unwrap();
    let keys: Vec<Key> = (0..KEYS).map(|_| Key::default()).collect();
    for (seed, key) in keys[..BUILT].iter().enumerate() {
        key.events.lock().unwrap().push(Event { put: Some(seed as u64), began: 0, ended: 0 });
    }
    let (time, seeds) = (AtomicU64::new(1), AtomicU64::new(1 << 32));
    let world = World { live, volume, keys, time, seeds, stop: AtomicBool::new(false) };
    let counts = std::thread::scope(|scope| {
        let world = &world;
        let stop = Stop(&world.stop);
        let mut threads = Vec::new();
        for seed in 0..3 {
            threads.push(("inserts", scope.spawn(move || Stop(&world.stop).after(|| world.insert_on(seed)))));
        }
        for seed in 10..12 {
            threads.push(("deletes", scope.spawn(move || Stop(&world.stop).after(|| world.delete_on(seed)))));
        }
        for seed in 20..22 {
            threads
                .push(("searches", scope.spawn(move || Stop(&world.stop).after(|| world.search_on(seed)))));
        }
        threads.push(("checkpoints", scope.spawn(|| Stop(&world.stop).after(|| world.checkpoint_on()))));
        let end = Instant::now() + duration;
        while Instant::now() < end && world.goes_on() {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(stop);
        threads.into_iter().map(|(name, thread)| (name, thread.join().unwrap())).collect::<Vec<_>>()
    });
    assert!(counts.iter().all(|&(_, count)| count > 0), "{counts:?}");
    let last = |key: &Key| key.events.lock().unwrap().last().and_then(|event| event.put);
    let model =
        world.keys.iter().enumerate().filter_map(|(key, state)| Some((key as u64, vector(last(state)?))));
    let model = Model(model.collect());
    model.check(&world.live, &world.volume, "at the end");
    world.live.flush().unwrap();
    let World { live, volume, .. } = world;
    drop(live);
    model.check(&open(&volume, Durability::Each).unwrap(), &volume, "opened again");
    eprintln!("{backend}: {counts:?}, {} keys", model.0.len());
}

/// Stops the others when it is dropped, also by a panic.
struct Stop<'a>(&'a AtomicBool);

impl Stop<'_> {
    fn after<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn everybody_at_once() {
    run(Backend::Odin, Duration::from_millis(1200));
    run(Backend::Fresh, Duration::from_millis(800));
}
