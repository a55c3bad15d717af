//! The Vamana build, batch-parallel and deterministic.
//!
//! Vectors enter in a seeded random order, in batches that double with the graph (prefix doubling, as in
//! ParlayANN) up to a share of all. A batch first searches the graph as it stands ([`crate::insert`]), then its
//! lists are written, then its edges are added the other way round ([`crate::reverse`]). No lock is taken and
//! nothing depends on which thread does what.

use crate::insert::BatchLists;
use crate::order::{Regions, insertion_order};
use crate::reverse::{add_reverse_edges, prune_long_lists, reversed};
use crate::scratch::Scratches;
use crate::{BuildDistance, BuildParams, Graph, PruneParams, nearest_to_mean};
use gleann_vector::{Cancelled, Element, Matrix, Progress};

/// What every task of a build needs.
pub(crate) struct Work<'a, T: Element> {
    pub(crate) vectors: &'a Matrix<T>,
    pub(crate) distance: &'a BuildDistance<T>,
    pub(crate) list: usize,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) scratches: Scratches<T>,
}

/// The largest batch for `nodes` nodes: 2 %, so that few neighbours are in one batch and blind to each other, and
/// bounded so that its lists stay small beside the graph.
pub(crate) fn largest_batch(nodes: usize) -> usize {
    (nodes / 50).clamp(64, 1 << 16)
}

/// Builds the graph of `vectors` on the caller's rayon pool.
///
/// Lists are nearest first and at most `params.degree` long; without rows the graph is empty and has no entry.
/// The same rows, parameters and seed give the same graph on any number of threads.
///
/// # Errors
/// `progress` has cancelled the build.
///
/// # Panics
/// If `params` do not pass [`BuildParams::check`], or there are more than `u32::MAX − 1` rows.
pub fn build<T: Element>(
    vectors: &Matrix<T>,
    distance: &BuildDistance<T>,
    params: &BuildParams,
    progress: &dyn Progress,
) -> Result<Graph, Cancelled> {
    params.check().expect("parameters are checked before a build");
    assert!((vectors.rows() as u64) < u64::from(u32::MAX), "ids are 32 bits wide");
    let mut graph = Graph::empty(vectors.rows(), params.degree, params.capacity());
    progress.phase("entry point", 0);
    let Some(entry) = nearest_to_mean(vectors, distance) else { return Ok(graph) };
    graph.set_entry(entry);
    let work = Work { vectors, distance, list: params.list, progress, scratches: Scratches::new() };
    let mut order = insertion_order(vectors.rows(), entry, params.seed);
    let regions = Regions::new(&order);
    for pass in 1..=params.passes {
        progress.phase("insert", vectors.rows() as u64);
        let alpha = if pass == params.passes { params.alpha } else { 1.0 };
        let present = if pass == 1 { 1 } else { vectors.rows() };
        run_pass(
            &work,
            &mut graph,
            Pass { order: &mut order, regions: &regions, present },
            params.prune(alpha),
        )?;
    }
    progress.phase("final prune", vectors.rows() as u64);
    prune_long_lists(&work, &mut graph, params.last_prune())?;
    Ok(graph)
}

/// What one pass goes through.
struct Pass<'a> {
    order: &'a mut [u32],
    regions: &'a Regions,
    /// How many of the order are in the graph already.
    present: usize,
}

fn run_pass<T: Element>(
    work: &Work<'_, T>,
    graph: &mut Graph,
    pass: Pass<'_>,
    params: PruneParams,
) -> Result<(), Cancelled> {
    let nodes = pass.order.len();
    let mut start = if pass.present < nodes { pass.present } else { 0 };
    let (mut lists, mut edges) = (BatchLists::default(), Vec::new());
    while start < nodes {
        let size = pass.present.max(start).min(largest_batch(nodes)).min(nodes - start);
        let batch = &mut pass.order[start..start + size];
        pass.regions.sort(work.vectors, work.distance, batch);
        lists.compute(work, graph, batch, params)?;
        edges.clear();
        for (position, &id) in batch.iter().enumerate() {
            let list = lists.list(position);
            graph.set(id, list);
            edges.extend(list.iter().map(|&neighbour| reversed(id, neighbour)));
        }
        add_reverse_edges(work, graph, &mut edges, params)?;
        start += size;
    }
    Ok(())
}
