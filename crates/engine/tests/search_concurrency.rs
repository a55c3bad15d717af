//! Many callers of one index: nothing hangs, and nobody feels the others' cancellations, deadlines and dropped
//! futures.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{
    CancelToken, EngineChoice, Hit, Index, Metric, OpenOptions, SearchError, SearchKind, SearchOptions, Width,
};
use gleann_vector::Matrix;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use support::{Built, ENGINES, block_on, built, queries, watchdog, with_engine};

const QUERIES: usize = 40;

struct Fixture {
    set: Built<u8>,
    queries: Matrix<u8>,
    expected: Vec<Vec<Hit>>,
}

const PLAIN: SearchOptions =
    SearchOptions { list: 30, kind: SearchKind::Beam, width: Width::Fixed(4), ..SearchOptions::DEFAULT };

fn fixture() -> Fixture {
    let set = built::<u8>(Metric::L2, 400, 16);
    let queries = queries::<u8>(QUERIES, 16);
    let index = set.open(EngineChoice::Mmap);
    let expected =
        (0..QUERIES).map(|query| index.search(queries.row(query), 8, &PLAIN).unwrap().hits).collect();
    Fixture { set, queries, expected }
}

impl Fixture {
    /// One call of one kind; its outcome is the right one for its kind.
    fn call(&self, index: &Index, number: usize) {
        let which = number * 7 % QUERIES;
        let (query, expected) = (self.queries.row(which), &self.expected[which]);
        let within = |deadline| SearchOptions { deadline: Some(deadline), ..PLAIN };
        match number % 8 {
            0 | 1 => assert_eq!(&index.search(query, 8, &PLAIN).unwrap().hits, expected),
            2 => {
                let dim = self.queries.dim();
                let found = index.search_batch(&self.queries.as_slice()[..12 * dim], 8, &PLAIN);
                for (found, expected) in found.into_iter().zip(&self.expected) {
                    assert_eq!(&found.unwrap().hits, expected);
                }
            }
            3 => assert_eq!(&block_on(index.search_async(query, 8, &PLAIN)).unwrap().hits, expected),
            4 => {
                let token = CancelToken::new();
                token.cancel();
                let outcome = index.search_with(query, 8, &PLAIN, &token);
                assert!(matches!(outcome, Err(SearchError::Cancelled)), "{outcome:?}");
            }
            5 => {
                let outcome = index.search(query, 8, &within(Duration::ZERO));
                assert!(matches!(outcome, Err(SearchError::Deadline(Duration::ZERO))), "{outcome:?}");
            }
            6 => match index.search(query, 8, &within(Duration::from_micros(1))) {
                Ok(found) => assert_eq!(&found.hits, expected),
                Err(error) => {
                    assert_eq!(error.to_string(), "the deadline of 1µs passed before the search ended");
                }
            },
            _ => self.half_way(index, which),
        }
    }

    /// Starts a search and drops it.
    fn half_way(&self, index: &Index, which: usize) {
        let mut future = pin!(index.search_async(self.queries.row(which), 8, &PLAIN));
        let started = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(found) = started {
            assert_eq!(found.unwrap().hits, self.expected[which]);
        }
    }
}

#[test]
fn callers_of_every_kind_do_not_disturb_each_other() {
    let _watchdog = watchdog("callers of every kind");
    let fixture = fixture();
    for engine in ENGINES {
        for in_flight in [1, 3] {
            let options = OpenOptions { in_flight, ..with_engine(engine) };
            let index = Index::open(fixture.set.path(), options).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let (fixture, index) = (&fixture, &index);
                    scope.spawn(move || (0..40).for_each(|i| fixture.call(index, thread * 11 + i)));
                }
            });
            // Every slot has been through all of it.
            for number in 0..16 {
                fixture.call(&index, number);
            }
        }
    }
}

#[test]
fn the_last_of_many_owners_closes_the_index() {
    let _watchdog = watchdog("many owners");
    let fixture = Arc::new(fixture());
    for engine in ENGINES {
        for round in 0..5 {
            let index = Arc::new(fixture.set.open(engine));
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let (fixture, index) = (fixture.clone(), index.clone());
                    std::thread::spawn(move || {
                        (0..=thread + round).for_each(|i| fixture.call(&index, thread + i));
                        // The last call of some threads is one that nobody waits for.
                        fixture.half_way(&index, thread);
                    })
                })
                .collect();
            drop(index);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    }
}

#[test]
fn closing_waits_for_searches_that_nobody_waits_for() {
    let _watchdog = watchdog("closing");
    let fixture = fixture();
    for engine in ENGINES {
        let options = OpenOptions { in_flight: 2, threads: 1, ..with_engine(engine) };
        for _ in 0..20 {
            let index = Index::open(fixture.set.path(), options.clone()).unwrap();
            (0..QUERIES).for_each(|which| fixture.half_way(&index, which));
        }
    }
}

