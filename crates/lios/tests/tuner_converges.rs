//! The tuner in virtual time, against scripted latencies: where it ends, how soon, and how often it violates the bound.

use gleann_lios::{Statistic, TracePoint, Tuner, TunerOptions, TunerState};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const THETA: f64 = 0.05;
const SECOND: u64 = 1_000_000_000;

/// A device and a processor that answer: a query of `base(t)` ms takes `1 + slope(t) · u` times as long.
struct World {
    tuner: Tuner,
    now_ns: u64,
    rng: Pcg64,
    /// Coefficient of variation of a single latency.
    noise: f64,
    base_ms: fn(f64) -> f64,
    slope: fn(f64) -> f64,
    /// Whether there is anything to update.
    busy: fn(f64) -> bool,
}

impl World {
    fn new(slope: fn(f64) -> f64) -> Self {
        Self {
            tuner: Tuner::new(THETA, TunerOptions::default()),
            now_ns: 5 * SECOND,
            rng: Pcg64::seed_from_u64(11),
            noise: 0.0,
            base_ms: |_| 4.0,
            slope,
            busy: |_| true,
        }
    }

    fn seconds(&self) -> f64 {
        self.now_ns as f64 / 1e9
    }

    /// 400 queries a second until `until` seconds.
    fn run(&mut self, until: u64) -> &mut Self {
        while self.now_ns < until * SECOND {
            self.now_ns += SECOND / 400;
            let t = self.seconds();
            let busy = (self.busy)(t) && self.tuner.utilisation() > 0.0;
            let share = if busy { f64::from(self.tuner.utilisation()) } else { 0.0 };
            // The sum of three uniform numbers: bell-shaped, of variance 1/4.
            let bell: f64 = (0..3).map(|_| self.rng.random_range(-0.5..0.5)).sum();
            let noise = 1.0 + self.noise * 2.0 * bell;
            let ms = (self.base_ms)(t) * (1.0 + (self.slope)(t) * share) * noise;
            self.tuner.observe(self.now_ns, (ms * 1e6) as u64, (self.busy)(t));
        }
        self
    }

    fn steady(&self) -> Vec<TracePoint> {
        self.tuner.trace().filter(|point| point.state == TunerState::Steady).copied().collect()
    }

    /// Mean utilisation and mean degradation of the steady state from `from` seconds on.
    fn settled(&self, from: u64) -> (f64, f64) {
        let points: Vec<_> = self.steady().into_iter().filter(|point| point.at_ns > from * SECOND).collect();
        assert!(!points.is_empty(), "never steady: {:?}", self.tuner.counts());
        let count = points.len() as f64;
        let share = points.iter().map(|point| f64::from(point.utilisation)).sum::<f64>() / count;
        (share, points.iter().map(TracePoint::degradation).sum::<f64>() / count)
    }
}

#[test]
fn what_other_threads_cost_is_part_of_the_baseline() {
    // Updates come and go, and those who work on them elsewhere make every search a third slower.
    let busy = |t: f64| (20.0..60.0).contains(&t) || t > 100.0;
    for alone in [false, true] {
        let mut world = World { busy, ..World::new(|_| 0.1) };
        world.tuner = Tuner::new(THETA, TunerOptions { alone, ..TunerOptions::default() });
        world.base_ms = |t| if (20.0..60.0).contains(&t) || t > 100.0 { 5.4 } else { 4.0 };
        world.run(60);
        let counts = world.tuner.counts();
        if alone {
            assert!(counts.searches_failed > 0, "{counts:?}");
            continue;
        }
        assert_eq!((counts.searches_failed, counts.searches_succeeded), (0, 1), "{counts:?}");
        let (share, degradation) = world.settled(30);
        assert!((0.4..0.55).contains(&share) && degradation < 1.1 * THETA, "{share}, {degradation}");
        world.run(140);
        assert_eq!(world.tuner.counts().searches_failed, 0);
        assert!(world.settled(110).0 > 0.4);
    }
}

#[test]
fn what_costs_nothing_is_used_in_full() {
    let mut world = World::new(|_| 0.0);
    world.run(120);
    let counts = world.tuner.counts();
    assert_eq!((counts.violations, counts.rebaselines, counts.searches_succeeded), (0, 0, 1));
    assert_eq!(counts.adjustments, 0, "all of it is tried first");
    assert_eq!(world.steady().last().unwrap().utilisation, 1.0);
}

