//! What must hold of every simulation, whatever the costs.

#![allow(clippy::unwrap_used)]

use gleann_lios::BudgetKind;
use gleann_sim::{
    Arm, Costs, DegreeCosts, DeviceCosts, Distribution, Interference, Processor, Report, SearchCosts, Setup,
    Share, Traversal, UpdateCosts, simulate,
};
use std::collections::BTreeMap;

fn spread(mean: f64, variation: f64) -> Distribution {
    Distribution::Spread { mean, variation }
}

fn search(hop_us: f64) -> SearchCosts {
    SearchCosts {
        width: 4,
        hops: spread(14.0, 0.2),
        reads_per_hop: spread(3.6, 0.2),
        start_us: Distribution::Always(40.0),
        hop_us: spread(hop_us, 0.3),
        arrival_us: spread(4.0, 0.3),
    }
}

fn update(cpu_us: f64, turns: u32) -> UpdateCosts {
    UpdateCosts {
        cpu_us: spread(cpu_us, 0.5),
        turns,
        turn_us: 20.0,
        part_us: 0.0,
        reads: 2 * turns,
        commit_us: if turns > 0 { 40.0 } else { 0.0 },
        writes: 1,
        serial_us: 0.0,
    }
}

/// Deletes that can be divided anywhere, inserts that cannot.
fn costs() -> Costs {
    let degree = DegreeCosts {
        evidence: "assumed".into(),
        beam: search(12.0),
        pipe: search(3.0),
        delete: update(800.0, 0),
        insert: update(1400.0, 10),
    };
    Costs {
        about: "for tests".into(),
        device: DeviceCosts {
            iops: 2_000_000.0,
            latency_us: vec![(1.0, 46.0), (4.0, 96.0), (8.0, 124.0)],
            variation: 0.25,
            wake_us: 4.0,
            spin_us: 0.0,
        },
        processor: Processor { cores: 0, together: 1.0 },
        interference: Interference {
            pollution_us: 4.0,
            prefetched_us: 1.0,
            displaced_after_us: 20.0,
            resume_us: 0.5,
            contention: 0.0,
        },
        degree: BTreeMap::from([("64".to_owned(), degree)]),
    }
}

fn setup(search_threads: u32, update_threads: u32, arm: Arm) -> Setup {
    Setup {
        search_threads,
        update_threads,
        arm,
        idle_seconds: 0.2,
        deletes: 2000,
        inserts: 1000,
        ..Setup::default()
    }
}

fn fixed(theta: f64, budget: BudgetKind, share: f32) -> Arm {
    Arm { budget, share: Share::Fixed(share), ..Arm::new(theta) }
}

fn run(setup: &Setup) -> Vec<Report> {
    simulate(setup, &costs()).unwrap()
}

/// How many times as fast as without: deletes, inserts.
fn speedups(setup: &Setup) -> [f64; 2] {
    let off = run(&Setup { arm: Arm::OFF, ..setup.clone() });
    let on = run(setup);
    [1, 2].map(|phase| on[phase].beside(&off[phase]).speedup)
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let setup = setup(3, 1, Arm::new(0.05));
    assert_eq!(run(&setup), run(&setup));
    assert_ne!(run(&setup), run(&Setup { seed: 2, ..setup }));
}

#[test]
fn a_scheduler_without_updates_changes_nothing() {
    for traversal in [Traversal::Beam, Traversal::Pipe] {
        let still = |arm| Setup { traversal, deletes: 0, inserts: 0, idle_seconds: 0.5, ..setup(4, 1, arm) };
        let (off, on) = (run(&still(Arm::OFF)), run(&still(fixed(0.05, BudgetKind::Bounded, 1.0))));
        assert_eq!((off.len(), on.len()), (1, 1));
        assert!(on[0].stall_us_mean > 10.0 && on[0].harvested_cores == 0.0);
        let searches = |report: &Report| (report.queries, report.latency_us_p99, report.idle_ratio);
        assert_eq!(searches(&off[0]), searches(&on[0]));
        assert_eq!(off[0].latency_us_mean, on[0].latency_us_mean);
    }
}

#[test]
fn closed_loops_obey_little_and_the_device() {
    for (threads, in_flight, iops) in [(1, 1, 1e6), (4, 8, 1e6), (16, 4, 1e5), (28, 1, 5e4)] {
        let mut costs = costs();
        costs.device.iops = iops;
        let setup =
            Setup { in_flight, deletes: 0, inserts: 0, idle_seconds: 1.0, ..setup(threads, 0, Arm::OFF) };
        let report = &simulate(&setup, &costs).unwrap()[0];
        let inside = report.search_qps * report.latency_us_mean / 1e6;
        let expected = f64::from(threads * in_flight);
        assert!((inside / expected - 1.0).abs() < 0.05, "{threads} {in_flight}: {inside}");
        assert!(report.device_iops <= 1.02 * iops, "{} of {iops}", report.device_iops);
        if iops <= 1e5 {
            assert!(report.device_iops > 0.95 * iops, "{} of {iops}", report.device_iops);
        }
    }
}

#[test]
fn a_whole_bounded_budget_overruns_by_its_bound() {
    for theta in [0.02, 0.05, 0.1] {
        let setup =
            Setup { inserts: 0, deletes: 4000, ..setup(6, 1, fixed(theta, BudgetKind::Bounded, 1.0)) };
        let report = &run(&setup)[1];
        assert!(report.overrun_us_mean > 0.3 * report.overrun_bound_us, "{theta}: {report:?}");
        assert!(report.overrun_us_mean < 1.15 * report.overrun_bound_us, "{theta}: {report:?}");
    }
}

