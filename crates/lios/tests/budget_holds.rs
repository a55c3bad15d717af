//! The overrun-bounded budget is the largest one that its definition allows.

use gleann_lios::{HistoryShape, IdleHistory};
use proptest::prelude::*;

fn shape(samples: usize, theta: f64) -> HistoryShape {
    HistoryShape { samples, least: 1, longest_ns: u64::MAX, refresh: 1, theta }
}

fn filled(idle: &[(u64, bool)], samples: usize, theta: f64) -> IdleHistory {
    let mut history = IdleHistory::new(shape(samples, theta));
    for &(idle_ns, scheduled) in idle {
        history.record(idle_ns, scheduled);
    }
    history
}

/// The constraint of the paper, word for word (§4.3).
fn allowed(t: u64, idle: &[(u64, bool)], theta: f64) -> bool {
    let overrun: u64 =
        idle.iter().filter(|(_, scheduled)| *scheduled).map(|(tau, _)| t.saturating_sub(*tau)).sum();
    let total: u64 = idle.iter().map(|(tau, _)| tau).sum();
    overrun as f64 <= theta * total as f64
}

/// Lengths of stalls: constant, uniform, bimodal, heavy-tailed, with zeros.
fn idle_ns() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(80_000), 0u64..300_000, 1_000u64..3_000, 3_000_000u64..4_000_000_000]
}

proptest! {
    #[test]
    fn it_is_the_largest_that_the_definition_allows(
        idle in prop::collection::vec((idle_ns(), any::<bool>()), 1..200),
        samples in 1usize..100,
        theta in prop_oneof![Just(0.0), Just(0.05), Just(0.08), 0.0f64..2.0],
    ) {
        let history = filled(&idle, samples, theta);
        let latest = &idle[idle.len().saturating_sub(samples)..];
        match history.estimate_ns() {
            None => prop_assert!(latest.iter().all(|(_, scheduled)| !scheduled)),
            Some(t) => {
                prop_assert!(allowed(t, latest, theta), "{t} is too long");
                prop_assert!(!allowed(t + 1, latest, theta), "{t} is not the longest");
            }
        }
    }
}

#[test]
fn no_samples_no_budget() {
    assert_eq!(IdleHistory::new(shape(16, 0.05)).estimate_ns(), None);
    assert_eq!(filled(&[(10, false); 20], 16, 0.05).estimate_ns(), None, "nothing bounds it");
}

#[test]
fn equal_stalls_allow_their_length_and_theta() {
    assert_eq!(filled(&[(100_000, true); 50], 16, 0.05).estimate_ns(), Some(105_000));
    assert_eq!(filled(&[(0, true); 50], 16, 0.05).estimate_ns(), Some(0));
    assert_eq!(filled(&[(100_000, true); 50], 16, 0.0).estimate_ns(), Some(100_000));
}

#[test]
fn short_stalls_decide_where_there_are_two_kinds() {
    // Half last 10 µs, half 190 µs; 5 % of the mean is 5 µs, of which each short stall pays 10.
    let idle: Vec<_> = (0..100).map(|i| (if i % 2 == 0 { 10_000 } else { 190_000 }, true)).collect();
    assert_eq!(filled(&idle, 100, 0.05).estimate_ns(), Some(20_000));
}

#[test]
fn one_long_stall_counts_only_so_much() {
    let mut idle = vec![(10_000, true); 99];
    idle.push((1_000_000_000, true));
    let t = filled(&idle, 100, 0.05).estimate_ns().unwrap();
    assert_eq!(t, 10_000 + 50_049_500 / 99, "fifty times the usual, as defined");
    let mut cut = IdleHistory::new(HistoryShape { longest_ns: 1_000_000, ..shape(100, 0.05) });
    idle.iter().for_each(|&(idle_ns, scheduled)| cut.record(idle_ns, scheduled));
    assert_eq!(cut.estimate_ns(), Some(10_000 + 99_500 / 99));
}

#[test]
fn sparse_work_gets_the_allowance_of_the_stalls_it_leaves_alone() {
    let idle: Vec<_> = (0..80).map(|i| (10_000, i % 8 == 0)).collect();
    assert_eq!(filled(&idle, 80, 0.05).estimate_ns(), Some(10_000 + 8 * 500));
}

#[test]
fn old_samples_are_forgotten_and_estimates_wait_for_their_turn() {
    let mut history = IdleHistory::new(HistoryShape {
        samples: 64,
        least: 32,
        longest_ns: u64::MAX,
        refresh: 16,
        theta: 0.0,
    });
    let mut changes = Vec::new();
    for i in 0..200u64 {
        let before = history.estimate_ns();
        history.record(if i < 100 { 10 } else { 20 }, true);
        if history.estimate_ns() != before {
            changes.push((i, history.estimate_ns()));
        }
    }
    assert_eq!(changes, [(31, Some(10)), (175, Some(20))]);
    assert_eq!((history.len(), history.mean_ns()), (64, 20));
}
