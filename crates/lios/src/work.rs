//! What can be worked on in a stall.

use crate::queue::Queue;
use crate::resumable::{Resumable, Step};

/// What a piece of work came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There was nothing to do.
    Nothing,
    /// Nothing can be done before something has come that was not here yet, such as a read of an update's own.
    Waiting,
    /// The time is up; there is more.
    More,
    /// A task has ended.
    Done,
}

/// The updates that a core works on.
pub trait Work {
    /// Whether there is anything to do. A guess is good enough; asked about at every stall.
    fn is_there(&self) -> bool;

    /// Goes on with one task until it has ended or `spent` says that the time is up, which may look at a clock: it is to be
    /// asked about once a microsecond.
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Progress;
}

/// Work from a queue: a task that did not end goes back to its end.
#[derive(Debug)]
pub struct Queued<'q, T, F> {
    queue: &'q Queue<T>,
    done: F,
}

impl<'q, T: Resumable, F: FnMut(T)> Queued<'q, T, F> {
    /// Hands the tasks that have ended to `done`.
    pub fn new(queue: &'q Queue<T>, done: F) -> Self {
        Self { queue, done }
    }
}

impl<T: Resumable, F: FnMut(T)> Work for Queued<'_, T, F> {
    fn is_there(&self) -> bool {
        self.queue.depth() > 0
    }

    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Progress {
        let Some(mut taken) = self.queue.try_take() else { return Progress::Nothing };
        match taken.task().step(spent) {
            Step::More => {
                taken.put_back();
                Progress::More
            }
            Step::Done => {
                taken.finish_with(&mut self.done);
                Progress::Done
            }
        }
    }
}
