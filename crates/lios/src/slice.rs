//! Slices: tasks worked on for as long as is allowed, with an eye on the read that ends the stall.

use crate::work::{Progress, Work};

/// A step that took less did nothing, unless it says so.
const LEAST_WORK_NS: u64 = 1000;

/// How long updates may be worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// Not at all.
    Nothing,
    /// Until this time.
    Until(u64),
    /// Until a read has come.
    Arrival,
    /// One task, for as long as it goes on by itself.
    Whole,
}

/// What was worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Worked {
    pub(crate) slices: u32,
    pub(crate) finished: u32,
    /// When the last slice ended; 0 without slices.
    pub(crate) ended_ns: u64,
}

/// The eye that a slice keeps on the clock and on the reads.
pub(crate) struct Watch<N, R> {
    now: N,
    ready: R,
    allowance: Allowance,
    /// Less time than this is not worth a slice.
    least_ns: u64,
    /// When a read was first seen to have come: within the time between two looks of a slice, about a microsecond.
    arrived_ns: Option<u64>,
}

impl<N: Fn() -> u64, R: FnMut() -> bool> Watch<N, R> {
    pub(crate) fn new(now: N, ready: R, allowance: Allowance, least_ns: u64) -> Self {
        Self { now, ready, allowance, least_ns, arrived_ns: None }
    }

    pub(crate) fn arrived_ns(&self) -> Option<u64> {
        self.arrived_ns
    }

    /// Looks at the clock, and at the reads until one has come.
    pub(crate) fn look(&mut self) -> u64 {
        let now_ns = (self.now)();
        if self.arrived_ns.is_none() && (self.ready)() {
            self.arrived_ns = Some(now_ns);
        }
        now_ns
    }

    /// Whether the slice that is under way has to end. A bounded slice does not end for a read that came: it was
    /// granted an overrun (LIOS §4.3).
    fn is_spent(&mut self) -> bool {
        let now_ns = self.look();
        match self.allowance {
            Allowance::Nothing => true,
            Allowance::Until(end_ns) => now_ns >= end_ns,
            Allowance::Arrival => self.arrived_ns.is_some(),
            Allowance::Whole => false,
        }
    }

    /// Whether another slice may begin at `now_ns`: not once a read has come.
    fn may_begin(&self, now_ns: u64) -> bool {
        self.arrived_ns.is_none()
            && match self.allowance {
                Allowance::Nothing => false,
                Allowance::Until(end_ns) => now_ns.saturating_add(self.least_ns) <= end_ns,
                Allowance::Arrival | Allowance::Whole => true,
            }
    }

    /// Works on what there is for as long as is allowed.
    pub(crate) fn work(&mut self, work: &mut dyn Work) -> Worked {
        let mut worked = Worked::default();
        let mut now_ns = self.look();
        while self.may_begin(now_ns) {
            let began_ns = now_ns;
            let progress = work.step(&mut || self.is_spent());
            now_ns = self.look();
            // To find that there is nothing to do, or nothing yet, takes less than that.
            let some =
                matches!(progress, Progress::More | Progress::Done) || now_ns - began_ns >= LEAST_WORK_NS;
            if some {
                worked.slices += 1;
                worked.ended_ns = now_ns;
            }
            worked.finished += u32::from(progress == Progress::Done);
            if matches!(progress, Progress::Nothing | Progress::Waiting) || self.allowance == Allowance::Whole
            {
                break;
            }
        }
        worked
    }
}
