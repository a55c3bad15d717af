//! What one core holds: it is told of the stalls of its searches, and works on updates in them.

use crate::budget::{BudgetKind, IdleTimes, StallPlace};
use crate::counters::{CoreCounters, CoreTotals};
use crate::floor::Floor;
use crate::options::{LiosOptions, nanos};
use crate::slice::{Allowance, Watch, Worked};
use crate::tuner::SharedTuner;
use crate::work::Work;
use std::sync::Arc;

/// What was done in a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StallReport {
    /// Whether a read has come, so that the stall is over. If not, whoever waits for it calls
    /// [`CoreLios::arrived`] next, or [`CoreLios::interrupted`], or [`CoreLios::stall`] to go on.
    pub arrived: bool,
    /// Tasks that were worked on. If there were any, what the searches need next is to be prefetched (LIOS §4.4).
    pub slices: u32,
    /// Tasks that were finished.
    pub finished: u32,
    /// Time given to tasks, in nanoseconds.
    pub slice_ns: u64,
    /// How much of it was after a read had come, in nanoseconds.
    pub overrun_ns: u64,
}

/// A stall that is not over.
#[derive(Debug, Clone, Copy)]
struct OpenStall {
    began_ns: u64,
    place: StallPlace,
    allowance: Allowance,
}

/// The scheduler of one core. It allocates nothing after it was made, and takes no lock in a stall.
#[derive(Debug)]
pub struct CoreLios {
    budget: BudgetKind,
    least_ns: u64,
    tuner: Arc<SharedTuner>,
    counters: Arc<CoreCounters>,
    idle: IdleTimes,
    floor: Floor,
    open: Option<OpenStall>,
    /// Where the utilisation is a share of stalls: the share that has added up since the last one that carried work.
    share: f32,
}

impl CoreLios {
    pub(crate) fn new(options: &LiosOptions, tuner: Arc<SharedTuner>) -> Self {
        Self {
            budget: options.budget,
            least_ns: nanos(options.least_slice),
            tuner,
            counters: Arc::default(),
            idle: IdleTimes::new(options.bucketing, options.history()),
            floor: Floor::new(options.floor),
            open: None,
            share: 0.0,
        }
    }

    /// No search on this core can go on before one of `reads` reads has come: a stall, or the same one further on if it
    /// was not over. Works on updates for as long as is allowed, then returns; it never waits.
    ///
    /// `now` tells the time in nanoseconds, never backwards. `ready` tells whether a read has come; both are asked about
    /// once a microsecond.
    pub fn stall(
        &mut self,
        reads: usize,
        now: impl Fn() -> u64,
        ready: impl FnMut() -> bool,
        work: &mut dyn Work,
    ) -> StallReport {
        if work.is_there() {
            self.tuner.exercised();
        }
        let began_ns = now();
        let mut stall = self.open.take().unwrap_or_else(|| self.begin(reads, began_ns));
        let mut watch = Watch::new(now, ready, stall.allowance, self.least_ns);
        let worked = watch.work(work);
        let report = report(&worked, began_ns, watch.arrived_ns());
        if stall.allowance == Allowance::Whole && worked.slices > 0 {
            stall.allowance = Allowance::Nothing;
        }
        self.count(&report);
        match watch.arrived_ns() {
            Some(at_ns) => self.end(stall, at_ns),
            None => self.open = Some(stall),
        }
        report
    }

    /// The read that the open stall waits for came at `at_ns`. To be called after waiting; nothing happens where no
    /// stall is open.
    pub fn arrived(&mut self, at_ns: u64) {
        if let Some(stall) = self.open.take() {
            self.end(stall, at_ns);
        }
    }

    /// The open stall ended at `at_ns`, but not by a read: a new search can run. How long it would have lasted is not
    /// known, so it is no sample.
    pub fn interrupted(&mut self, at_ns: u64) {
        if let Some(stall) = self.open.take() {
            let idle_ns = at_ns.saturating_sub(stall.began_ns);
            self.counters.add(CoreTotals { hops: 1, idle_ns, ..CoreTotals::default() });
        }
    }

    /// A search of this core ended at `now_ns` after `latency_ns`, both in nanoseconds: tells the tuner. Takes a lock.
    pub fn search_ended(&mut self, now_ns: u64, latency_ns: u64) {
        self.tuner.observe(now_ns, latency_ns);
    }

