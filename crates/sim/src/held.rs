//! The tasks that one thread has begun.

use crate::shared::Shared;
use crate::task::Task;

/// Tasks of one thread, in the order they were begun.
#[derive(Debug)]
pub(crate) struct Held {
    tasks: Vec<Task>,
    room: usize,
}

impl Held {
    /// Room for so many.
    pub(crate) fn new(room: u32) -> Self {
        Self { tasks: Vec::with_capacity(room as usize), room: room as usize }
    }

    /// Whether none was begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The first task that can go on at `now_ns`, one from the queue if none of those begun can and there is room.
    pub(crate) fn next(&mut self, now_ns: u64, shared: &Shared) -> Option<usize> {
        if let Some(at) = self.tasks.iter().position(|task| task.ready_ns <= now_ns) {
            return Some(at);
        }
        if self.tasks.len() >= self.room {
            return None;
        }
        self.tasks.push(shared.take()?);
        Some(self.tasks.len() - 1)
    }

    /// A task.
    pub(crate) fn task(&mut self, at: usize) -> &mut Task {
        &mut self.tasks[at]
    }

    /// A task is done.
    pub(crate) fn remove(&mut self, at: usize) {
        self.tasks.remove(at);
    }

    /// It is known when the reads of task `number` come.
    pub(crate) fn will_be_ready(&mut self, number: u64, at_ns: u64) {
        if let Some(task) = self.tasks.iter_mut().find(|task| task.number == number) {
            task.ready_ns = at_ns;
        }
    }

    /// When the first of those that wait can go on; none where that is not known of any.
    pub(crate) fn ready_ns(&self) -> Option<u64> {
        self.tasks.iter().map(|task| task.ready_ns).min().filter(|&at_ns| at_ns < u64::MAX)
    }
}
