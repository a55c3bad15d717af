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

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_graph::{BuildDistance, BuildParams, repair};
    use gleann_quant::{Codebook, PqParams};
    use gleann_vector::{Metric, Silent};
    use proptest::prelude::*;

    const DIM: usize = 4;

    /// A graph of `rows` in which every node can be reached.
    fn graph(rows: &Matrix<f32>, metric: Metric, degree: usize) -> Graph {
        let params = BuildParams { degree, list: 8, ..BuildParams::default() };
        let distance = BuildDistance::new(metric, rows);
        let mut graph = gleann_graph::build(rows, &distance, &params, &Silent).unwrap();
        let entry = graph.entry();
        let Ok(_) = repair(&mut graph, entry, |_, _, _| {});
        graph
    }

    /// (node, distance) in the order in which they are found.
    fn seeds(of: &MemGraph<f32>, sought: &Sought<'_, f32>, list: usize, points: usize) -> Vec<(u32, f32)> {
        let (mut navigator, mut found) = (Navigator::default(), Vec::new());
        // The second search shows whether the first has left anything behind.
        for _ in 0..2 {
            found.clear();
            let comparisons =
                of.seeds(&mut navigator, sought, (list, points), |id, distance| found.push((id, distance)));
            assert!(comparisons as usize <= of.nodes().len());
        }
        found
    }

    fn nearest(nodes: &[u32], distance: impl Fn(u32) -> f32, points: usize) -> Vec<(u32, f32)> {
        let mut all: Vec<(u32, f32)> =
            nodes.iter().zip(0..).map(|(&node, id)| (node, distance(id))).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        all.truncate(points);
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// With a pool as long as the sample nothing is pushed out of it, and every node can be reached: what is
        /// found is exactly the nearest.
        #[test]
        fn a_pool_of_the_whole_sample_finds_exactly_the_nearest(
            values in prop::collection::vec(-20i8..20, DIM..60 * DIM),
            query in prop::collection::vec(-20i8..20, DIM),
            points in 1usize..20, degree in 1usize..6, metric in 0usize..3,
        ) {
            let metric = Metric::ALL[metric];
            let values: Vec<f32> = values.into_iter().map(f32::from).collect();
            let rows = Matrix::from_rows(&values[..values.len() / DIM * DIM], DIM);
            let query: Vec<f32> = query.into_iter().map(f32::from).collect();
            let nodes: Vec<u32> = (0..rows.rows() as u32).map(|id| 3 * id + 1).collect();
            let codebook = Codebook::train(&rows, PqParams::new(metric, 2), &Silent).unwrap();
            let mut codes = Matrix::zeroed(rows.rows(), 2);
            codebook.encode_rows(rows.as_slice(), codes.as_mut_slice());
            let codes = Codes::new(codes, &codebook).unwrap();
            let (mut table, distance) = (DistanceTable::new(), Distance::new(metric, DIM));
            table.fill(&codebook, &query);
            let sought = Sought { table: &table, distance: &distance, query: &query };

            let expected = nearest(&nodes, |id| table.estimate_one(&codes, id), points);
            let by_codes = MemGraph::new(nodes.clone(), Points::Codes(codes), graph(&rows, metric, degree));
            prop_assert_eq!(seeds(&by_codes, &sought, nodes.len(), points), expected);

            let graph = graph(&rows, metric, degree);
            let expected = nearest(&nodes, |id| distance.between(&query, rows.row(id as usize)), points);
            let by_vectors = MemGraph::new(nodes.clone(), Points::Vectors(rows), graph);
            prop_assert_eq!(seeds(&by_vectors, &sought, nodes.len(), points), expected);
        }
    }

    #[test]
    fn an_empty_sample_finds_nothing() {
        let empty = Graph::from_lists::<Vec<u32>>(&[], 1, None);
        let of = MemGraph::new(vec![], Points::Vectors(Matrix::zeroed(0, DIM)), empty);
        let (table, distance) = (DistanceTable::new(), Distance::new(Metric::L2, DIM));
        let sought = Sought { table: &table, distance: &distance, query: &[0.0; DIM] };
        assert_eq!(seeds(&of, &sought, 10, 10), []);
        assert_eq!(of.memory_bytes(), 0);
    }
}