    /// Works on updates for as long as this core owes them, if it does: to be called at the end of each search, so that
    /// updates get on where nothing ever stalls. Parameters as for [`CoreLios::stall`].
    pub fn pay_floor(&mut self, now: impl Fn() -> u64, work: &mut dyn Work) -> StallReport {
        let began_ns = now();
        let owed_ns = self.floor.owed(began_ns);
        let Some(slice_ns) = owed_ns.filter(|_| work.is_there() && !self.tuner.is_profiling()) else {
            return StallReport::default();
        };
        let mut watch = Watch::new(now, || false, Allowance::Until(began_ns.saturating_add(slice_ns)), 0);
        let worked = watch.work(work);
        let report = report(&worked, began_ns, None);
        self.counters.add(CoreTotals {
            slices: u64::from(report.slices),
            floor_ns: report.slice_ns,
            tasks_finished: u64::from(report.finished),
            ..CoreTotals::default()
        });
        self.floor.paid(report.slice_ns);
        report
    }

    /// This core has no search at all: works on updates until `called` says that there is something else to do, or
    /// there is nothing to do. No stall, no slice owed, and nothing that the tuner has to know. Parameters as for
    /// [`CoreLios::stall`].
    pub fn work_while_idle(
        &mut self,
        now: impl Fn() -> u64,
        called: impl FnMut() -> bool,
        work: &mut dyn Work,
    ) -> StallReport {
        let began_ns = now();
        self.interrupted(began_ns);
        let mut watch = Watch::new(now, called, Allowance::Arrival, 0);
        let worked = watch.work(work);
        let report = report(&worked, began_ns, watch.arrived_ns());
        self.counters.add(CoreTotals {
            slices: u64::from(report.slices),
            spare_ns: report.slice_ns,
            tasks_finished: u64::from(report.finished),
            ..CoreTotals::default()
        });
        self.floor.paid(report.slice_ns);
        report
    }

    /// Its counters, for other threads.
    pub fn counters(&self) -> &Arc<CoreCounters> {
        &self.counters
    }

    /// The idle times it has seen, and its estimates.
    pub fn idle_times(&self) -> &IdleTimes {
        &self.idle
    }

    fn begin(&mut self, reads: usize, began_ns: u64) -> OpenStall {
        let place = self.idle.place(reads);
        OpenStall { began_ns, place, allowance: self.allowance(place, began_ns) }
    }

    /// How long updates may be worked on in a stall that begins.
    fn allowance(&mut self, place: StallPlace, began_ns: u64) -> Allowance {
        let utilisation = self.tuner.utilisation();
        if utilisation <= 0.0 {
            return Allowance::Nothing;
        }
        let share_of = |time_ns: u64| {
            Allowance::Until(began_ns.saturating_add((f64::from(utilisation) * time_ns as f64) as u64))
        };
        match self.budget {
            BudgetKind::Bounded if place.is_scheduled() => {
                self.idle.estimate_ns(place).map_or(Allowance::Nothing, share_of)
            }
            BudgetKind::Bounded => Allowance::Nothing,
            BudgetKind::Fixed(time) => share_of(nanos(time)),
            BudgetKind::OnArrival => self.share_of_stalls(utilisation, Allowance::Arrival),
            BudgetKind::Unbounded => self.share_of_stalls(utilisation, Allowance::Whole),
        }
    }

    /// `allowance` in a share of the stalls, evenly spread.
    fn share_of_stalls(&mut self, utilisation: f32, allowance: Allowance) -> Allowance {
        self.share += utilisation;
        if self.share < 1.0 {
            return Allowance::Nothing;
        }
        self.share -= 1.0;
        allowance
    }

    fn end(&mut self, stall: OpenStall, arrived_ns: u64) {
        let idle_ns = arrived_ns.saturating_sub(stall.began_ns);
        self.idle.record(stall.place, idle_ns);
        self.counters.add(CoreTotals { hops: 1, idle_ns, ..CoreTotals::default() });
    }

    fn count(&mut self, report: &StallReport) {
        if report.slices == 0 {
            return;
        }
        self.counters.add(CoreTotals {
            slices: u64::from(report.slices),
            slice_ns: report.slice_ns,
            overruns: u64::from(report.overrun_ns > 0),
            overrun_ns: report.overrun_ns,
            tasks_finished: u64::from(report.finished),
            ..CoreTotals::default()
        });
        self.floor.paid(report.slice_ns);
    }
}

fn report(worked: &Worked, began_ns: u64, arrived_ns: Option<u64>) -> StallReport {
    let past = |since_ns: u64| if worked.slices == 0 { 0 } else { worked.ended_ns.saturating_sub(since_ns) };
    let report = StallReport {
        arrived: arrived_ns.is_some(),
        slices: worked.slices,
        finished: worked.finished,
        slice_ns: past(began_ns),
        overrun_ns: arrived_ns.map_or(0, past),
    };
    assert!(report.overrun_ns <= report.slice_ns, "a read was seen before the stall it ended");
    report
}
