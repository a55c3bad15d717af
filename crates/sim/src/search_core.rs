//! A searching core: turns of its searches, stalls, and updates in them.

use crate::core_work::{CoreWork, Sent};
use crate::costs::{Interference, SearchCosts};
use crate::device::Device;
use crate::held::Held;
use crate::random::Random;
use crate::setup::Traversal;
use crate::shared::Shared;
use crate::slot::{Next, Slot};
use gleann_lios::CoreLios;
use std::cell::Cell;

/// Searches up to which the engine prefetches after slices.
const PREFETCHED: u32 = 4;

/// What the searches of all cores have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Searching<'c> {
    pub(crate) costs: &'c SearchCosts,
    pub(crate) traversal: Traversal,
    pub(crate) seed: u64,
}

/// What slices have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slicing<'c> {
    pub(crate) interference: &'c Interference,
    pub(crate) look_ns: u64,
    pub(crate) prefetch: bool,
    pub(crate) wake_ns: u64,
    pub(crate) spin_ns: u64,
    /// How many times as long as alone computation takes now.
    pub(crate) slowdown: f64,
}

/// How a stall goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The reads came during slices, which ended then.
    Over(u64),
    /// The core sleeps until then.
    Asleep(u64),
}

/// A core.
pub(crate) struct SearchCore {
    number: u64,
    slots: Vec<Option<Slot>>,
    searches: u64,
    /// Reads under way: when they come and whose they are, the first first.
    in_flight: Vec<(u64, u32)>,
    /// Reads to be submitted at the end of the turn.
    to_submit: Vec<u32>,
    /// Searches that ended in the turn: begin and end.
    ended: Vec<(u64, u64)>,
    lios: Option<CoreLios>,
    held: Held,
    sent: Vec<Sent>,
    /// What slices cost the next turn.
    pollution_ns: u64,
    idle_ns: u64,
    /// Time of slices since it was last asked.
    sliced_ns: u64,
}

impl SearchCore {
    /// Core `number`, which interleaves `in_flight` searches and has room for `updates` begun updates.
    pub(crate) fn new(number: u64, in_flight: u32, updates: u32) -> Self {
        Self {
            number,
            slots: (0..in_flight).map(|_| None).collect(),
            searches: 0,
            in_flight: Vec::new(),
            to_submit: Vec::new(),
            ended: Vec::new(),
            lios: None,
            held: Held::new(updates),
            sent: Vec::new(),
            pollution_ns: 0,
            idle_ns: 0,
            sliced_ns: 0,
        }
    }

    /// The same with a scheduler.
    pub(crate) fn with(mut self, lios: Option<CoreLios>) -> Self {
        self.lios = lios;
        self
    }

    /// Time it slept, in nanoseconds.
    pub(crate) fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    /// The updates it has begun.
    pub(crate) fn held(&mut self) -> &mut Held {
        &mut self.held
    }

    /// What its updates submitted since the last call.
    pub(crate) fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    /// Time of slices since the last call.
    pub(crate) fn take_sliced(&mut self) -> u64 {
        std::mem::take(&mut self.sliced_ns)
    }

    /// Whether a search can go on, or has to be begun.
    pub(crate) fn is_busy(&self, now_ns: u64) -> bool {
        self.in_flight.first().is_some_and(|&(at_ns, _)| at_ns <= now_ns)
            || self.slots.iter().any(|slot| slot.as_ref().is_none_or(|slot| slot.can_step))
    }

    /// Begins searches where there are none, takes in what has come, lets every search that can go on do so, all of it
    /// `slowdown` times as long as alone. When that is done.
    pub(crate) fn turn(&mut self, now_ns: u64, searching: Searching<'_>, slowdown: f64) -> u64 {
        let slow = |ns: u64| (ns as f64 * slowdown) as u64;
        let costs = searching.costs;
        self.begin(now_ns, searching);
        let mut at_ns = now_ns + std::mem::take(&mut self.pollution_ns);
        let came = self.in_flight.partition_point(|&(at_ns, _)| at_ns <= now_ns);
        for (_, number) in self.in_flight.drain(..came) {
            let slot =
                self.slots[number as usize].as_mut().expect("searches end when all their reads have come");
            at_ns += slow(slot.arrive(costs));
        }
        for (number, place) in self.slots.iter_mut().enumerate() {
            let Some(slot) = place.as_mut().filter(|slot| slot.can_step) else { continue };
            let (cpu_ns, next) = slot.step(costs);
            at_ns += slow(cpu_ns);
            match next {
                Next::Reads(reads) => self.to_submit.extend((0..reads).map(|_| number as u32)),
                Next::Done => {
                    self.ended.push((slot.started_ns, at_ns));
                    *place = None;
                }
            }
        }
        at_ns
    }