#[test]
fn naive_use_of_stalls_costs_searches_dearly() {
    let mut costs = costs();
    costs.degree.get_mut("64").unwrap().delete = update(5000.0, 0);
    let of = |arm| {
        let setup = Setup { inserts: 0, deletes: 1000, ..setup(4, 1, arm) };
        simulate(&setup, &costs).unwrap().remove(1)
    };
    let off = of(Arm::OFF);
    let naive = of(fixed(0.05, BudgetKind::Unbounded, 1.0)).beside(&off);
    assert!(naive.mean > 1.0 && naive.speedup > 3.0, "{naive:?}");
    let bounded = of(fixed(0.05, BudgetKind::Bounded, 1.0)).beside(&off);
    assert!(bounded.mean < 0.12 && bounded.speedup > 1.2, "{bounded:?}");
}

#[test]
fn more_searching_threads_give_more() {
    let of = |search| speedups(&setup(search, 4, fixed(0.05, BudgetKind::Bounded, 1.0)));
    let (few, some, many) = (of(4), of(12), of(28));
    for phase in 0..2 {
        assert!(few[phase] > 1.02, "{few:?}");
        assert!(
            some[phase] > 1.1 * few[phase] && many[phase] > 1.1 * some[phase],
            "{few:?} {some:?} {many:?}"
        );
    }
}

#[test]
fn more_is_given_by_a_larger_bound_and_a_larger_share() {
    let delete = |arm| {
        let setup = Setup { inserts: 0, deletes: 4000, ..setup(8, 2, arm) };
        speedups(&Setup { inserts: 1, ..setup })[0]
    };
    let thetas = [0.02, 0.05, 0.2].map(|theta| delete(fixed(theta, BudgetKind::Bounded, 1.0)));
    assert!(thetas.is_sorted(), "{thetas:?}");
    let shares = [0.0, 0.3, 0.6, 1.0].map(|share| delete(fixed(0.05, BudgetKind::Bounded, share)));
    assert!(shares.is_sorted() && shares[0] < 1.2, "{shares:?}");
    let kinds = [BudgetKind::Bounded, BudgetKind::OnArrival, BudgetKind::Unbounded];
    let kinds = kinds.map(|kind| delete(fixed(0.05, kind, 1.0)));
    assert!(kinds.is_sorted(), "{kinds:?}");
}

#[test]
fn prefetching_makes_slices_cheaper() {
    let on = fixed(0.05, BudgetKind::OnArrival, 1.0);
    let of = |arm| run(&Setup { inserts: 0, ..setup(6, 1, arm) })[1].latency_us_mean;
    assert!(of(on) < 0.99 * of(Arm { prefetch: false, ..on }));
}

#[test]
fn without_stalls_the_floor_gets_updates_done() {
    let mut costs = costs();
    costs.device = DeviceCosts {
        iops: 1e12,
        latency_us: vec![(1.0, 0.0)],
        variation: 0.0,
        wake_us: 0.0,
        ..costs.device
    };
    let of = |floor| {
        let arm = Arm { floor: Some(floor), ..fixed(0.05, BudgetKind::Bounded, 1.0) };
        let setup = Setup { inserts: 0, deletes: 100, longest_seconds: 2.0, ..setup(2, 0, arm) };
        simulate(&setup, &costs).unwrap().remove(1)
    };
    let (paid, unpaid) = (of(0.025), of(0.0));
    assert!(!paid.cut_short && paid.vectors == 100);
    assert!((paid.harvested_cores / 2.0 - 0.025).abs() < 0.006, "{paid:?}");
    assert!(unpaid.cut_short && unpaid.vectors < 100, "{unpaid:?}");
}

#[test]
fn the_tuner_finds_its_share_and_keeps_the_bound() {
    let mut costs = costs();
    costs.interference.prefetched_us = 12.0;
    let setup = |arm| Setup { inserts: 0, deletes: 40_000, ..setup(4, 2, arm) };
    let off = simulate(&setup(Arm::OFF), &costs).unwrap().remove(1);
    let whole =
        simulate(&setup(fixed(0.05, BudgetKind::Bounded, 1.0)), &costs).unwrap().remove(1).beside(&off);
    let on = simulate(&setup(Arm::new(0.05)), &costs).unwrap().remove(1);
    assert!(on.tuner_state_seconds["steady"] > 0.0 && !on.trace.is_empty(), "{on:?}");
    let tuned = on.beside(&off);
    assert!(whole.mean > 0.06, "{whole:?}");
    assert!(tuned.mean < 0.06 && tuned.speedup > 1.0, "{tuned:?}");
}

#[test]
fn stalls_are_worth_less_where_threads_share_cores() {
    let setup = Setup { inserts: 0, ..setup(6, 2, fixed(0.05, BudgetKind::Bounded, 1.0)) };
    let of = |cores| {
        let costs = Costs { processor: Processor { cores, together: 1.25 }, ..costs() };
        let off = simulate(&Setup { arm: Arm::OFF, ..setup.clone() }, &costs).unwrap().remove(1);
        simulate(&setup, &costs).unwrap().remove(1).beside(&off)
    };
    let (own, shared) = (of(8), of(4));
    assert!(shared.speedup < own.speedup && shared.mean > own.mean + 0.01, "{own:?} {shared:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let told = |setup: Setup| simulate(&setup, &costs()).unwrap_err().to_string();
    assert!(told(Setup { degree: "7".into(), ..Setup::default() }).contains("R = 7; there are those for 64"));
    assert!(told(Setup { search_threads: 0, ..Setup::default() }).contains("searching threads"));
    assert!(told(setup(1, 1, Arm::new(-1.0))).contains("theta"));
    let mut wrong = costs();
    wrong.device.latency_us = vec![(4.0, 1.0), (1.0, 2.0)];
    assert!(simulate(&Setup::default(), &wrong).unwrap_err().to_string().starts_with("device"));
}
