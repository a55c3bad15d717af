//! The scheduler of one core in virtual time: what it does in a stall, and what it counts.

use gleann_lios::{
    Bucketing, BudgetKind, CoreLios, FloorOptions, Lios, LiosOptions, Queue, Queued, Resumable, StallReport,
    Step, TunerOptions, TunerState, Utilisation,
};
use rand::{RngExt, SeedableRng};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const MICRO: u64 = 1_000;

/// A clock that only work and waiting move.
type Clock = Rc<Cell<u64>>;

/// So many pieces of work of `piece_ns` each, with a look at the budget after each.
struct Job {
    clock: Clock,
    left: u32,
    piece_ns: u64,
}

impl Resumable for Job {
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Step {
        while self.left > 0 {
            self.left -= 1;
            self.clock.set(self.clock.get() + self.piece_ns);
            if self.left > 0 && spent() {
                return Step::More;
            }
        }
        Step::Done
    }
}

struct Bench {
    clock: Clock,
    lios: Lios,
    queue: Queue<Job>,
    core: CoreLios,
    finished: u32,
}

fn options(budget: BudgetKind, share: f32) -> LiosOptions {
    LiosOptions { budget, utilisation: Utilisation::Fixed(share), ..LiosOptions::new(0.05) }
}

impl Bench {
    fn new(options: &LiosOptions) -> Self {
        let lios = Lios::new(*options).expect("valid options");
        let core = lios.core();
        Self { clock: Rc::new(Cell::new(MICRO)), lios, queue: Queue::new(1024), core, finished: 0 }
    }

    fn push(&self, micros: u32) {
        let job = Job { clock: Rc::clone(&self.clock), left: micros, piece_ns: MICRO };
        self.queue.try_push(job).expect("room");
    }

    /// A stall of this length, waited for to its end.
    fn stall(&mut self, reads: usize, idle_ns: u64) -> StallReport {
        let begin = self.clock.get();
        let arrival = begin + idle_ns;
        let clock = Rc::clone(&self.clock);
        let report = self.core.stall(
            reads,
            || clock.get(),
            || clock.get() >= arrival,
            &mut Queued::new(&self.queue, |_| self.finished += 1),
        );
        if !report.arrived {
            self.clock.set(arrival);
            self.core.arrived(arrival);
        }
        report
    }

    /// Enough stalls of this length for an estimate.
    fn know(&mut self, idle_ns: u64) {
        for _ in 0..32 {
            self.stall(1, idle_ns);
        }
    }
}

#[test]
fn a_bounded_slice_is_as_long_as_the_estimate_and_an_unfinished_task_goes_back() {
    let mut bench = Bench::new(&options(BudgetKind::Bounded, 1.0));
    bench.know(100 * MICRO);
    bench.push(250);
    assert_eq!(bench.stall(2, 100 * MICRO).slices, 0, "no estimate, no slice");
    let before = bench.lios.totals();
    // The estimate was made at 32 samples, all of 100 µs: 105 µs.
    let report = bench.stall(1, 100 * MICRO);
    let expected =
        StallReport { arrived: true, slices: 1, finished: 0, slice_ns: 105 * MICRO, overrun_ns: 5 * MICRO };
    assert_eq!(report, expected);
    assert_eq!(bench.queue.depth(), 1);
    bench.stall(1, 100 * MICRO);
    let report = bench.stall(1, 100 * MICRO);
    assert_eq!((report.finished, report.arrived, bench.finished), (1, false, 1));
    let totals = bench.lios.totals();
    assert_eq!(totals.hops - before.hops, 3);
    assert_eq!((totals.overruns - before.overruns, totals.overrun_ns - before.overrun_ns), (2, 10 * MICRO));
    assert_eq!(totals.slice_ns - before.slice_ns, 250 * MICRO);
    assert_eq!(totals.tasks_finished, 1);
}

