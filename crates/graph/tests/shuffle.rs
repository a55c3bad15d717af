//! A shuffle is a permutation, never worse than a greedy fill, and the same whatever the threads.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod support;

use gleann_graph::{Graph, ShuffleError, ShufflePlan, Shuffled, page_mates};
use gleann_vector::{Matrix, Metric, Progress, Silent};
use proptest::prelude::*;

const ENOUGH: u64 = 1 << 30;

fn shuffle(graph: &Graph, page: usize, budget: u64) -> Shuffled {
    let plan = ShufflePlan::new(graph.nodes() as u64, graph.degree_bound(), page, budget).unwrap();
    plan.run(graph, &Silent).unwrap()
}

/// Holds an order against what every order is, and returns the mates by counting anew.
fn mates(graph: &Graph, page: usize, order: &[u32]) -> u64 {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..graph.nodes() as u32), "a permutation");
    order
        .chunks(page)
        .flat_map(|members| members.iter().map(move |&node| (node, members)))
        .map(|(node, members)| graph.neighbours(node).iter().filter(|id| members.contains(id)).count() as u64)
        .sum()
}

/// `count` cliques of `size` nodes, the members of each scattered over the ids, tied into a ring.
fn cliques(count: u32, size: u32) -> Graph {
    let id = |clique: u32, member: u32| (member * count + clique * 7 % count) % (count * size);
    let mut lists = vec![Vec::new(); (count * size) as usize];
    for clique in 0..count {
        for member in 0..size {
            let own = (0..size).filter(|&other| other != member).map(|other| id(clique, other));
            let bridge = (member == 0).then(|| id((clique + 1) % count, 1));
            lists[id(clique, member) as usize] = own.chain(bridge).collect();
        }
    }
    Graph::from_lists(&lists, size as usize, Some(0))
}

#[test]
fn cliques_get_a_page_each() {
    for (size, page) in [(10, 10), (8, 4), (3, 3)] {
        let graph = cliques(100, size);
        let shuffled = shuffle(&graph, page, ENOUGH);
        let all = u64::from(100 * size) * (page as u64 - 1);
        let found = mates(&graph, page, &shuffled.order);
        assert_eq!((shuffled.mates, found), (all, all), "cliques of {size}, pages of {page}");
        assert!(shuffled.mates_by_id < all / 4, "{shuffled:?}");
    }
}

#[test]
fn one_record_a_page_stays_where_it_is() {
    let shuffled = shuffle(&cliques(10, 4), 1, ENOUGH);
    assert_eq!((shuffled.order, shuffled.mates), ((0..40).collect(), 0));
    let none = shuffle(&Graph::from_lists::<Vec<u32>>(&[], 3, None), 10, ENOUGH);
    assert_eq!((none.order.len(), none.mates), (0, 0));
}

#[test]
fn a_graph_of_vectors_is_packed_well_at_once_and_in_parts() {
    let vectors = Matrix::from_rows(&support::clustered::<f32>(12_000, 16, 3), 16);
    let graph = support::graph_of(&vectors, Metric::L2, &support::params(24, 32));
    let smallest = ShufflePlan::new(12_000, 24, 10, 0).unwrap_err();
    let whole = ShufflePlan::new(12_000, 24, 10, ENOUGH).unwrap();
    let parts = ShufflePlan::new(12_000, 24, 10, smallest).unwrap();
    assert!(whole.parts == 1 && parts.parts >= 2 && smallest < whole.bytes, "{parts:?}");
    let [whole, parts] = [whole, parts].map(|plan| {
        let [one, two] = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| plan.run(&graph, &Silent)).unwrap()
        });
        assert_eq!(one, two);
        assert_eq!(mates(&graph, 10, &one.order), one.mates);
        one
    });
    let ratio = |mates: u64| mates as f64 / (9.0 * 12_000.0);
    let found = [whole.mates_by_id, whole.mates_greedy, parts.mates, whole.mates].map(ratio);
    println!("overlap {found:?}: by id, greedy, in parts, at once");
    assert!(found[0] < 0.01 && found[1] > 0.15 && found[2] > 1.2 * found[1] && found[3] > 1.3 * found[1]);
    assert!(found[2] > 0.85 * found[3], "{found:?}");
}

#[test]
fn a_shuffle_can_be_stopped() {
    struct Stop;
    impl Progress for Stop {
        fn phase(&self, _: &str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let plan = ShufflePlan::new(40, 4, 10, ENOUGH).unwrap();
    assert_eq!(plan.run(&cliques(10, 4), &Stop), Err(ShuffleError::Cancelled));
}

proptest! {
    #[test]
    fn any_graph_is_packed_no_worse_than_greedily(
        page in 1usize..8,
        edges in proptest::collection::vec(proptest::collection::vec(0u32..90, 0..6), 1..90),
    ) {
        let n = edges.len() as u32;
        let lists: Vec<Vec<u32>> = edges.iter().enumerate().map(|(id, list)| {
            let mut list: Vec<u32> = list.iter().map(|&x| x % n).filter(|&x| x != id as u32).collect();
            list.sort_unstable();
            list.dedup();
            list
        }).collect();
        let graph = Graph::from_lists(&lists, 6, Some(0));
        let shuffled = shuffle(&graph, page, ENOUGH);
        let found = mates(&graph, page, &shuffled.order);
        let ids: Vec<u32> = (0..n).collect();
        if page > 1 {
            prop_assert_eq!(found, shuffled.mates);
            prop_assert!(found >= shuffled.mates_greedy);
            prop_assert_eq!(mates(&graph, page, &ids), shuffled.mates_by_id);
            prop_assert_eq!(page_mates(&graph, Some(&ids), page), Ok(shuffled.mates_by_id));
        }
    }
}
