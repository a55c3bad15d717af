//! The three recalls, by hand-made cases with the right value and against a naive count.

#![allow(clippy::unwrap_used)] // outside of test functions too: this is all test code

use gleann_vector::{GroundTruth, Metric, NO_ID, Recall, RecallError, RecallParams};
use proptest::prelude::*;

fn params(metric: Metric, k: usize, n: usize) -> RecallParams<'static> {
    RecallParams { metric, k, n, tolerance: 1e-3, keys: None }
}

fn truth(k: usize, ids: &[u32], distances: &[f32]) -> GroundTruth {
    let distances = (!distances.is_empty()).then(|| distances.to_vec());
    GroundTruth { queries: ids.len() / k, k, ids: ids.to_vec(), distances }
}

fn measure(truth: &GroundTruth, results: &[Vec<(u64, f32)>], params: &RecallParams<'_>) -> Recall {
    Recall::measure(truth, results, params).unwrap()
}

#[test]
fn ties_with_the_kth_count() {
    let gt = truth(5, &[1, 2, 3, 4, 5], &[0.5, 1.0, 1.0, 1.0, 2.0]);
    let tied = measure(&gt, &[vec![(1, 0.5), (4, 1.0)]], &params(Metric::L2, 2, 2));
    assert_eq!((tied.official, tied.distance, tied.k_at_n), (1.0, Some(1.0), 1.0));
    let bare = truth(5, &[1, 2, 3, 4, 5], &[]);
    let bare = measure(&bare, &[vec![(1, 0.5), (4, 1.0)]], &params(Metric::L2, 2, 2));
    assert_eq!((bare.official, bare.distance, bare.k_at_n), (0.5, None, 0.5));
    // The extension stops at the first that is not tied, and 1e-6 is absolute.
    let broken = truth(4, &[1, 2, 3, 4], &[1.0, 1.0 + 2e-6, 1.0, 1.0]);
    assert_eq!(measure(&broken, &[vec![(4, 1.0)]], &params(Metric::L2, 1, 1)).official, 0.0);
    let small = truth(2, &[1, 2], &[1e-8, 9e-7]);
    assert_eq!(measure(&small, &[vec![(2, 9e-7)]], &params(Metric::L2, 1, 1)).official, 1.0);
    let edge = truth(2, &[1, 2], &[0.0, 1e-6]);
    assert_eq!(measure(&edge, &[vec![(2, 1e-6)]], &params(Metric::L2, 1, 1)).official, 0.0);
}

#[test]
fn duplicates_collapse_and_missing_results_are_missed() {
    let gt = truth(4, &[1, 2, 3, 4], &[1.0, 2.0, 3.0, 4.0]);
    let all = params(Metric::L2, 4, 4);
    let same = measure(&gt, &[vec![(1, 1.0); 4]], &all);
    assert_eq!((same.official, same.distance, same.k_at_n), (0.25, Some(0.25), 0.25));
    let few = measure(&gt, &[vec![(3, 3.0), (1, 1.0)]], &all);
    assert_eq!((few.official, few.distance, few.k_at_n), (0.5, Some(0.5), 0.5));
    let none = measure(&gt, &[vec![]], &all);
    assert_eq!((none.official, none.distance, none.k_at_n, none.queries), (0.0, Some(0.0), 0.0, 1));
    // Ids beyond 32 bits are not cut down to one that matches.
    let wide = measure(&gt, &[vec![(1 | 1 << 32, 9.0)]], &all);
    assert_eq!(wide.official, 0.0);
}

#[test]
fn only_the_first_k_count_but_for_k_at_n() {
    let gt = truth(2, &[1, 2], &[1.0, 2.0]);
    let results = [vec![(9, 5.0), (8, 5.0), (1, 1.0), (2, 2.0)]];
    let found = measure(&gt, &results, &params(Metric::L2, 2, 3));
    assert_eq!((found.official, found.distance, found.k_at_n), (0.0, Some(0.0), 0.5));
    assert_eq!(measure(&gt, &results, &params(Metric::L2, 2, 100)).k_at_n, 1.0);
    // Ties cannot lift k@n above 1.
    let tied = truth(3, &[1, 2, 3], &[1.0, 1.0, 1.0]);
    assert_eq!(measure(&tied, &[vec![(1, 1.0), (2, 1.0), (3, 1.0)]], &params(Metric::L2, 1, 3)).k_at_n, 1.0);
}

#[test]
fn unused_slots_match_nothing() {
    let inf = f32::INFINITY;
    let gt = truth(3, &[0, 1, NO_ID, NO_ID, NO_ID, NO_ID], &[1.0, 2.0, inf, inf, inf, inf]);
    let padding = (u64::from(NO_ID), inf);
    let results = [vec![(0, 1.0), (1, 2.0), padding], vec![padding, padding, padding]];
    let found = measure(&gt, &results, &params(Metric::L2, 3, 3));
    assert_eq!((found.official, found.distance, found.k_at_n, found.queries), (1.0, Some(1.0), 1.0, 1));
    let wrong = measure(&gt, &[vec![padding, (7, 3.0), (0, 1.0)], vec![]], &params(Metric::L2, 3, 3));
    assert_eq!((wrong.official, wrong.distance, wrong.k_at_n), (0.5, Some(0.5), 0.5));
    let nobody = truth(1, &[NO_ID], &[inf]);
    let nobody = measure(&nobody, &[vec![(0, 0.0)]], &params(Metric::L2, 1, 1));
    assert_eq!((nobody.official, nobody.queries), (0.0, 0));
}

