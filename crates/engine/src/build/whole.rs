//! The graph of all vectors at once.

use super::BuildError;
use super::adjacency::AdjacencyWriter;
use super::run::Run;
use super::threads::thread_pool;
use gleann_graph::{BuildDistance, BuildParams, Graph};
use gleann_vector::{Element, Matrix, Progress};

impl<T: Element> Run<'_, T> {
    /// Builds the graph in memory and writes its lists.
    pub(crate) fn build_whole(&mut self) -> Result<(), BuildError> {
        let graph = match self.input.resident {
            Some(vectors) => self.graph_of(vectors, self.progress)?,
            None => {
                let read = self.input.read_all(self.plan.jobs.piece_rows, self.progress);
                self.graph_of(&read.map_err(|stop| self.stopped(stop))?, self.progress)?
            }
        };
        self.progress.phase("write graph", self.plan.rows);
        let path = self.work.path(super::run::ADJACENCY);
        let mut writer = AdjacencyWriter::create(&path, self.nodes(), self.plan.layout.degree())?;
        for id in 0..self.nodes() {
            writer.push(graph.neighbours(id))?;
        }
        writer.finish()?;
        self.progress.advance(self.plan.rows);
        self.work.state.entry = graph.entry();
        Ok(())
    }

    /// The graph of `vectors`, on as many threads as memory allows.
    pub(crate) fn graph_of(&self, vectors: &Matrix<T>, progress: &dyn Progress) -> Result<Graph, BuildError> {
        let params: &BuildParams = &self.plan.jobs.graph;
        let built = thread_pool(self.plan.threads)?.install(|| {
            let distance = BuildDistance::new(self.options.metric, vectors);
            gleann_graph::build(vectors, &distance, params, progress)
        });
        built.map_err(|_| self.cancelled())
    }
}
