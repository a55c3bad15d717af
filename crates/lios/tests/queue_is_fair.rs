//! The queue keeps its order and its bound, and every task is finished, whoever works on it.

use gleann_lios::{Queue, Refused};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn first_in_first_out_and_unfinished_ones_to_the_tail() {
    let queue = Queue::new(3);
    (0..3).for_each(|task| queue.push(task).unwrap());
    let mut first = queue.try_take().unwrap();
    assert_eq!(*first.task(), 0);
    assert_eq!((queue.depth(), queue.unfinished()), (2, 3));
    first.put_back();
    let rest: Vec<i32> = std::iter::from_fn(|| queue.try_take().map(|taken| taken.finish())).collect();
    assert_eq!(rest, [1, 2, 0]);
    assert_eq!((queue.depth(), queue.unfinished(), queue.deepest()), (0, 0, 3));
}

#[test]
fn a_taken_task_keeps_its_place() {
    let queue = Queue::new(2);
    queue.try_push('a').unwrap();
    queue.try_push('b').unwrap();
    let a = queue.try_take().unwrap();
    assert_eq!(queue.try_push('c'), Err(Refused::Full('c')));
    a.put_back();
    assert_eq!(queue.try_push('c').unwrap_err().into_task(), 'c');
    drop(queue.try_take());
    queue.try_push('c').unwrap();
    assert_eq!(queue.deepest(), 2);
}

#[test]
fn a_closed_queue_gives_out_what_it_holds() {
    let queue = Queue::new(4);
    queue.push(1).unwrap();
    queue.push(2).unwrap();
    queue.close();
    assert!(queue.is_closed());
    assert_eq!(queue.push(3), Err(Refused::Closed(3)));
    assert_eq!(queue.try_push(3), Err(Refused::Closed(3)));
    queue.take().unwrap().put_back();
    assert_eq!(queue.take().unwrap().finish(), 2);
    assert_eq!(queue.take().unwrap().finish(), 1);
    assert!(queue.take().is_none());
}

#[test]
fn whoever_waits_for_a_closed_queue_sees_the_last_task_come_back() {
    let queue = Queue::new(1);
    queue.push(1).unwrap();
    let taken = queue.try_take().unwrap();
    queue.close();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| queue.take().map(|taken| taken.finish()));
        thread::sleep(Duration::from_millis(5));
        taken.put_back();
        assert_eq!(waiting.join().unwrap(), Some(1));
    });
    assert!(queue.take().is_none());
}

#[test]
fn a_producer_waits_for_room_and_no_longer_than_the_queue_is_open() {
    let queue = Queue::new(1);
    queue.push(1).unwrap();
    thread::scope(|scope| {
        let producer = scope.spawn(|| (queue.push(2), queue.push(3)));
        thread::sleep(Duration::from_millis(5));
        assert_eq!(queue.unfinished(), 1);
        queue.try_take().unwrap().finish();
        while queue.depth() == 0 {
            thread::yield_now();
        }
        queue.close();
        assert_eq!(producer.join().unwrap(), (Ok(()), Err(Refused::Closed(3))));
    });
}

#[test]
fn work_that_panics_frees_its_place() {
    let queue = Queue::new(1);
    queue.push(1).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _taken = queue.try_take().unwrap();
        panic!("in the middle of a task");
    }));
    assert!(panicked.is_err());
    assert_eq!(queue.unfinished(), 0);
    queue.try_push(2).unwrap();
    queue.try_take().unwrap().finish_with(|task| assert_eq!((task, queue.unfinished()), (2, 1)));
    assert_eq!(queue.unfinished(), 0);
}

/// Four cores and two producers: every task gets its turns, all finish, the bound holds throughout.
#[test]
fn every_task_is_finished_and_none_starves() {
    const TASKS: usize = 2000;
    const TURNS: usize = 5;
    let queue = Queue::<usize>::new(16);
    let turns: Vec<AtomicUsize> = (0..TASKS).map(|_| AtomicUsize::new(0)).collect();
    let work = || {
        while let Some(mut taken) = queue.take() {
            let turn = turns[*taken.task()].fetch_add(1, Ordering::Relaxed) + 1;
            if turn < TURNS { taken.put_back() } else { drop(taken) }
        }
    };
    thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(work)));
        let producers = [0, 1].map(|half| {
            scope.spawn({
                let queue = &queue;
                move || (half..TASKS).step_by(2).for_each(|task| queue.push(task).unwrap())
            })
        });
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        queue.wait_drained();
        assert_eq!(queue.unfinished(), 0);
        queue.close();
    });
    assert!(turns.iter().all(|turns| turns.load(Ordering::Relaxed) == TURNS));
    assert!(queue.deepest() <= 16);
}

/// With n tasks inside, each gets a turn within n takes.
#[test]
fn turns_are_dealt_in_rounds() {
    let queue = Queue::new(7);
    (0..7).for_each(|task| queue.push(task).unwrap());
    for _ in 0..20 {
        let round: Vec<usize> = (0..7)
            .map(|_| {
                let mut taken = queue.try_take().unwrap();
                let task = *taken.task();
                taken.put_back();
                task
            })
            .collect();
        assert_eq!(round, [0, 1, 2, 3, 4, 5, 6]);
    }
}