    /// The reads of the turn are submitted.
    pub(crate) fn submit(&mut self, now_ns: u64, device: &mut Device) {
        let mut owners = self.to_submit.drain(..);
        let count = owners.len() as u32;
        device.submit(now_ns, count, |at_ns| {
            self.in_flight.extend(owners.next().map(|owner| (at_ns, owner)));
        });
        drop(owners);
        self.in_flight.sort_unstable();
    }

    /// Tells of the searches that ended in the turn, and pays what updates are owed then. When that is done.
    pub(crate) fn end(&mut self, now_ns: u64, shared: &Shared, slicing: Slicing<'_>) -> (u64, Vec<u64>) {
        let clock = Cell::new(now_ns);
        let mut latencies = Vec::with_capacity(self.ended.len());
        for (began_ns, ended_ns) in std::mem::take(&mut self.ended) {
            latencies.push(ended_ns - began_ns);
            let Some(lios) = &mut self.lios else { continue };
            lios.search_ended(clock.get(), ended_ns - began_ns);
            let mut work = work(&clock, (&mut self.held, &mut self.sent), shared, slicing);
            let report = lios.pay_floor(|| clock.get(), &mut work);
            if report.slices > 0 {
                self.pollute(report.slice_ns, slicing);
            }
        }
        (clock.get(), latencies)
    }

    /// No search can go on: works on updates for as long as is allowed, then sleeps.
    pub(crate) fn stall(&mut self, now_ns: u64, shared: &Shared, slicing: Slicing<'_>) -> Pause {
        let wanted = self.slots.iter().flatten().map(Slot::missing).min().unwrap_or(1).max(1);
        let (come_ns, _) = self.in_flight[wanted - 1];
        let clock = Cell::new(now_ns);
        if let Some(lios) = &mut self.lios {
            let mut work = work(&clock, (&mut self.held, &mut self.sent), shared, slicing);
            let report = lios.stall(wanted, || clock.get(), || clock.get() >= come_ns, &mut work);
            if report.slices > 0 {
                self.pollute(report.slice_ns, slicing);
            }
            if report.arrived {
                return Pause::Over(clock.get());
            }
        }
        let spins = self.slots.len() == 1 && come_ns - clock.get() <= slicing.spin_ns;
        let awake_ns = if spins { come_ns } else { come_ns + slicing.wake_ns };
        self.idle_ns += awake_ns - clock.get();
        Pause::Asleep(awake_ns)
    }

    /// It sleeps no more.
    pub(crate) fn wake(&mut self, now_ns: u64) {
        if let Some(lios) = &mut self.lios {
            lios.arrived(now_ns);
        }
    }

    fn pollute(&mut self, slice_ns: u64, slicing: Slicing<'_>) {
        self.sliced_ns += slice_ns;
        let prefetched = slicing.prefetch && self.slots.len() as u32 <= PREFETCHED;
        let pollution_ns = slicing.interference.pollution_ns(slice_ns, prefetched);
        self.pollution_ns = self.pollution_ns.max(pollution_ns);
    }

    fn begin(&mut self, now_ns: u64, searching: Searching<'_>) {
        for place in self.slots.iter_mut().filter(|place| place.is_none()) {
            let stream = (self.number << 40) | self.searches;
            let random = Random::new(searching.seed, stream);
            self.searches += 1;
            *place = Some(Slot::start(searching.costs, searching.traversal, random, now_ns));
        }
    }
}

/// The updates of a core at `clock`.
fn work<'a>(
    clock: &'a Cell<u64>,
    (held, sent): (&'a mut Held, &'a mut Vec<Sent>),
    shared: &'a Shared,
    slicing: Slicing<'_>,
) -> CoreWork<'a> {
    let resume_ns = (1e3 * slicing.interference.resume_us) as u64;
    CoreWork { clock, held, shared, sent, resume_ns, look_ns: slicing.look_ns, slowdown: slicing.slowdown }
}
