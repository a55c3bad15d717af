//! The first half of a batch: every vector of it searches the graph as the batches before have left it and gets
//! its list. Nothing is written to the graph meanwhile, so the lists do not depend on the threads.

use crate::vamana::Work;
use crate::{Graph, PruneParams, RowTarget};
use gleann_vector::{Cancelled, Element};
use rayon::prelude::*;

/// Vectors a task handles.
const TASK: usize = 32;

/// Lists of a batch, `stride` words each: degree, then ids.
#[derive(Debug, Default)]
pub(crate) struct BatchLists {
    words: Vec<u32>,
    stride: usize,
}

impl BatchLists {
    /// The list at a position of the batch.
    pub(crate) fn list(&self, position: usize) -> &[u32] {
        let row = &self.words[position * self.stride..][..self.stride];
        &row[1..=row[0] as usize]
    }

    /// Computes the lists of `batch` over `graph`.
    pub(crate) fn compute<T: Element>(
        &mut self,
        work: &Work<'_, T>,
        graph: &Graph,
        batch: &[u32],
        params: PruneParams,
    ) -> Result<(), Cancelled> {
        self.stride = params.degree + 1;
        let needed = batch.len() * self.stride;
        if self.words.len() < needed {
            self.words.resize(needed, 0);
        }
        let rows = self.words[..needed].par_chunks_mut(TASK * self.stride);
        rows.zip(batch.par_chunks(TASK)).for_each(|(rows, ids)| {
            if work.progress.cancelled() {
                return;
            }
            for (row, &id) in rows.chunks_exact_mut(self.stride).zip(ids) {
                new_list(work, graph, id, params, row);
            }
            work.progress.advance(ids.len() as u64);
        });
        if work.progress.cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Searches for `id` and prunes what was expanded, together with the list it has from an earlier pass.
fn new_list<T: Element>(work: &Work<'_, T>, graph: &Graph, id: u32, params: PruneParams, row: &mut [u32]) {
    work.scratches.with(|scratch| {
        let target = RowTarget { vectors: work.vectors, distance: work.distance, row: id };
        scratch.searcher.run(graph, &target, graph.entry().as_slice(), work.list);
        scratch.candidates.clear();
        scratch.candidates.extend_from_slice(scratch.searcher.expanded());
        scratch.ids.clear();
        let candidates = &scratch.candidates;
        let unexpanded = |known: &&u32| !candidates.iter().any(|candidate| candidate.id == **known);
        scratch.ids.extend(graph.neighbours(id).iter().filter(unexpanded));
        scratch.measure_ids(work.vectors, work.distance, id);
        let list = scratch.prune(work.vectors, work.distance, params, id);
        crate::graph::write_row(row, list);
    });
}
