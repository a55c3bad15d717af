//! Greedy search in memory: the search of the build, of navigation graphs, and the reference for searches that
//! read from elsewhere.

use crate::seen::Seen;
use crate::{BuildDistance, Candidate, Graph};
use gleann_vector::{Distance, Element, Entry, Matrix, Pool};

/// What a search walks towards.
pub trait Target {
    /// Asks the processor for what the distance to `id` needs.
    fn prefetch(&self, id: u32);

    /// Ordering distances to the nodes `ids`, into the first `ids.len()` places of `out`.
    fn distances(&self, ids: &[u32], out: &mut [f32]);
}

/// A query vector, measured with the metric's own distance.
#[derive(Debug, Clone, Copy)]
pub struct QueryTarget<'a, T: Element> {
    /// The rows of the graph.
    pub vectors: &'a Matrix<T>,
    /// The metric's distance.
    pub distance: &'a Distance<T>,
    /// The query, of the dimension of the rows.
    pub query: &'a [T],
}

impl<T: Element> Target for QueryTarget<'_, T> {
    #[inline]
    fn prefetch(&self, id: u32) {
        self.vectors.prefetch(id as usize);
    }

    #[inline]
    fn distances(&self, ids: &[u32], out: &mut [f32]) {
        self.distance.to_gathered(self.query, self.vectors, ids, &mut out[..ids.len()]);
    }
}

/// A row of the graph's own matrix, measured with the distance of the build.
#[derive(Debug, Clone, Copy)]
pub struct RowTarget<'a, T: Element> {
    /// The rows of the graph.
    pub vectors: &'a Matrix<T>,
    /// The distance of the build.
    pub distance: &'a BuildDistance<T>,
    /// The row that is sought.
    pub row: u32,
}

impl<T: Element> Target for RowTarget<'_, T> {
    #[inline]
    fn prefetch(&self, id: u32) {
        self.vectors.prefetch(id as usize);
    }

    #[inline]
    fn distances(&self, ids: &[u32], out: &mut [f32]) {
        self.distance.to_rows(self.vectors, self.row, ids, out);
    }
}

/// What a search did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes expanded.
    pub hops: u64,
    /// Distances taken.
    pub comparisons: u64,
}

/// A greedy search and the memory it keeps from one search to the next.
#[derive(Debug, Clone)]
pub struct Searcher {
    /// State: whether the node has been expanded.
    pool: Pool<bool>,
    seen: Seen,
    expanded: Vec<Candidate>,
    unseen: Vec<u32>,
    distances: Vec<f32>,
    counts: Counts,
}

/// Hops of a search on its way to the target's neighbourhood, beside those of its pool.
const APPROACH_HOPS: usize = 8;

/// About how many ids a search of `graph` with a pool of `list` meets.
fn expected_ids(graph: &Graph, list: usize) -> usize {
    list.saturating_add(APPROACH_HOPS).saturating_mul(graph.degree_bound()).min(graph.nodes())
}

impl Default for Searcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Searcher {
    /// A search that has found nothing yet.
    pub fn new() -> Self {
        Self {
            pool: Pool::new(1),
            seen: Seen::new(),
            expanded: Vec::new(),
            unseen: Vec::new(),
            distances: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Searches `graph` for `target` from `entries` (none: finds nothing) with a pool of `list` (≥ 1).
    pub fn run(&mut self, graph: &Graph, target: &impl Target, entries: &[u32], list: usize) {
        self.pool.reset(list);
        self.seen.clear(expected_ids(graph, list));
        self.expanded.clear();
        self.counts = Counts::default();
        self.meet(target, entries);
        self.score(target);
        let mut next = 0;
        while let Some(entry) = self.pool.entries().get(next).copied() {
            if entry.state {
                next += 1;
                continue;
            }
            *self.pool.state_mut(next) = true;
            self.expanded.push(Candidate { distance: entry.distance, id: entry.id });
            self.meet(target, graph.neighbours(entry.id));
            // The runner-up is likely to be expanded next: its list comes while the distances are taken.
            if let Some(runner_up) = self.pool.entries().get(next + 1) {
                graph.prefetch(runner_up.id);
            }
            next = self.score(target).min(next + 1);
            if let Some(nearest) = self.pool.entries().get(next) {
                graph.prefetch(nearest.id);
            }
        }
        self.counts.hops = self.expanded.len() as u64;
    }

    /// Collects the unseen among `ids` and asks for their vectors.
    #[inline]
    fn meet(&mut self, target: &impl Target, ids: &[u32]) {
        self.unseen.clear();
        for &id in ids {
            if self.seen.insert(id) {
                target.prefetch(id);
                self.unseen.push(id);
            }
        }
    }

    /// Scores what [`Searcher::meet`] found; the first position of the pool that changed.
    #[inline]
    fn score(&mut self, target: &impl Target) -> usize {
        let count = self.unseen.len();
        self.counts.comparisons += count as u64;
        if self.distances.len() < count {
            self.distances.resize(count, 0.0);
        }
        target.distances(&self.unseen, &mut self.distances[..count]);
        let mut first = usize::MAX;
        for (&id, &distance) in self.unseen.iter().zip(&self.distances) {
            if let Some(inserted) = self.pool.insert(distance, id, false) {
                first = first.min(inserted.position);
            }
        }
        first
    }

    /// The best nodes found, nearest first, at most `list` of them.
    pub fn found(&self) -> &[Entry<bool>] {
        self.pool.entries()
    }

    /// Every node the search expanded, in that order: V, the candidates of a prune.
    pub fn expanded(&self) -> &[Candidate] {
        &self.expanded
    }

    /// What the last search did.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::Metric;

    #[test]
    fn walks_a_line_to_its_end_and_reports_the_way() {
        let vectors = Matrix::from_rows(&(0..10).map(|i| i as f32).collect::<Vec<_>>(), 1);
        let lists: Vec<Vec<u32>> = (0..10u32)
            .map(|i| [i.wrapping_sub(1), i + 1].into_iter().filter(|&j| j < 10).collect())
            .collect();
        let graph = Graph::from_lists(&lists, 2, Some(0));
        let distance = Distance::new(Metric::L2, 1);
        let target = QueryTarget { vectors: &vectors, distance: &distance, query: &[8.6] };
        let mut searcher = Searcher::new();
        for _ in 0..2 {
            searcher.run(&graph, &target, &[0], 2);
            assert_eq!(searcher.found().iter().map(|e| e.id).collect::<Vec<_>>(), [9, 8]);
            assert_eq!(
                searcher.expanded().iter().map(|c| c.id).collect::<Vec<_>>(),
                (0..10).collect::<Vec<_>>()
            );
            assert_eq!(searcher.counts(), Counts { hops: 10, comparisons: 10 });
        }
        searcher.run(&graph, &target, &[], 2);
        assert!(searcher.found().is_empty());
    }

    #[test]
    fn repeated_edges_and_entries_give_each_id_once() {
        let vectors = Matrix::from_rows(&[0.0f32, 1.0, 2.0, 3.0], 1);
        let graph = Graph::from_lists(&[vec![3, 3, 3], vec![3, 3], vec![], vec![1, 1, 0]], 3, Some(0));
        let distance = Distance::new(Metric::L2, 1);
        let mut searcher = Searcher::new();
        searcher.run(
            &graph,
            &QueryTarget { vectors: &vectors, distance: &distance, query: &[3.0] },
            &[0, 0],
            10,
        );
        assert_eq!(searcher.found().iter().map(|e| e.id).collect::<Vec<_>>(), [3, 1, 0]);
    }
}