/// A factor on a negative threshold would make it stricter: exact results would count as wrong.
#[test]
fn distance_recall_tolerates_the_same_on_either_side_of_zero() {
    for (kth, returned, recall) in [
        (100.0, 99.95, 1.0),
        (100.0, 99.8, 0.0),
        (-100.0, -100.0, 1.0),
        (-100.0, -100.05, 1.0),
        (-100.0, -100.2, 0.0),
        (-100.0, -50.0, 1.0),
        (0.0, 0.0, 1.0),
        (0.0, -1e-6, 0.0),
    ] {
        let gt = truth(1, &[1], &[kth]);
        let found = measure(&gt, &[vec![(9, returned)]], &params(Metric::InnerProduct, 1, 1));
        assert_eq!((found.distance, found.official), (Some(recall), 0.0), "{kth} {returned}");
    }
    for (metric, kth, returned, recall) in [
        (Metric::L2, 100.0, 100.05, 1.0),
        (Metric::L2, 100.0, 100.2, 0.0),
        (Metric::L2, 1e-8, 1.1e-8, 0.0),
        (Metric::Cosine, 0.0, 5e-7, 1.0),
        (Metric::Cosine, 0.0, 5e-6, 0.0),
        (Metric::L2, 1.0, f32::NAN, 0.0),
    ] {
        let gt = truth(1, &[1], &[kth]);
        let found = measure(&gt, &[vec![(9, returned)]], &params(metric, 1, 1));
        assert_eq!(found.distance, Some(recall), "{metric} {kth} {returned}");
    }
}

#[test]
fn keys_stand_for_rows() {
    let keys = [100, 1 << 40, 7];
    let gt = truth(2, &[1, 2], &[1.0, 2.0]);
    let with = RecallParams { keys: Some(&keys), ..params(Metric::L2, 2, 2) };
    assert_eq!(measure(&gt, &[vec![(1 << 40, 1.0), (7, 2.0)]], &with).official, 1.0);
    assert_eq!(measure(&gt, &[vec![(1, 1.0), (2, 2.0)]], &with).official, 0.0);
    let short = RecallParams { keys: Some(&keys[..2]), ..with };
    let error = Recall::measure(&gt, &[vec![(1u64, 1.0f32)]], &short).unwrap_err();
    assert_eq!(error, RecallError::Key { query: 0, id: 2, keys: 2 });
}

#[test]
fn each_step_has_its_own_recall() {
    let gt = truth(2, &[1, 2], &[1.0, 2.0]);
    let all = params(Metric::L2, 2, 2);
    let before = measure(&gt, &[vec![(1, 1.0), (2, 2.0)]], &all);
    let after = measure(&gt, &[vec![(3, 3.0), (4, 4.0)]], &all);
    assert_eq!((before.official, after.official), (1.0, 0.0));
}

#[test]
fn mismatches_are_errors() {
    let gt = truth(2, &[1, 2, 3, 4], &[1.0, 2.0, 1.0, 2.0]);
    let error = |results: usize, params: &RecallParams<'_>| {
        Recall::measure(&gt, &vec![Vec::<(u64, f32)>::new(); results], params).unwrap_err().to_string()
    };
    let fine = params(Metric::L2, 2, 2);
    assert!(error(3, &fine).contains("results of 3 queries, the ground truth has 2"));
    assert!(error(2, &params(Metric::L2, 3, 3)).contains("k is 3; the ground truth has 1 to 2"));
    assert!(error(2, &params(Metric::L2, 0, 3)).contains("k is 0"));
    assert!(error(2, &params(Metric::L2, 2, 1)).contains("n is 1; k@n needs at least k = 2"));
    for tolerance in [f32::NAN, -0.1, 1.0] {
        assert!(error(2, &RecallParams { tolerance, ..fine }).contains("the tolerance is"));
    }
}

proptest! {
    /// The official definition, written down once more as the big-ann benchmarks have it.
    #[test]
    fn official_recall_is_the_official_one(
        mut distances in prop::collection::vec(0u8..6, 1..12),
        returned in prop::collection::vec(0u64..15, 0..12),
        k in 1usize..6,
    ) {
        distances.sort_unstable();
        let k = k.min(distances.len());
        let distances: Vec<f32> = distances.into_iter().map(f32::from).collect();
        let ids: Vec<u32> = (0..distances.len() as u32).collect();
        let mut tied = k;
        while tied < ids.len() && (distances[tied] - distances[k - 1]).abs() < 1e-6 {
            tied += 1;
        }
        let hits = (0..tied as u64).filter(|id| returned.iter().take(k).any(|found| found == id)).count();
        let gt = truth(ids.len(), &ids, &distances);
        let results = [returned.iter().map(|&id| (id, distances.get(id as usize).copied().unwrap_or(99.0))).collect()];
        let found = measure(&gt, &results, &params(Metric::L2, k, k));
        prop_assert_eq!(found.official, hits as f64 / k as f64);
        prop_assert_eq!(found.k_at_n, found.official);
        // With exact distances and no tolerance to speak of, being near and being tied are the same.
        prop_assert_eq!(found.distance, Some(found.official));
    }
}
