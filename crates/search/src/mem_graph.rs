//! MemGraph: a navigation graph over a sample of the nodes, held in memory, whose nearest nodes to a query are
//! where its search on disk begins (Starling, PipeANN; design-space paper §4.1.3).

use gleann_graph::{Graph, QueryTarget, Searcher, Target};
use gleann_quant::{Codes, DistanceTable};
use gleann_vector::{Distance, Element, Entry as Candidate, Matrix};

/// The navigation graph. Its nodes are numbered apart, from 0, in the order of the sample.
#[derive(Debug)]
pub struct MemGraph<T: Element> {
    nodes: Vec<u32>,
    points: Points<T>,
    graph: Graph,
}

/// What a navigation graph knows of each of its nodes, to walk by.
#[derive(Debug)]
pub enum Points<T: Element> {
    /// Their codes: estimates on the same scale as those of the search on disk.
    Codes(Codes),
    /// Their vectors: for an index without codes.
    Vectors(Matrix<T>),
}

impl<T: Element> Points<T> {
    fn len(&self) -> usize {
        match self {
            Points::Codes(codes) => codes.len(),
            Points::Vectors(vectors) => vectors.rows(),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Points::Codes(codes) => codes.memory_bytes(),
            Points::Vectors(vectors) => size_of_val(vectors.as_slice()),
        }
    }
}

impl<T: Element> MemGraph<T> {
    /// A graph over the sample `nodes` (ids of the index), whose points are `points`.
    ///
    /// # Panics
    /// If the three differ in length.
    pub fn new(nodes: Vec<u32>, points: Points<T>, graph: Graph) -> Self {
        assert_eq!((nodes.len(), nodes.len()), (points.len(), graph.nodes()), "nodes, points and lists");
        Self { nodes, points, graph }
    }

    /// Nodes of the sample, as ids of the index.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + self.points.memory_bytes() + self.graph.memory_bytes()
    }

    /// The `points` nodes nearest to what is sought that a pool of `list` finds: calls `found` with id and
    /// ordering distance (estimated where points are codes), nearest first. Returns the comparisons made on the
    /// way.
    pub(crate) fn seeds(
        &self,
        navigator: &mut Navigator,
        sought: &Sought<'_, T>,
        (list, points): (usize, usize),
        mut found: impl FnMut(u32, f32),
    ) -> u32 {
        let (graph, entry) = (&self.graph, self.graph.entry());
        let searcher = &mut navigator.0;
        match &self.points {
            Points::Codes(codes) => {
                searcher.run(graph, &ByCodes { table: sought.table, codes }, entry.as_slice(), list);
            }
            Points::Vectors(vectors) => {
                let Sought { distance, query, .. } = *sought;
                searcher.run(graph, &QueryTarget { vectors, distance, query }, entry.as_slice(), list);
            }
        }
        for Candidate { id, distance, .. } in searcher.found().iter().take(points) {
            found(self.nodes[*id as usize], *distance);
        }
        searcher.counts().comparisons as u32
    }
}

/// What is sought, in both forms.
pub(crate) struct Sought<'a, T: Element> {
    /// Filled for the query, where the index has codes.
    pub(crate) table: &'a DistanceTable,
    /// The exact distance.
    pub(crate) distance: &'a Distance<T>,
    /// The query.
    pub(crate) query: &'a [T],
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