#[test]
fn the_published_search_goes_by_halves() {
    let mut world = World::new(|_| 0.0);
    world.tuner = Tuner::new(THETA, TunerOptions { first_probe: None, ..TunerOptions::default() });
    world.run(120);
    let probes: Vec<f32> = world
        .tuner
        .trace()
        .filter(|point| point.state == TunerState::BinarySearch)
        .map(|point| point.utilisation)
        .collect();
    assert_eq!(probes, [0.5, 0.75, 0.875, 0.9375]);
    assert_eq!(world.tuner.counts().adjustments, 4, "0.9375 to 1 in steps of 0.02");
    assert_eq!(world.steady().last().unwrap().utilisation, 1.0);
}

#[test]
fn a_linear_cost_is_met_at_the_bound_and_stays_there() {
    // Half of the budget costs θ.
    let mut world = World::new(|_| 2.0 * THETA);
    world.run(600);
    let (share, degradation) = world.settled(60);
    assert!((0.44..=0.5).contains(&share), "{share}");
    assert!((0.8 * THETA..=THETA).contains(&degradation), "{degradation}");
    let counts = world.tuner.counts();
    assert_eq!((counts.violations, counts.rebaselines), (0, 0));
    assert!(counts.adjustments <= 3, "no oscillation: {counts:?}");
    let first = world.steady()[0].at_ns - 5 * SECOND;
    assert!(first <= 6 * SECOND, "steady after recording and two probes, not after {first}");
}

#[test]
fn a_steep_cost_is_probed_ever_more_rarely() {
    // One step up is a quarter of θ and more: no setting lies in the band.
    let mut world = World::new(|_| 14.0 * THETA);
    world.run(1000);
    let counts = world.tuner.counts();
    let (share, degradation) = world.settled(100);
    assert!((0.04..=1.0 / 14.0 + 0.002).contains(&share), "{share}");
    assert!(degradation <= THETA);
    assert!(counts.violations < 120 && counts.rebaselines == 0, "{counts:?}");
}

#[test]
fn noise_does_not_make_it_give_up_its_baseline() {
    let (mut intervals, mut violations, mut rebaselines) = (0, 0, 0);
    for seed in 0..8 {
        let mut world = World::new(|_| 2.0 * THETA);
        world.rng = Pcg64::seed_from_u64(seed);
        world.noise = 0.3;
        world.run(1200);
        let (share, degradation) = world.settled(60);
        assert!((0.35..=0.5).contains(&share), "{share}");
        assert!((0.7 * THETA..=THETA).contains(&degradation), "{degradation}");
        let counts = world.tuner.counts();
        intervals += counts.intervals;
        violations += counts.violations;
        rebaselines += counts.rebaselines;
    }
    assert!(violations < intervals / 8, "{violations} of {intervals}");
    assert!(rebaselines <= 4, "in 160 minutes: {rebaselines}");
}

#[test]
fn a_sudden_load_is_a_new_baseline() {
    let mut world = World::new(|_| 2.0 * THETA);
    world.base_ms = |t| if t < 100.0 { 4.0 } else { 6.0 };
    world.run(130);
    let counts = world.tuner.counts();
    assert_eq!((counts.rebaselines, counts.violations, counts.searches_succeeded), (1, 3, 2));
    assert_eq!(world.tuner.baseline().unwrap().mean_ns, 6_000_000);
    let (share, _) = world.run(300).settled(130);
    assert!((0.4..=0.5).contains(&share), "{share}");
    assert_eq!(world.tuner.counts().violations, 3);
}

#[test]
fn a_load_that_goes_leaves_no_slack_unused_for_long() {
    let mut world = World::new(|_| 2.0 * THETA);
    world.base_ms = |t| if t < 100.0 { 6.0 } else { 4.0 };
    world.run(400);
    let (share, degradation) = world.settled(250);
    assert!((0.4..=0.5).contains(&share), "{share}");
    assert!(degradation <= THETA, "{degradation}");
}

#[test]
fn a_slow_drift_is_followed_by_refreshing() {
    // 1 % a minute.
    let mut world = World::new(|_| THETA);
    world.base_ms = |t| 4.0 * (1.0 + t / 6000.0);
    world.run(1800);
    let counts = world.tuner.counts();
    let (share, _) = world.settled(100);
    assert!(share > 0.6, "{share}");
    assert!(counts.rebaselines <= 1 && counts.violations < 100, "{counts:?}");
    assert!(counts.seconds(TunerState::Refresh) < 0.03 * 1800.0);
}

