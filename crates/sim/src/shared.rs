//! What all threads share: the queue of tasks, and how many are done.

use crate::costs::UpdateCosts;
use crate::task::Task;
use gleann_lios::Queue;
use std::cell::Cell;

/// The tasks of a phase. Producers fill the queue as soon as there is room.
#[derive(Debug)]
pub(crate) struct Shared {
    queue: Queue<Task>,
    costs: UpdateCosts,
    seed: u64,
    first: u64,
    total: u64,
    made: Cell<u64>,
    done: Cell<u64>,
    last_ns: Cell<u64>,
}

impl Shared {
    /// `total` tasks, through a queue of `places`.
    pub(crate) fn new(costs: UpdateCosts, total: u64, places: u32) -> Self {
        Self {
            queue: Queue::new(places as usize),
            costs,
            seed: 0,
            first: 0,
            total,
            made: Cell::new(0),
            done: Cell::new(0),
            last_ns: Cell::new(0),
        }
    }

    /// Begins at `now_ns`, with tasks that belong to `seed` and are numbered from `first`.
    pub(crate) fn begin(mut self, now_ns: u64, first: u64, seed: u64) -> Self {
        (self.first, self.seed) = (first, seed);
        self.last_ns.set(now_ns);
        self.fill();
        self
    }

    /// Whether a task waits to be begun.
    pub(crate) fn has_waiting(&self) -> bool {
        self.queue.depth() > 0
    }

    /// The next task.
    pub(crate) fn take(&self) -> Option<Task> {
        let task = self.queue.try_take()?.finish();
        self.fill();
        Some(task)
    }

    /// A task ended at `at_ns`.
    pub(crate) fn ended(&self, at_ns: u64) {
        self.done.set(self.done.get() + 1);
        self.last_ns.set(self.last_ns.get().max(at_ns));
    }

    /// Tasks that are done.
    pub(crate) fn done(&self) -> u64 {
        self.done.get()
    }

    /// When everything has ended, what follows the tasks included. None before the last task has.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        let serial_ns = 1e3 * self.costs.serial_us * self.total as f64;
        (self.done.get() == self.total).then(|| self.last_ns.get() + serial_ns as u64)
    }

    fn fill(&self) {
        while self.made.get() < self.total {
            let mut task = Task::new(&self.costs, self.made.get(), self.seed);
            task.number += self.first;
            if self.queue.try_push(task).is_err() {
                break;
            }
            self.made.set(self.made.get() + 1);
        }
    }
}
