//! Cores, updating threads and a device in one virtual time.
//!
//! Events are taken in the order of their times. A slice is the exception: it is carried through at once, and its core is
//! ahead of the others by its length. Nothing that others do meanwhile matters to it: when its reads come has been known
//! since they were submitted. What it submits itself becomes an event.

use crate::core_work::Sent;
use crate::costs::{Costs, DegreeCosts, UpdateCosts};
use crate::device::Device;
use crate::held::Held;
use crate::processor::{Load, Processor};
use crate::random::Random;
use crate::search_core::{Pause, SearchCore, Searching, Slicing};
use crate::setup::{Setup, Traversal};
use crate::shared::Shared;
use crate::updater::Updater;
use gleann_lios::{BadOption, Lios};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A core looks what it can do.
    Look(u32),
    /// The turn of a core is over.
    Turned(u32),
    /// A core wakes up.
    Woken(u32),
    /// An updating thread looks what it can do.
    Update(u32),
    /// Operations of updates reach the device.
    Submit(Owner, Sent),
}

/// Whose task waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Core(u32),
    Updater(u32),
}

/// What was counted since the last phase.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// Latencies of searches, in nanoseconds.
    pub(crate) latencies_ns: Vec<u64>,
    /// Integral of the utilisation over time, in nanoseconds.
    pub(crate) utilisation_ns: f64,
}

/// Everything.
pub(crate) struct World<'c> {
    searching: Searching<'c>,
    slicing: Slicing<'c>,
    pub(crate) lios: Option<Lios>,
    pub(crate) device: Device,
    cores: Vec<SearchCore>,
    updaters: Vec<Updater>,
    pub(crate) shared: Shared,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
    pub(crate) now_ns: u64,
    pub(crate) counted: Counted,
    seen_ns: u64,
    processor: Processor,
    load: Load,
}

impl<'c> World<'c> {
    /// A world at time 0, without updates.
    pub(crate) fn new(setup: &Setup, costs: &'c Costs, degree: &'c DegreeCosts) -> Result<Self, BadOption> {
        let sparse = setup.traversal == Traversal::Pipe;
        let options = setup.arm.options(sparse, setup.update_threads == 0);
        let lios = options.map(Lios::new).transpose()?;
        let core = |number: u32| {
            let core = SearchCore::new(u64::from(number), setup.in_flight, setup.updates_in_flight);
            core.with(lios.as_ref().map(Lios::core))
        };
        let mut world = Self {
            searching: Searching {
                costs: setup.traversal.costs(degree),
                traversal: setup.traversal,
                seed: setup.seed,
            },
            slicing: Slicing {
                interference: &costs.interference,
                look_ns: setup.look_ns,
                prefetch: setup.arm.prefetch,
                wake_ns: (1e3 * costs.device.wake_us) as u64,
                spin_ns: (1e3 * costs.device.spin_us) as u64,
                slowdown: 1.0,
            },
            cores: (0..setup.search_threads).map(core).collect(),
            updaters: (0..setup.update_threads).map(|_| Updater::new(setup.updates_in_flight)).collect(),
            lios,
            device: Device::new(costs.device.clone(), Random::new(setup.seed, u64::MAX - 1)),
            shared: Shared::new(degree.insert.clone(), 0, 1),
            events: BinaryHeap::new(),
            scheduled: 0,
            now_ns: 0,
            counted: Counted::default(),
            seen_ns: 0,
            processor: costs.processor,
            load: Load::default(),
        };
        // Cores begin a little apart: in step they would stay so for a while.
        (0..setup.search_threads).for_each(|core| world.schedule(u64::from(core) * 7_000, Event::Look(core)));
        Ok(world)
    }

    /// From now on there are `total` vectors to change. Nothing is left of those before.
    pub(crate) fn give(&mut self, costs: &UpdateCosts, total: u64, setup: &Setup) {
        self.cores.iter_mut().for_each(|core| *core.held() = Held::new(setup.updates_in_flight));
        self.updaters.iter_mut().for_each(|updater| updater.held = Held::new(setup.updates_in_flight));
        let first = self.scheduled << 24;
        self.shared = Shared::new(costs.clone(), total, setup.queue).begin(self.now_ns, first, setup.seed);
        (0..self.updaters.len() as u32).for_each(|number| self.schedule(self.now_ns, Event::Update(number)));
    }