#[test]
fn utilisation_shortens_the_slice_and_the_stall_is_measured_to_its_end() {
    let mut bench = Bench::new(&options(BudgetKind::Bounded, 0.5));
    bench.know(100 * MICRO);
    bench.push(1000);
    let report = bench.stall(1, 120 * MICRO);
    assert_eq!((report.arrived, report.slice_ns, report.overrun_ns), (false, 53 * MICRO, 0));
    assert_eq!(bench.core.idle_times().history(1).mean_ns(), (32 * 100 + 120) * MICRO / 33);
}

#[test]
fn several_small_tasks_share_a_stall() {
    let mut bench = Bench::new(&options(BudgetKind::Bounded, 1.0));
    bench.know(100 * MICRO);
    (0..20).for_each(|_| bench.push(10));
    let report = bench.stall(1, 100 * MICRO);
    // The tenth is under way when the read comes; an eleventh is not begun.
    assert_eq!((report.slices, report.finished, report.overrun_ns), (10, 10, 0));
}

#[test]
fn each_number_of_reads_has_its_own_budget() {
    let mut bench = Bench::new(&options(BudgetKind::Bounded, 1.0));
    for _ in 0..32 {
        bench.stall(1, 50 * MICRO);
        bench.stall(4, 100 * MICRO);
    }
    bench.push(10_000);
    let slices = [1, 4, 2].map(|reads| bench.stall(reads, 500 * MICRO).slice_ns);
    assert_eq!(slices, [53 * MICRO, 105 * MICRO, 0], "of two reads nothing is known yet");
}

#[test]
fn on_arrival_ends_with_the_stall() {
    let mut bench = Bench::new(&options(BudgetKind::OnArrival, 1.0));
    bench.push(1000);
    for idle in [37, 212, 1] {
        let report = bench.stall(1, idle * MICRO);
        assert_eq!((report.arrived, report.slice_ns, report.overrun_ns), (true, idle * MICRO, 0));
    }
}

