//! Updates as a searching core works on them: slices, in virtual time.

use crate::held::Held;
use crate::shared::Shared;
use crate::task::{Effect, Piece};
use gleann_lios::{Progress, Work};
use std::cell::Cell;

/// Operations of an update on the device, submitted at `at_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    pub(crate) at_ns: u64,
    pub(crate) operations: u32,
    /// The task that waits for them, if one does.
    pub(crate) task: Option<u64>,
}

/// The updates of a core during one slice. The clock moves on as it works; what it submits is for the device to take in
/// once the time of everybody else has got there.
pub(crate) struct CoreWork<'a> {
    pub(crate) clock: &'a Cell<u64>,
    pub(crate) held: &'a mut Held,
    pub(crate) shared: &'a Shared,
    pub(crate) sent: &'a mut Vec<Sent>,
    pub(crate) resume_ns: u64,
    pub(crate) look_ns: u64,
    pub(crate) slowdown: f64,
}

impl CoreWork<'_> {
    fn pass(&self, ns: u64) {
        self.clock.set(self.clock.get() + (ns as f64 * self.slowdown) as u64);
    }

    fn send(&mut self, operations: u32, task: Option<u64>) {
        if operations > 0 {
            self.sent.push(Sent { at_ns: self.clock.get(), operations, task });
        }
    }

    /// One piece of a task. None if there is more of it to compute.
    fn piece(&mut self, at: usize) -> Option<Progress> {
        let ns = match self.held.task(at).piece() {
            Piece::Whole(ns) => ns,
            Piece::Divisible(left_ns) => left_ns.min(self.look_ns),
        };
        self.pass(ns);
        let task = self.held.task(at);
        let number = task.number;
        match task.advance(ns) {
            Effect::More => None,
            Effect::Part => Some(Progress::More),
            Effect::Reads(reads) => {
                task.ready_ns = u64::MAX;
                self.send(reads, Some(number));
                Some(Progress::More)
            }
            Effect::Done(operations) => {
                self.held.remove(at);
                self.send(operations, None);
                self.shared.ended(self.clock.get());
                Some(Progress::Done)
            }
        }
    }
}

impl Work for CoreWork<'_> {
    fn is_there(&self) -> bool {
        !self.held.is_empty() || self.shared.has_waiting()
    }

    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Progress {
        let Some(at) = self.held.next(self.clock.get(), self.shared) else {
            return if self.held.is_empty() { Progress::Nothing } else { Progress::Waiting };
        };
        self.pass(self.resume_ns);
        loop {
            if let Some(progress) = self.piece(at) {
                return progress;
            }
            if spent() {
                return Progress::More;
            }
        }
    }
}