    /// Lets time pass until `end_ns`, or until all updates are done if that is earlier.
    pub(crate) fn run(&mut self, end_ns: u64, until_done: bool) {
        loop {
            let done_ns = if until_done { self.shared.end_ns() } else { None };
            let end_ns = done_ns.map_or(end_ns, |done_ns| done_ns.min(end_ns));
            match self.events.peek() {
                Some(&Reverse((at_ns, _, _))) if at_ns < end_ns => {}
                _ => {
                    self.now_ns = self.now_ns.max(end_ns);
                    return;
                }
            }
            if let Some(Reverse((at_ns, _, event))) = self.events.pop() {
                self.now_ns = at_ns;
                self.happen(event);
            }
        }
    }

    /// Time that all cores slept, in nanoseconds.
    pub(crate) fn idle_ns(&self) -> u64 {
        self.cores.iter().map(SearchCore::idle_ns).sum()
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((at_ns, self.scheduled, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Look(core) => self.look(core),
            Event::Turned(core) => self.turned(core),
            Event::Woken(core) => {
                self.cores[core as usize].wake(self.now_ns);
                self.look(core);
            }
            Event::Update(number) => self.update(number),
            Event::Submit(owner, sent) => self.submit(owner, sent),
        }
    }

    fn look(&mut self, number: u32) {
        let slowdown = self.slowdown();
        let core = &mut self.cores[number as usize];
        if core.is_busy(self.now_ns) {
            let contention = self.slicing.interference.contention * self.updating();
            let core = &mut self.cores[number as usize];
            let end_ns = core.turn(self.now_ns, self.searching, slowdown * (1.0 + contention));
            self.load.add(self.now_ns, end_ns - self.now_ns);
            self.schedule(end_ns, Event::Turned(number));
            return;
        }
        let pause = core.stall(self.now_ns, &self.shared, Slicing { slowdown, ..self.slicing });
        self.forward(number);
        match pause {
            Pause::Over(at_ns) => self.schedule(at_ns, Event::Look(number)),
            Pause::Asleep(until_ns) => self.schedule(until_ns, Event::Woken(number)),
        }
    }

    fn turned(&mut self, number: u32) {
        let slicing = Slicing { slowdown: self.slowdown(), ..self.slicing };
        let core = &mut self.cores[number as usize];
        core.submit(self.now_ns, &mut self.device);
        let (then_ns, latencies_ns) = core.end(self.now_ns, &self.shared, slicing);
        if !latencies_ns.is_empty() {
            self.note_utilisation();
        }
        self.counted.latencies_ns.extend(latencies_ns);
        self.forward(number);
        self.schedule(then_ns, Event::Look(number));
    }

    /// What the updates of a core took counts as load, and what they submitted becomes events.
    fn forward(&mut self, number: u32) {
        let sliced_ns = self.cores[number as usize].take_sliced();
        self.load.add(self.now_ns, sliced_ns);
        for sent in self.cores[number as usize].take_sent() {
            self.schedule(sent.at_ns, Event::Submit(Owner::Core(number), sent));
        }
    }

    fn update(&mut self, number: u32) {
        let slowdown = self.slowdown();
        let piecework = self.updaters[number as usize].work(self.now_ns, &self.shared, slowdown);
        if let Some(sent) = piecework.sent {
            self.schedule(sent.at_ns, Event::Submit(Owner::Updater(number), sent));
        }
        if let Some(at_ns) = piecework.next_ns {
            self.schedule(at_ns, Event::Update(number));
        }
    }

    fn submit(&mut self, owner: Owner, sent: Sent) {
        let mut last_ns = self.now_ns;
        self.device.submit(self.now_ns, sent.operations, |at_ns| last_ns = last_ns.max(at_ns));
        let Some(task) = sent.task else { return };
        match owner {
            Owner::Core(number) => self.cores[number as usize].held().will_be_ready(task, last_ns),
            Owner::Updater(number) => {
                self.updaters[number as usize].held.will_be_ready(task, last_ns);
                self.schedule(last_ns, Event::Update(number));
            }
        }
    }

    /// Updating threads at work.
    fn updating(&self) -> f64 {
        self.updaters.iter().filter(|updater| updater.active).count() as f64
    }

    /// How many times as long as alone computation takes now.
    fn slowdown(&self) -> f64 {
        let computing = self.load.cores(self.now_ns) + self.updating();
        self.processor.slowdown((self.cores.len() + self.updaters.len()) as u32, computing)
    }

    fn note_utilisation(&mut self) {
        if let Some(lios) = &self.lios {
            let since_ns = (self.now_ns - self.seen_ns) as f64;
            self.counted.utilisation_ns += since_ns * f64::from(lios.tuner().utilisation());
        }
        self.seen_ns = self.now_ns;
    }
}
