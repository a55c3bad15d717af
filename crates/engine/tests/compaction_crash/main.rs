//! A compaction whose process ends before any change of a file, by a kill or a power loss, on the file system itself: calls
//! of the system are recorded (`calls`), and every state between two of them is made a directory again and opened.

#![allow(clippy::unwrap_used)]

mod calls;
mod disk;
#[allow(dead_code)]
#[path = "../live/model.rs"]
mod model;
mod recorder;
#[path = "../support/mod.rs"]
mod support;

use crate::disk::{Disk, End, Image};
use crate::model::{BACKENDS, Model, everything, made_live, new_vectors, sorted};
use crate::recorder::Event;
use crate::support::{disk_dir, watchdog};
use gleann::{Backend, Durability, EngineChoice, Index, OpenOptions, UpdateOptions, check_index};
use gleann_storage::{CURRENT_NAME, Generation};
use gleann_vector::Silent;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

const ROWS: usize = 150;
const KEYS: u64 = 200;
/// Compactions: the second leaves a directory, not the files beside it.
const ROUNDS: u64 = 2;
/// How much rather a state is looked at where names have changed.
const NAMES_SHARE: usize = 16;

/// A vector comes to a key, or goes.
type Update = (u64, Option<Vec<u8>>);

fn options(durability: Durability) -> OpenOptions {
    // Nothing is written unasked: the disk stands still until something is recorded.
    let updates =
        UpdateOptions { durability, cache: 1 << 20, consolidate_share: 1.0, ..UpdateOptions::default() };
    OpenOptions { engine: EngineChoice::Pool, threads: 1, pin: false, updates, ..OpenOptions::default() }
}

/// Updates for whoever makes them while an index is compacted, more than there is time for.
fn updates() -> Vec<Update> {
    let vectors = new_vectors::<u8>(3000, 31);
    let update =
        |(number, vector): (u64, Vec<u8>)| (number * 7 % KEYS, Some(vector).filter(|_| number % 4 != 3));
    (0..).zip(vectors).map(update).collect()
}

fn make(index: &Index, (key, vector): &Update) {
    match vector {
        Some(vector) => drop(index.upsert(*key, vector).unwrap()),
        None => drop(index.delete(*key).unwrap()),
    }
}

fn note(model: &mut Model<u8>, (key, vector): &Update) {
    match vector {
        Some(vector) => drop(model.0.insert(*key, vector.clone())),
        None => drop(model.0.remove(key)),
    }
}

/// What was on the disk, what happened then, and what the index had held.
type Recorded = (Disk, Vec<Event>, Model<u8>);

/// Compacts an index that is updated meanwhile.
fn record(backend: Backend, updates: &[Update]) -> Recorded {
    let _watchdog = watchdog("a compaction");
    let (_dir, path, mut model) = made_live::<u8>(ROWS, backend);
    let index = Index::open(&path, options(Durability::Each)).unwrap();
    for (key, vector) in (140u64..).zip(new_vectors::<u8>(30, 3)) {
        model.upsert(&index, key, &vector);
    }
    (0..20).for_each(|key| model.delete(&index, key * 3));
    let (before, files) = Disk::read(&path);
    recorder::start(&path, &files);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (number, update) in updates.iter().enumerate() {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                recorder::say(Event::Began(number));
                make(&index, update);
                recorder::say(Event::Ended(number));
            }
        });
        (0..ROUNDS).for_each(|_| index.compact().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    drop(index);
    let events = recorder::stop();
    let mut after = before.clone();
    events.iter().for_each(|event| after.apply(event));
    assert!(after.image(End::Killed) == Disk::read(&path).0.image(End::Killed), "not all was recorded");
    (before, events, model)
}

/// What a process leaves that ends at some time.
struct State {
    image: Image,
    /// What was acknowledged.
    model: Model<u8>,
    /// What was under way.
    pending: Option<Update>,
    context: String,
}

impl State {
    /// Opens it: it holds what was acknowledged, perhaps what was under way, and nothing else lies there. Its generation.
    fn check(mut self) -> Generation {
        let (dir, context) = (disk_dir(), &self.context);
        let path = dir.path().join("index");
        disk::write(&self.image, &path);
        let index = Index::open(&path, options(Durability::None));
        let index = index.unwrap_or_else(|error| panic!("{context}: {error}"));
        if let Some(update) = &self.pending
            && index.get::<u8>(update.0).unwrap() == update.1
        {
            note(&mut self.model, update);
        }
        self.expect_everything(&index);
        let current = Generation::current(&path).unwrap();
        expect_no_leftovers(&path, current, context);
        self.model.upsert(&index, KEYS + 1, &new_vectors::<u8>(1, 77)[0]);
        drop(index);
        let found = check_index(&path, &Silent).unwrap();
        assert!(found.is_sound(), "{context}: {found:?}");
        current
    }

