//! MemGraph: a navigation graph over a sample of the nodes, held in memory, whose nearest nodes to a query are
//! where its search on disk begins (Starling, PipeANN; design-space paper §4.1.3).

use gleann_graph::{Graph, Searcher, Target};
use gleann_quant::{Codes, DistanceTable};
use gleann_vector::Entry as Candidate;

/// The navigation graph. Its nodes are numbered apart, from 0; it walks by their codes.
#[derive(Debug)]
pub struct MemGraph {
    nodes: Vec<u32>,
    codes: Codes,
    graph: Graph,
}

impl MemGraph {
    /// A graph over the sample `nodes` (ids of the index), whose codes are `codes`.
    ///
    /// # Panics
    /// If the three differ in length.
    pub fn new(nodes: Vec<u32>, codes: Codes, graph: Graph) -> Self {
        assert_eq!((nodes.len(), nodes.len()), (codes.len(), graph.nodes()), "nodes, codes and lists");
        Self { nodes, codes, graph }
    }

    /// Nodes of the sample, as ids of the index.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        4 * self.nodes.len() + self.codes.memory_bytes() + self.graph.memory_bytes()
    }

    /// The `points` nodes nearest to the query of `table` that a pool of `list` finds: calls `found` with id and
    /// estimate, nearest first. Returns the estimates made on the way.
    pub(crate) fn seeds(
        &self,
        navigator: &mut Navigator,
        table: &DistanceTable,
        (list, points): (usize, usize),
        mut found: impl FnMut(u32, f32),
    ) -> u32 {
        let target = ByCodes { table, codes: &self.codes };
        navigator.0.run(&self.graph, &target, self.graph.entry().as_slice(), list);
        for Candidate { id, distance, .. } in navigator.0.found().iter().take(points) {
            found(self.nodes[*id as usize], *distance);
        }
        navigator.0.counts().comparisons as u32
    }
}

/// The memory of one navigating search, kept from query to query.
#[derive(Default)]
pub(crate) struct Navigator(Searcher);

struct ByCodes<'a> {
    table: &'a DistanceTable,
    codes: &'a Codes,
}

impl Target for ByCodes<'_> {
    #[inline]
    fn prefetch(&self, id: u32) {
        self.codes.prefetch(id);
    }

    #[inline]
    fn distances(&self, ids: &[u32], out: &mut [f32]) {
        self.table.estimate(self.codes, ids, &mut out[..ids.len()]);
    }
}
