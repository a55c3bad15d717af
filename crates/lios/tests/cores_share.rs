//! Several cores in threads of their own: one queue, one tuner, counters that add up.

use gleann_lios::{
    BudgetKind, CoreLios, Lios, LiosOptions, Queue, Queued, Resumable, Step, Utilisation, run_to_end,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const TASKS: u64 = 3000;

struct Count<'a> {
    left: u32,
    done: &'a AtomicU64,
}

impl Resumable for Count<'_> {
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Step {
        while self.left > 1 {
            self.left -= 1;
            if spent() {
                return Step::More;
            }
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        Step::Done
    }
}

/// Stalls of 20 ticks of a clock of its own, until the queue is closed and drained.
fn search(mut core: CoreLios, queue: &Queue<Count<'_>>) {
    let clock = AtomicU64::new(0);
    let now = || clock.fetch_add(1, Ordering::Relaxed);
    while !(queue.is_closed() && queue.unfinished() == 0) {
        let arrival = clock.load(Ordering::Relaxed) + 20;
        let report =
            core.stall(1, now, || clock.load(Ordering::Relaxed) > arrival, &mut Queued::new(queue, drop));
        if !report.arrived {
            core.arrived(arrival);
        }
        core.search_ended(now(), 5);
    }
}

#[test]
fn every_task_is_finished_once_and_counted_once() {
    let done = AtomicU64::new(0);
    let options = LiosOptions {
        budget: BudgetKind::OnArrival,
        utilisation: Utilisation::Fixed(1.0),
        ..LiosOptions::new(0.05)
    };
    let lios = Lios::new(options).unwrap();
    let queue = Queue::new(64);
    let by_workers = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            let core = lios.core();
            scope.spawn(|| search(core, &queue));
        }
        scope.spawn(|| {
            while let Some(mut taken) = queue.take() {
                run_to_end(taken.task());
                by_workers.fetch_add(1, Ordering::Relaxed);
            }
        });
        for task in 0..TASKS {
            let job = Count { left: 1 + (task % 90) as u32, done: &done };
            queue.push(job).unwrap();
        }
        queue.close();
    });
    assert_eq!(done.load(Ordering::Relaxed), TASKS);
    let totals = lios.totals();
    assert_eq!(totals.tasks_finished + by_workers.load(Ordering::Relaxed), TASKS);
    assert!(totals.slices >= totals.tasks_finished && totals.harvested_ns() <= totals.idle_ns);
    assert!(queue.deepest() <= 64);
}
