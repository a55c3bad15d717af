//! Every vector is made reachable from the entry point.

use super::BuildError;
use super::adjacency::AdjacencyFile;
use super::run::{ADJACENCY, REPAIRED, Run};
use gleann_graph::{reachable, repair};
use gleann_vector::Element;

impl<T: Element> Run<'_, T> {
    /// Repairs a copy, so that an interruption leaves the graph as it was.
    pub(crate) fn repair(&mut self) -> Result<(), BuildError> {
        self.expect_not_cancelled()?;
        self.progress.phase("reachability", 0);
        let (nodes, degree, entry) = (self.nodes(), self.plan.layout.degree(), self.work.state.entry);
        let (from, to) = (self.work.path(ADJACENCY), self.work.path(REPAIRED));
        let reached = reachable(&AdjacencyFile::open(&from, nodes, degree, false)?, entry)?;
        self.work.state.unreachable = u64::from(nodes) - reached.count();
        drop(reached);
        if self.work.state.unreachable > 0 {
            self.progress.phase("repair", 0);
            std::fs::copy(&from, &to).map_err(BuildError::io("writing", &to))?;
            let mut file = AdjacencyFile::open(&to, nodes, degree, true)?;
            // Whoever has no reachable neighbour hangs on the entry point: after a build that is nobody, or few.
            self.work.state.repaired = repair(&mut file, entry, |_, _, _| {})?;
            file.sync()?;
            self.work.state.graph_repaired = true;
        }
        Ok(())
    }

    /// The file that holds the graph after this phase.
    pub(crate) fn repaired_file(&self) -> &'static str {
        if self.work.state.graph_repaired { REPAIRED } else { ADJACENCY }
    }
}
