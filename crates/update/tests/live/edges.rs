//! What is seldom: nothing left, everything the same, the entry point gone.

use crate::model::Model;
use crate::steps::{Session, Step};
use crate::walk::walk;
use crate::world::{DIM, create, insert, open, vector};
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Backend, Durability, Outcome};
use std::sync::Arc;

const BOTH: [Backend; 2] = [Backend::Odin, Backend::Fresh];

fn session_of(backend: Backend, vectors: &[[f32; DIM]]) -> Session {
    let volume: Arc<dyn Volume> = Arc::new(SimVolume::new());
    create(&volume, backend, vectors);
    Session::open(&volume, Model((0..).zip(vectors.iter().copied()).collect())).unwrap()
}

impl Session {
    fn put(&mut self, key: u64, vector: [f32; DIM]) {
        let there = self.model().0.contains_key(&key);
        let outcome = insert(&self.live, &self.volume, (key, vector, true)).unwrap();
        assert_eq!(outcome, if there { Outcome::Replaced } else { Outcome::Inserted });
        self.history().settled.0.insert(key, vector);
    }

    fn all(&mut self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            self.take((0, step)).unwrap();
        }
    }

    /// The model holds now, after a checkpoint and repair, and when opened again.
    fn check_to_the_end(&mut self, context: &str) {
        self.check(context);
        for step in [Step::Checkpoint, Step::Repair, Step::Reopen, Step::Repair] {
            self.all([step]);
            self.check(&format!("{context}, then {step:?}"));
        }
        let walk = walk(&self.live, &self.volume);
        assert!(walk.unreachable.is_empty(), "{context}: {walk:?}");
    }
}

#[test]
fn what_comes_after_everything_has_gone_is_linked() {
    for backend in BOTH {
        for between in [vec![], vec![Step::Checkpoint], vec![Step::Repair], vec![Step::Repair, Step::Reopen]]
        {
            let mut session = Session::begin(&SimVolume::new(), backend, 250);
            session.all((0..250).map(Step::Delete));
            session.check("all deleted");
            session.all(between.iter().copied());
            for key in 0..10 {
                session.put(key, vector(700 + key));
                session.check(&format!("{backend}: all deleted, {between:?}, {key} inserted"));
            }
            session.check_to_the_end(&format!("{backend}: all deleted, {between:?}, ten inserted"));
            session.all((0..10).map(Step::Delete).chain([Step::Repair, Step::Repair, Step::Reopen]));
            session.check("empty again");
            session.put(3, vector(1));
            session.check_to_the_end("and one inserted");
        }
    }
}

#[test]
fn an_index_of_nothing_grows() {
    for backend in BOTH {
        let mut session = session_of(backend, &[]);
        for key in 0..200 {
            session.put(key, vector(key));
        }
        session.check_to_the_end("200 inserted into nothing");
    }
}

#[test]
fn an_insert_among_the_deleted_takes_nothing_from_the_others() {
    // Far more deleted nodes about the new one than a search looks at, the entry point among them.
    let near = |key: u64| vector(key);
    let far = |key: u64| vector(key).map(|x| x + 400.0);
    for backend in BOTH {
        let vectors: Vec<_> = (0..300).map(|key| if key < 250 { near(key) } else { far(key) }).collect();
        let mut session = session_of(backend, &vectors);
        session.all((0..250).map(Step::Delete));
        session.check("the near ones deleted");
        session.put(7, near(7));
        session.put(8, near(8));
        session.check_to_the_end("two near ones inserted");
    }
}

#[test]
fn few_that_remain_of_many_are_found() {
    for backend in BOTH {
        for kept in [1, 2, 10, 40] {
            let mut session = Session::begin(&SimVolume::new(), backend, 2500);
            session.all((0..2500).filter(|key| key % (2500 / kept) != 3).map(Step::Delete));
            session.check("most deleted");
            session.check_to_the_end(&format!("{backend}: {kept} of 2500 kept"));
        }
    }
}

#[test]
fn identical_vectors_are_all_found() {
    for backend in BOTH {
        for built in [0, 1, 40] {
            let mut session = session_of(backend, &vec![[5.0; DIM]; built]);
            for key in 0..60 {
                session.put(1000 + key, [5.0; DIM]);
            }
            session.check(&format!("{backend}: {built} built, 60 identical"));
            for key in 0..30 {
                session.put(2000 + key, vector(key));
            }
            session.check(&format!("{backend}: {built} built, 60 identical, 30 others"));
            session.all((0..50).map(|key| Step::Delete(1000 + key)));
            session.check_to_the_end("most deleted");
        }
    }
}

#[test]
fn a_key_is_replaced_again_and_again() {
    for backend in BOTH {
        for rows in [0, 1, 80] {
            let mut session = Session::begin(&SimVolume::new(), backend, rows);
            for round in 0..150 {
                session.put(5, vector(3000 + round));
                if round % 20 == 7 {
                    session.all([Step::Repair]);
                }
                if round % 5 == 0 {
                    session.check(&format!("{backend}: {rows} rows, round {round}"));
                }
            }
            session.check_to_the_end("replaced 150 times");
            let places = walk(&session.live, &session.volume).places;
            assert!(places < rows as usize + 200, "{backend}: {rows} rows, {places} places");
        }
    }
}

#[test]
fn the_entry_point_may_be_deleted() {
    for backend in BOTH {
        let mut session = Session::begin(&SimVolume::new(), backend, 60);
        for _ in 0..40 {
            let version = session.live.index().changes.as_ref().unwrap().latest();
            let entry = version.view.entry.unwrap();
            let key = version.view.nodes.key(entry);
            drop(version);
            session.all([Step::Delete(key)]);
            session.check("the entry point deleted");
            session.all([Step::Repair]);
            session.check("and repaired");
        }
        session.check_to_the_end("the entry point deleted 40 times");
    }
}

#[test]
fn a_log_that_is_gone_is_told() {
    let volume = SimVolume::new();
    let mut session = Session::begin(&volume, Backend::Odin, 30);
    session.put(100, vector(1));
    let shared = session.volume.clone();
    drop(session);
    shared.remove("wal-0000000000000001.gln").unwrap();
    let error = open(&shared, Durability::Each).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("wal-0000000000000001.gln"), "{error}");
}
