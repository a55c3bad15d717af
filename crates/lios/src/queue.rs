//! The one queue of update tasks: first in, first out, bounded, shared by all cores (LIOS §4.1, §5).
//!
//! A task that is taken keeps its place in the bound until it is finished. So it can always go back to the tail, without
//! waiting and without being refused, and the tasks that wait and those that are being worked on never exceed the bound
//! together. Unfinished tasks go behind all others: with n tasks in the queue each gets its turn within n takes.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a task was not taken in; it comes back with the answer.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused<T> {
    /// Every place is taken. Only [`Queue::try_push`] says so.
    #[error("the queue of update tasks is full")]
    Full(T),
    /// The queue was closed.
    #[error("the queue of update tasks is closed")]
    Closed(T),
}

impl<T> Refused<T> {
    /// The task.
    pub fn into_task(self) -> T {
        match self {
            Refused::Full(task) | Refused::Closed(task) => task,
        }
    }
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Full(_) => "Full",
            Refused::Closed(_) => "Closed",
        })
    }
}

/// The queue.
#[derive(Debug)]
pub struct Queue<T> {
    capacity: usize,
    state: Mutex<State<T>>,
    /// Tasks that wait, as of the last change: lets a core with nothing to take leave the lock alone.
    depth: AtomicUsize,
    room: Condvar,
    work: Condvar,
    drained: Condvar,
}

#[derive(Debug)]
struct State<T> {
    tasks: VecDeque<T>,
    /// Tasks that are out, each with its place.
    taken: usize,
    deepest: usize,
    closed: bool,
}

impl<T> State<T> {
    fn is_drained(&self) -> bool {
        self.tasks.is_empty() && self.taken == 0
    }
}

impl<T> Queue<T> {
    /// An empty queue for at most `capacity` tasks, those being worked on included. All memory is taken now.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a queue without a place would never take a task in");
        let state = State { tasks: VecDeque::with_capacity(capacity), taken: 0, deepest: 0, closed: false };
        Self {
            capacity,
            state: Mutex::new(state),
            depth: AtomicUsize::new(0),
            room: Condvar::new(),
            work: Condvar::new(),
            drained: Condvar::new(),
        }
    }

    /// Takes a task in; waits while every place is taken. For threads that only produce: a core that searches must not
    /// wait for itself, and uses [`Queue::try_push`].
    pub fn push(&self, task: T) -> Result<(), Refused<T>> {
        let mut state = self.state.lock();
        while !state.closed && !self.has_room(&state) {
            self.room.wait(&mut state);
        }
        if state.closed {
            return Err(Refused::Closed(task));
        }
        self.append(state, task);
        Ok(())
    }

    /// Takes a task in if there is a place for it.
    pub fn try_push(&self, task: T) -> Result<(), Refused<T>> {
        let state = self.state.lock();
        if state.closed {
            return Err(Refused::Closed(task));
        }
        if !self.has_room(&state) {
            return Err(Refused::Full(task));
        }
        self.append(state, task);
        Ok(())
    }

    /// The task at the head, if there is one. Never waits for one; takes no lock where there is none.
    pub fn try_take(&self) -> Option<Taken<'_, T>> {
        if self.depth() == 0 {
            return None;
        }
        self.detach(&mut self.state.lock())
    }

    /// The task at the head; waits for one. None once the queue is closed and everything in it is finished. For
    /// threads that do nothing but update.
    pub fn take(&self) -> Option<Taken<'_, T>> {
        let mut state = self.state.lock();
        loop {
            if let Some(taken) = self.detach(&mut state) {
                return Some(taken);
            }
            if state.closed && state.is_drained() {
                return None;
            }
            self.work.wait(&mut state);
        }
    }

    /// Refuses all further tasks. Those inside are still to be taken, put back and finished.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.room.notify_all();
        self.work.notify_all();
    }

    /// Waits until every task is finished. Tasks that come meanwhile are waited for as well.
    pub fn wait_drained(&self) {
        let mut state = self.state.lock();
        while !state.is_drained() {
            self.drained.wait(&mut state);
        }
    }

    /// Most tasks it holds, those being worked on included.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Tasks that wait to be taken. Without a lock, so it may be a moment old.
    pub fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// Tasks that are not finished: those that wait and those being worked on.
    pub fn unfinished(&self) -> usize {
        let state = self.state.lock();
        state.tasks.len() + state.taken
    }

    /// The most that were unfinished at once.
    pub fn deepest(&self) -> usize {
        self.state.lock().deepest
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    fn has_room(&self, state: &State<T>) -> bool {
        state.tasks.len() + state.taken < self.capacity
    }

    fn append(&self, mut state: MutexGuard<'_, State<T>>, task: T) {
        state.tasks.push_back(task);
        let unfinished = state.tasks.len() + state.taken;
        assert!(unfinished <= self.capacity, "a task came in without a place");
        state.deepest = state.deepest.max(unfinished);
        self.depth.store(state.tasks.len(), Ordering::Relaxed);
        drop(state);
        self.work.notify_one();
    }

    fn detach<'q>(&'q self, state: &mut State<T>) -> Option<Taken<'q, T>> {
        let task = state.tasks.pop_front()?;
        state.taken += 1;
        self.depth.store(state.tasks.len(), Ordering::Relaxed);
        Some(Taken { queue: self, task: Some(task) })
    }

    /// Gives the place of a taken task to `task`, at the tail.
    fn put_back(&self, task: T) {
        let mut state = self.state.lock();
        assert!(state.taken > 0, "a task was put back that nobody took");
        state.taken -= 1;
        self.append(state, task);
    }

    /// Frees the place of a taken task.
    fn release(&self) {
        let mut state = self.state.lock();
        assert!(state.taken > 0, "a task was finished that nobody took");
        state.taken -= 1;
        let (drained, closed) = (state.is_drained(), state.closed);
        drop(state);
        self.room.notify_one();
        if drained {
            self.drained.notify_all();
            if closed {
                self.work.notify_all();
            }
        }
    }
}

/// A task that was taken, and its place in the bound. Dropping it finishes the task, and frees the place.
#[derive(Debug)]
pub struct Taken<'q, T> {
    queue: &'q Queue<T>,
    task: Option<T>,
}

impl<T> Taken<'_, T> {
    /// The task, to be worked on.
    pub fn task(&mut self) -> &mut T {
        self.task.as_mut().expect("whatever takes it out consumes this")
    }

    /// Puts the task back, at the tail. Never waits for room, is never refused.
    pub fn put_back(mut self) {
        if let Some(task) = self.task.take() {
            self.queue.put_back(task);
        }
        std::mem::forget(self);
    }

    /// The task is done: hands it to `done`, then frees its place. So who waits for the queue to drain waits for `done`.
    pub fn finish_with(mut self, done: impl FnOnce(T)) {
        if let Some(task) = self.task.take() {
            done(task);
        }
    }

    /// The task is done: frees its place and hands it out.
    pub fn finish(mut self) -> T {
        self.task.take().expect("whatever takes it out consumes this")
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.queue.release();
    }
}