#[test]
fn a_phase_that_costs_more_lowers_the_utilisation() {
    // Deletions after insertions, as in the paper's trace (Exp 3).
    let mut world = World::new(|t| if t < 300.0 { 0.5 * THETA } else { 2.5 * THETA });
    world.run(300);
    let before = world.settled(100).0;
    world.run(900);
    let after = world.settled(400);
    assert!(before > 0.99 && (0.3..=0.41).contains(&after.0), "{before} {after:?}");
    assert!(after.1 <= THETA && world.tuner.counts().rebaselines <= 1);
}

#[test]
fn it_is_off_while_nothing_is_feasible_and_on_again_later() {
    let mut world = World::new(|t| if t < 200.0 { 40.0 * THETA } else { 2.0 * THETA });
    world.run(200);
    let counts = world.tuner.counts();
    assert_eq!((counts.searches_succeeded, counts.violations), (0, 0));
    assert!((3..=5).contains(&counts.searches_failed), "each try comes later than the last: {counts:?}");
    assert!(counts.seconds(TunerState::Off) > 120.0);
    world.run(600);
    assert_eq!(world.tuner.state(), TunerState::Steady);
    let (share, degradation) = world.settled(450);
    assert!((0.4..=0.5).contains(&share) && degradation <= THETA, "{share} {degradation}");
}

#[test]
fn intervals_without_updates_measure_the_baseline_for_nothing() {
    let mut world = World::new(|_| 2.0 * THETA);
    world.busy = |t| (100.0..200.0).contains(&t) || t > 300.0;
    world.base_ms = |t| if t < 250.0 { 4.0 } else { 5.0 };
    world.run(100);
    assert_eq!(world.tuner.state(), TunerState::BinarySearch, "there is nothing to probe with");
    assert_eq!(world.tuner.utilisation(), 1.0);
    world.run(200);
    let (share, degradation) = world.settled(110);
    assert!((0.4..=0.5).contains(&share) && degradation <= THETA);
    world.run(300);
    assert_eq!(world.tuner.baseline().unwrap().mean_ns, 5_000_000);
    world.run(400);
    let counts = world.tuner.counts();
    assert_eq!((counts.violations, counts.rebaselines), (0, 0), "a new load without updates is no violation");
}

#[test]
fn queries_that_saw_two_settings_are_left_out() {
    let mut tuner = Tuner::new(THETA, TunerOptions { ..TunerOptions::default() });
    let mut now = 0;
    while tuner.state() == TunerState::Recording {
        now += SECOND / 100;
        tuner.observe(now, 1_000_000, false);
    }
    // Until the first probe has lasted a second, queries come that began before it.
    let began = now;
    for _ in 0..50 {
        now += SECOND / 100;
        tuner.observe(now, now - began + 1, true);
    }
    for _ in 0..50 {
        now += SECOND / 100;
        tuner.observe(now, 1_000_000, true);
    }
    let probe = tuner.trace().last().copied().unwrap();
    assert_eq!((probe.state, probe.observed_ns), (TunerState::BinarySearch, 1_000_000));
}

#[test]
fn a_tail_is_held_to_the_bound_where_it_is_asked_for() {
    // Work makes every 20th query slow: the mean does not see it, the 99th percentile does.
    let shares = [Statistic::Mean, Statistic::MeanP95P99, Statistic::P99].map(|statistic| {
        let options = TunerOptions { statistic, ..TunerOptions::default() };
        let (mut tuner, mut now) = (Tuner::new(THETA, options), 0);
        for query in 0..400_000u64 {
            now += SECOND / 1000;
            let slow = if query % 20 == 0 { 2.0 * THETA * f64::from(tuner.utilisation()) } else { 0.0 };
            tuner.observe(now, (4e6 * (1.0 + slow)) as u64, true);
        }
        tuner.utilisation()
    });
    assert_eq!(shares[0], 1.0);
    assert!(shares[1] <= 0.52 && shares[2] <= 0.52, "{shares:?}");
}

#[test]
fn the_trace_is_bounded_and_times_add_up() {
    let options = TunerOptions { trace: 10, ..TunerOptions::default() };
    let mut world = World::new(|_| THETA);
    world.tuner = Tuner::new(THETA, options);
    world.run(105);
    assert_eq!(world.tuner.trace().len(), 10);
    let total: u64 = world.tuner.counts().state_ns.iter().sum();
    assert!((99 * SECOND..=100 * SECOND).contains(&total), "{total}");
}