#[test]
fn a_share_of_stalls_is_spread_evenly() {
    let mut bench = Bench::new(&options(BudgetKind::OnArrival, 0.25));
    bench.push(10_000);
    let slices: Vec<u32> = (0..12).map(|_| bench.stall(1, 10 * MICRO).slices).collect();
    assert_eq!(slices, [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
}

#[test]
fn naive_work_is_never_told_to_stop() {
    let mut bench = Bench::new(&options(BudgetKind::Unbounded, 1.0));
    bench.push(5_000);
    bench.push(5_000);
    let report = bench.stall(1, 100 * MICRO);
    let expected = StallReport {
        arrived: true,
        slices: 1,
        finished: 1,
        slice_ns: 5_000 * MICRO,
        overrun_ns: 4_900 * MICRO,
    };
    assert_eq!(report, expected, "one task, whatever it takes");
}

#[test]
fn a_fixed_budget_knows_nothing_of_stalls() {
    let mut bench = Bench::new(&options(BudgetKind::Fixed(Duration::from_micros(80)), 0.5));
    bench.push(1000);
    let reports = [10, 200].map(|idle| bench.stall(1, idle * MICRO));
    assert_eq!(reports.map(|report| report.slice_ns), [40 * MICRO, 40 * MICRO]);
    assert_eq!(reports.map(|report| report.overrun_ns), [30 * MICRO, 0]);
}

#[test]
fn sparse_stalls_carry_work_every_so_often() {
    let mut bench = Bench::new(&LiosOptions {
        bucketing: Bucketing::Sparse { every: 4 },
        ..options(BudgetKind::Bounded, 1.0)
    });
    bench.know(10 * MICRO);
    bench.push(10_000);
    let slices: Vec<u64> = (0..8).map(|_| bench.stall(3, 50 * MICRO).slice_ns / MICRO).collect();
    assert_eq!(slices, [0, 0, 0, 12, 0, 0, 0, 12], "10 µs, and four times 5 % of it");
}

#[test]
fn without_utilisation_or_work_stalls_are_only_measured() {
    for (share, work) in [(0.0, 100), (1.0, 0)] {
        let mut bench = Bench::new(&options(BudgetKind::OnArrival, share));
        (0..work).take(1).for_each(|_| bench.push(work));
        let report = bench.stall(1, 100 * MICRO);
        assert_eq!(report, StallReport::default());
        let totals = bench.lios.totals();
        assert_eq!((totals.hops, totals.idle_ns, totals.slices), (1, 100 * MICRO, 0));
        assert_eq!(bench.core.idle_times().history(1).len(), 1);
    }
}

#[test]
fn a_stall_goes_on_after_a_wait_that_brought_nothing_and_may_end_without_a_read() {
    let mut bench = Bench::new(&options(BudgetKind::Fixed(Duration::from_micros(80)), 1.0));
    bench.push(1000);
    let clock = Rc::clone(&bench.clock);
    let begin = clock.get();
    let slices = [0, 30, 200].map(|later| {
        clock.set(clock.get() + later * MICRO);
        bench.core.stall(1, || clock.get(), || false, &mut Queued::new(&bench.queue, drop)).slice_ns / MICRO
    });
    assert_eq!(slices, [80, 0, 0], "one budget a stall");
    bench.core.interrupted(clock.get());
    bench.core.arrived(clock.get());
    let totals = bench.lios.totals();
    assert_eq!((totals.hops, totals.idle_ns), (1, clock.get() - begin));
    assert!(bench.core.idle_times().history(1).is_empty(), "how long it would have lasted is not known");
}

#[test]
fn the_expected_overrun_is_the_one_that_was_asked_for() {
    for theta in [0.01, 0.05, 0.2] {
        let mut bench = Bench::new(&LiosOptions { theta, ..options(BudgetKind::Bounded, 1.0) });
        let mut rng = rand_pcg::Pcg64::seed_from_u64(5);
        bench.push(u32::MAX);
        for _ in 0..20_000 {
            // Two kinds of reads, with a tail: 20 µs from the device's cache, 80 to 800 µs from its cells.
            let tail: f64 = rng.random_range(0.0..1.0);
            let idle = if rng.random_bool(0.3) { 20.0 } else { 80.0 / (0.1 + 0.9 * tail) };
            bench.stall(4, (idle * 1e3) as u64);
        }
        let share = bench.lios.totals().overrun_share();
        // Slices end at most a microsecond late.
        assert!((0.9 * theta..1.1 * theta + 0.005).contains(&share), "{share} for {theta}");
        assert!(bench.lios.totals().harvested_share() > 0.1);
    }
}

#[test]
fn without_stalls_the_floor_drains_the_queue() {
    let floor = FloorOptions { share: 0.1, ..FloorOptions::default() };
    let mut bench = Bench::new(&LiosOptions { floor, ..options(BudgetKind::Bounded, 1.0) });
    (0..100).for_each(|_| bench.push(100));
    let clock = Rc::clone(&bench.clock);
    let mut queries = 0;
    while bench.finished < 100 {
        clock.set(clock.get() + 200 * MICRO);
        bench.core.pay_floor(|| clock.get(), &mut Queued::new(&bench.queue, |_| bench.finished += 1));
        queries += 1;
    }
    let totals = bench.lios.totals();
    assert_eq!((totals.floor_ns, totals.slice_ns, totals.idle_ns), (10_000 * MICRO, 0, 0));
    assert!((400..=500).contains(&queries), "a tenth of the time: {queries}");
}

#[test]
fn a_setting_that_lets_nothing_run_is_judged_all_the_same() {
    let tuned = Utilisation::Tuned(TunerOptions::default());
    let mut bench = Bench::new(&LiosOptions { utilisation: tuned, ..options(BudgetKind::Bounded, 0.0) });
    bench.push(u32::MAX);
    while bench.lios.tuner().utilisation() < 1.0 {
        // Half of the estimate is not worth a slice; all of it is.
        assert!(bench.clock.get() < 60_000_000 * MICRO, "{:?}", bench.lios.tuner().report());
        bench.stall(1, 2 * MICRO);
        bench.clock.set(bench.clock.get() + 1000 * MICRO);
        bench.core.search_ended(bench.clock.get(), 1000 * MICRO);
    }
    assert!((0..3).any(|_| bench.stall(1, 2 * MICRO).slices > 0));
}

#[test]
fn a_core_without_searches_works_until_it_is_called() {
    let mut bench = Bench::new(&options(BudgetKind::Bounded, 0.0));
    (0..3).for_each(|_| bench.push(100));
    let clock = Rc::clone(&bench.clock);
    let call = clock.get() + 250 * MICRO;
    let reports = [call, u64::MAX].map(|call| {
        bench.core.work_while_idle(
            || clock.get(),
            || clock.get() >= call,
            &mut Queued::new(&bench.queue, |_| bench.finished += 1),
        )
    });
    assert_eq!(reports.map(|report| (report.arrived, report.finished)), [(true, 2), (false, 1)]);
    let totals = bench.lios.totals();
    assert_eq!((totals.spare_ns, totals.idle_ns, totals.tasks_finished), (300 * MICRO, 0, 3));
    assert_eq!(
        bench.core.pay_floor(|| clock.get(), &mut Queued::new(&bench.queue, drop)).slices,
        0,
        "more than was owed"
    );
}

#[test]
fn no_update_runs_while_a_baseline_is_recorded() {
    let options = LiosOptions {
        utilisation: Utilisation::Tuned(TunerOptions::default()),
        ..options(BudgetKind::OnArrival, 0.0)
    };
    let mut bench = Bench::new(&options);
    bench.push(1000);
    let clock = Rc::clone(&bench.clock);
    while bench.lios.tuner().is_profiling() {
        for _ in 0..10 {
            assert_eq!(bench.stall(1, 400 * MICRO).slices, 0);
        }
        assert_eq!(bench.core.pay_floor(|| clock.get(), &mut Queued::new(&bench.queue, drop)).slices, 0);
        bench.core.search_ended(clock.get(), 4000 * MICRO);
    }
    assert_eq!(bench.lios.tuner().report().unwrap().state, TunerState::BinarySearch);
    assert!((0..2).any(|_| bench.stall(1, 400 * MICRO).slices > 0));
}

/// Searches of 30 hops with updates in their stalls, each slice costing the search 4 µs of cache misses besides.
#[test]
fn a_core_and_its_tuner_hold_latency_near_the_bound() {
    let theta = 0.05;
    let tuner = TunerOptions::default();
    let mut bench = Bench::new(&LiosOptions {
        utilisation: Utilisation::Tuned(tuner),
        ..options(BudgetKind::Bounded, 0.0)
    });
    bench.queue.try_push(Job { clock: Rc::clone(&bench.clock), left: u32::MAX, piece_ns: 5 * MICRO }).ok();
    let mut rng = rand_pcg::Pcg64::seed_from_u64(3);
    while bench.clock.get() < 200_000_000 * MICRO {
        let begin = bench.clock.get();
        for _ in 0..30 {
            let idle = rng.random_range(60 * MICRO..140 * MICRO);
            let slices = bench.stall(4, idle).slices;
            bench.clock.set(bench.clock.get() + 15 * MICRO + if slices > 0 { 4 * MICRO } else { 0 });
        }
        let now = bench.clock.get();
        bench.core.search_ended(now, now - begin);
    }
    let trace = bench.lios.tuner().trace();
    let steady: Vec<_> = trace.iter().filter(|point| point.state == TunerState::Steady).collect();
    let mean = steady.iter().map(|point| point.degradation()).sum::<f64>() / steady.len() as f64;
    assert!(
        steady.len() > 100 && (0.5 * theta..theta).contains(&mean),
        "{mean} in {} intervals",
        steady.len()
    );
    let report = bench.lios.tuner().report().unwrap();
    assert!(report.counts.violations < 20 && report.counts.rebaselines == 0, "{report:?}");
    assert!(bench.lios.totals().harvested_share() > 0.3, "{:?}", bench.lios.totals());
}
