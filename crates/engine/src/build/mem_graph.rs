//! The navigation graph: Vamana over a sample of the finished index's nodes, in internal ids.

use super::BuildError;
use super::mem_graph_options::MemGraphJob;
use super::run::Run;
use super::threads::thread_pool;
use gleann_graph::{BuildDistance, Graph, clustered_sample, partition_row, random_sample, repair};
use gleann_storage::{CodeFormat, GraphFile, NodeReader, PointFormat, StoredMemGraph, write_mem_graph};
use gleann_vector::{Element, Matrix, NodeId};

/// Tells the sample's seed from others of the same build.
const SEED: u64 = 0x4d45_4d47;

impl<T: Element> Run<'_, T> {
    /// Samples, builds and writes the navigation graph. Vectors come from the graph file, which holds them in the
    /// order of internal ids, however these were given out.
    pub(crate) fn build_mem_graph(&mut self, job: MemGraphJob) -> Result<(), BuildError> {
        let mut manifest = self.manifest.clone();
        manifest.members = self.work.state.members();
        let file = GraphFile::open(self.work.dir(), &manifest)?;
        let nodes = self.sample(&file, job)?;
        let mut vectors = Matrix::<T>::zeroed(nodes.len(), self.input.rows.dim());
        self.read_nodes("read sample", &file, &nodes, |place, vector: &[T]| {
            vectors.row_mut(place).copy_from_slice(vector);
        })?;
        let graph = self.navigation_graph(&vectors, job)?;
        let (format, points) = self.points(&vectors)?;
        let stored = stored(nodes, (format, points), &graph);
        let entry = write_mem_graph(self.work.dir(), manifest.build_id, &stored)?;
        self.work.add_member(&entry);
        Ok(())
    }

    /// The nodes of the graph, ascending.
    fn sample(&self, file: &GraphFile, job: MemGraphJob) -> Result<Vec<u32>, BuildError> {
        let seed = self.options.seed ^ SEED;
        let Some(rows) = job.clustered_rows else {
            return Ok(random_sample(self.nodes(), job.nodes, seed));
        };
        let ids = random_sample(self.nodes(), rows as u32, seed);
        let metric = self.options.metric;
        let mut rows = Matrix::<f32>::zeroed(ids.len(), self.input.rows.dim());
        self.read_nodes("read vectors to cluster", file, &ids, |place, vector: &[T]| {
            partition_row(metric, vector, rows.row_mut(place));
        })?;
        self.progress.phase("cluster", 0);
        let pool = thread_pool(job.threads)?;
        let chosen = pool.install(|| clustered_sample(&rows, job.nodes as usize, seed));
        Ok(chosen.into_iter().map(|row| ids[row as usize]).collect())
    }

    /// Builds the graph of the sample, and makes every node of it reachable.
    fn navigation_graph(&self, vectors: &Matrix<T>, job: MemGraphJob) -> Result<Graph, BuildError> {
        let built = thread_pool(job.threads)?.install(|| {
            let distance = BuildDistance::new(self.options.metric, vectors);
            gleann_graph::build(vectors, &distance, &job.params, self.progress)
        });
        let mut graph = built.map_err(|_| self.cancelled())?;
        let entry = graph.entry();
        let Ok(_) = repair(&mut graph, entry, |_, _, _| {});
        Ok(graph)
    }

    /// What the graph walks by: codes; vectors where the index has none.
    pub(crate) fn points(&self, vectors: &Matrix<T>) -> Result<(PointFormat, Matrix<u8>), BuildError> {
        if self.manifest.codes == CodeFormat::None {
            let mut bytes =
                Matrix::zeroed(vectors.rows(), size_of_val(vectors.as_slice()) / vectors.rows().max(1));
            bytes.as_mut_slice().copy_from_slice(bytemuck::cast_slice(vectors.as_slice()));
            return Ok((PointFormat::Vectors, bytes));
        }
        let codebook = self.codebook()?;
        let mut codes = Matrix::zeroed(vectors.rows(), codebook.chunks());
        let pool = thread_pool(self.plan.jobs.encode_threads)?;
        pool.install(|| codebook.encode_rows(vectors.as_slice(), codes.as_mut_slice()));
        Ok((PointFormat::Codes, codes))
    }

    /// Reads the vectors of `nodes`, which ascend: `visit` is given their places there.
    fn read_nodes(
        &self,
        phase: &str,
        file: &GraphFile,
        nodes: &[u32],
        mut visit: impl FnMut(usize, &[T]),
    ) -> Result<(), BuildError> {
        self.progress.phase(phase, nodes.len() as u64);
        let mut reader = NodeReader::new(file);
        for (place, &node) in nodes.iter().enumerate() {
            if place.is_multiple_of(1024) {
                self.expect_not_cancelled()?;
            }
            visit(place, reader.record(NodeId(node))?.vector());
            self.progress.advance(1);
        }
        Ok(())
    }
}

/// The graph in the form of its file. Rows are as long as the longest list.
pub(crate) fn stored(
    nodes: Vec<u32>,
    (format, points): (PointFormat, Matrix<u8>),
    graph: &Graph,
) -> StoredMemGraph {
    let degree = graph.degree_histogram().len().saturating_sub(1).max(1);
    let mut lists = vec![0; nodes.len() * (degree + 1)];
    for (id, row) in (0..).zip(lists.chunks_exact_mut(degree + 1)) {
        let list = graph.neighbours(id);
        row[0] = list.len() as u32;
        row[1..=list.len()].copy_from_slice(list);
    }
    StoredMemGraph { nodes, format, points, entry: graph.entry(), degree, lists }
}
