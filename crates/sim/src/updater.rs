//! A thread that only updates.

use crate::core_work::Sent;
use crate::held::Held;
use crate::shared::Shared;
use crate::task::{Effect, Piece};

/// A thread, with the tasks it has begun.
#[derive(Debug)]
pub(crate) struct Updater {
    pub(crate) held: Held,
    /// Until when it computes.
    busy_ns: u64,
    /// Whether it has something to compute.
    pub(crate) active: bool,
}

/// What a thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piecework {
    /// When it looks again. None: when it is told.
    pub(crate) next_ns: Option<u64>,
    /// What is submitted meanwhile.
    pub(crate) sent: Option<Sent>,
}

impl Updater {
    /// A thread that interleaves `room` updates.
    pub(crate) fn new(room: u32) -> Self {
        Self { held: Held::new(room), busy_ns: 0, active: false }
    }

    /// One piece of the task that comes next, which takes `slowdown` times as long as alone. Nothing while it computes.
    pub(crate) fn work(&mut self, now_ns: u64, shared: &Shared, slowdown: f64) -> Piecework {
        if now_ns < self.busy_ns {
            return Piecework { next_ns: None, sent: None };
        }
        let Some(at) = self.held.next(now_ns, shared) else {
            self.active = false;
            return Piecework { next_ns: self.held.ready_ns(), sent: None };
        };
        self.active = true;
        let task = self.held.task(at);
        let (Piece::Whole(ns) | Piece::Divisible(ns)) = task.piece();
        let (end_ns, number) = (now_ns + (ns as f64 * slowdown) as u64, task.number);
        self.busy_ns = end_ns;
        let sent = match task.advance(ns) {
            Effect::More | Effect::Part => None,
            Effect::Reads(operations) => {
                task.ready_ns = u64::MAX;
                Some(Sent { at_ns: end_ns, operations, task: Some(number) })
            }
            Effect::Done(operations) => {
                self.held.remove(at);
                shared.ended(end_ns);
                (operations > 0).then_some(Sent { at_ns: end_ns, operations, task: None })
            }
        };
        Piecework { next_ns: Some(end_ns), sent }
    }
}