#[test]
fn cancelling_from_another_thread_ends_the_search_or_comes_too_late() {
    let _watchdog = watchdog("cancelling");
    let fixture = fixture();
    let index = fixture.set.open(EngineChoice::Auto);
    for round in 0..50 {
        let token = CancelToken::new();
        let which = round % QUERIES;
        std::thread::scope(|scope| {
            let canceller = token.clone();
            scope.spawn(move || {
                std::thread::sleep(Duration::from_micros(20 * round as u64));
                canceller.cancel();
            });
            match index.search_with(fixture.queries.row(which), 8, &PLAIN, &token) {
                Ok(found) => assert_eq!(found.hits, fixture.expected[which]),
                Err(error) => assert_eq!(error.to_string(), "the search was cancelled"),
            }
        });
        assert_eq!(
            index.search(fixture.queries.row(which), 8, &PLAIN).unwrap().hits,
            fixture.expected[which]
        );
    }
}

#[test]
fn deadlines_beyond_the_clock_are_no_deadlines() {
    let _watchdog = watchdog("late deadlines");
    let fixture = fixture();
    let index = fixture.set.open(EngineChoice::Auto);
    // 2⁶⁴ ns and a little: would be a little if it wrapped.
    for deadline in [Duration::MAX, Duration::new(18_446_744_073, 709_551_617), Duration::from_secs(3600)] {
        let options = SearchOptions { deadline: Some(deadline), ..PLAIN };
        let found = index.search(fixture.queries.row(0), 8, &options).unwrap();
        assert_eq!(found.hits, fixture.expected[0]);
    }
}

#[test]
fn a_caller_may_run_on_glommio_itself() {
    let _watchdog = watchdog("glommio caller");
    let fixture = Arc::new(fixture());
    for engine in ENGINES {
        let index = Arc::new(fixture.set.open(engine));
        let (fixture, index) = (fixture.clone(), index.clone());
        // A preemption timer that fires at the wrong moment makes glommio sleep with runnable tasks.
        let builder = glommio::LocalExecutorBuilder::default().preempt_timer(Duration::from_secs(1 << 30));
        let caller = builder.spawn(move || async move {
            let tasks: Vec<_> = (0..QUERIES)
                .map(|which| {
                    let (fixture, index) = (fixture.clone(), index.clone());
                    glommio::spawn_local(async move {
                        for _ in 0..3 {
                            let found = index.search_async(fixture.queries.row(which), 8, &PLAIN).await;
                            assert_eq!(found.unwrap().hits, fixture.expected[which]);
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await;
            }
        });
        match caller {
            Ok(caller) => caller.join().unwrap(),
            Err(error) => eprintln!("no glommio here: {error}"),
        }
    }
}

#[test]
fn batches_of_several_callers_share_the_cores() {
    let _watchdog = watchdog("batches");
    let fixture = fixture();
    for in_flight in [1, 2, 16] {
        let options = OpenOptions { in_flight, ..with_engine(EngineChoice::Auto) };
        let index = Index::open(fixture.set.path(), options).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let found = index.search_batch(fixture.queries.as_slice(), 8, &PLAIN);
                        assert_eq!(found.len(), QUERIES);
                        for (found, expected) in found.into_iter().zip(&fixture.expected) {
                            assert_eq!(&found.unwrap().hits, expected);
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn the_widest_and_longest_searches_share_a_core() {
    let _watchdog = watchdog("widest and longest");
    let fixture = fixture();
    for engine in ENGINES {
        let options = OpenOptions { in_flight: 1024, threads: 1, ..with_engine(engine) };
        let index = Index::open(fixture.set.path(), options).unwrap();
        for kind in [SearchKind::Beam, SearchKind::Pipe] {
            let options =
                SearchOptions { list: 65_535, kind, width: Width::Fixed(128), ..SearchOptions::default() };
            let found = index.search_batch(fixture.queries.as_slice(), 400, &options);
            for (query, found) in found.into_iter().enumerate() {
                let query = fixture.queries.row(query);
                let hits = found.unwrap().hits;
                fixture.set.check_hits(query, 400, &hits);
                assert_eq!(hits.len(), 400, "a list as long as the index finds everything");
            }
        }
    }
}

#[test]
fn a_batch_and_single_searches_do_not_starve_each_other() {
    let _watchdog = watchdog("starvation");
    let fixture = fixture();
    for engine in ENGINES {
        let options = OpenOptions { in_flight: 1, threads: 1, ..with_engine(engine) };
        let index = Index::open(fixture.set.path(), options).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        index.search(fixture.queries.row(0), 8, &PLAIN).unwrap();
                    }
                });
            }
            for found in index.search_batch(fixture.queries.as_slice(), 8, &PLAIN) {
                assert!(found.is_ok());
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