    /// Every key is there, and a search that looks at all nodes, deleted ones too, finds it.
    fn expect_everything(&self, index: &Index) {
        let (Self { model, context, .. }, figures) = (self, index.live_stats().unwrap().figures);
        assert_eq!(figures.live, model.0.len() as u64, "{context}: the number of vectors");
        for (key, vector) in &model.0 {
            assert_eq!(index.get::<u8>(*key).unwrap().as_ref(), Some(vector), "{context}: key {key}");
        }
        let options = everything((figures.live + figures.dead) as usize);
        let found = index.search(&new_vectors::<u8>(1, 5)[0], model.0.len() + 5, &options).unwrap();
        let found: Vec<u64> = found.hits.iter().map(|hit| hit.key).collect();
        assert_eq!(sorted(&found), model.0.keys().copied().collect::<Vec<_>>(), "{context}: everything");
    }
}

fn expect_no_leftovers(path: &Path, current: Generation, context: &str) {
    let names =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    if current > Generation(0) {
        assert_eq!(names, [CURRENT_NAME, "LOCK", &current.name()], "{context}");
    } else {
        assert!(
            !names.iter().any(|name| Generation::owns(name) || name == CURRENT_NAME),
            "{context}: {names:?}"
        );
    }
}

/// The states that an end after any event leaves, those that are alike once: of those where `CURRENT` changes all, of those
/// where another name does a few, and of the others one of `stride`.
fn states((mut disk, events, mut model): Recorded, updates: &[Update], stride: usize) -> Vec<State> {
    let mut pending = None;
    let mut last: [Image; 3] = Default::default();
    let (mut states, mut like, mut named) = (Vec::new(), 0, 0);
    for (number, event) in events.iter().enumerate() {
        match event {
            Event::Began(update) => pending = Some(updates[*update].clone()),
            Event::Ended(update) => {
                note(&mut model, &updates[*update]);
                pending = None;
            }
            _ => disk.apply(event),
        }
        let context = told(event);
        for (end, last) in [End::Killed, End::PowerLoss, End::NamesFirst].into_iter().zip(&mut last) {
            let image = disk.image(end);
            if *last == image && !matches!(event, Event::Ended(_)) {
                continue;
            }
            let same_names = outside(last).eq(outside(&image));
            like += usize::from(same_names);
            named += usize::from(!same_names);
            let counts =
                if same_names { like % stride == 0 } else { named % stride.div_ceil(NAMES_SHARE) == 0 };
            *last = image.clone();
            if counts || context.contains(CURRENT_NAME) {
                let context = format!("{end:?} after event {number}, {context}");
                states.push(State { image, model: model.clone(), pending: pending.clone(), context });
            }
        }
    }
    states
}

/// The names of what is not still being built.
fn outside(image: &Image) -> impl Iterator<Item = &PathBuf> {
    image.keys().filter(|path| !path.iter().any(|part| part == ".build"))
}

/// Looks at all states, several at a time, for they wait for the disk. The generations that were met.
fn check_all(states: Vec<State>) -> BTreeSet<Generation> {
    let (states, met) = (Mutex::new(states), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(state) = states.lock().unwrap().pop() else { return };
                    let generation = state.check();
                    met.lock().unwrap().insert(generation);
                }
            });
        }
    });
    met.into_inner().unwrap()
}

/// An event without its bytes.
fn told(event: &Event) -> String {
    match event {
        Event::Written { file, offset, bytes } => format!("{} bytes to file {file} at {offset}", bytes.len()),
        other => format!("{other:?}"),
    }
}

/// Every state where somebody asks for it.
fn stride() -> usize {
    std::env::var("GLEANN_STRIDE").map_or(64, |stride| stride.parse().expect("GLEANN_STRIDE is a number"))
}

#[test]
fn a_compaction_may_end_anywhere() {
    for backend in BACKENDS {
        let updates = updates();
        let states = states(record(backend, &updates), &updates, stride());
        eprintln!("{backend}: {} states", states.len());
        assert_eq!(check_all(states), (0..=ROUNDS).map(Generation).collect(), "{backend}");
    }
}
