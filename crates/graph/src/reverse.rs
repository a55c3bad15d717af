//! The second half of a batch: its edges are turned round, grouped by the node they lead to, and appended there;
//! a list that outgrows its places is pruned back to R. Groups are disjoint, so they run in parallel, and the
//! order of edges is their sorted order, so the result does not depend on the threads.

use crate::graph::write_row;
use crate::scratch::Scratch;
use crate::vamana::Work;
use crate::{Graph, PruneParams};
use gleann_vector::{Cancelled, Element};
use rayon::prelude::*;

/// Edges a task handles, about.
const TASK: usize = 1024;

/// Edge `source → target` as an integer that sorts by target, then source.
pub(crate) fn reversed(source: u32, target: u32) -> u64 {
    u64::from(target) << 32 | u64::from(source)
}

fn target(edge: u64) -> u32 {
    (edge >> 32) as u32
}

/// Adds `edges`, made by [`reversed`], to the lists of their targets.
pub(crate) fn add_reverse_edges<T: Element>(
    work: &Work<'_, T>,
    graph: &mut Graph,
    edges: &mut [u64],
    params: PruneParams,
) -> Result<(), Cancelled> {
    edges.par_sort_unstable();
    let stride = graph.stride();
    let tasks = split(edges, graph.words_mut(), stride);
    tasks.into_par_iter().for_each(|task| {
        if work.progress.cancelled() {
            return;
        }
        for group in task.edges.chunk_by(|a, b| target(*a) == target(*b)) {
            let row = (target(group[0]) - task.first) as usize * stride;
            work.scratches.with(|scratch| {
                append(work, scratch, group, &mut task.words[row..row + stride], params);
            });
        }
    });
    if work.progress.cancelled() { Err(Cancelled) } else { Ok(()) }
}

struct Task<'a> {
    edges: &'a [u64],
    /// Node of the first row of `words`.
    first: u32,
    words: &'a mut [u32],
}

/// Splits sorted edges between targets, and the rows with them.
fn split<'a>(mut edges: &'a [u64], mut words: &'a mut [u32], stride: usize) -> Vec<Task<'a>> {
    let mut tasks = Vec::with_capacity(edges.len() / TASK + 1);
    let mut first = 0u32;
    while !edges.is_empty() {
        let last = target(edges[TASK.min(edges.len()) - 1]);
        let (mine, rest) = edges.split_at(edges.partition_point(|&edge| target(edge) <= last));
        let rows = (last - first + 1) as usize;
        let (my_words, other_words) = std::mem::take(&mut words).split_at_mut(rows * stride);
        tasks.push(Task { edges: mine, first, words: my_words });
        (edges, words, first) = (rest, other_words, last + 1);
    }
    tasks
}

/// Appends the sources of one group to the row of their target.
fn append<T: Element>(
    work: &Work<'_, T>,
    scratch: &mut Scratch<T>,
    group: &[u64],
    row: &mut [u32],
    params: PruneParams,
) {
    let degree = row[0] as usize;
    scratch.ids.clear();
    scratch.ids.extend_from_slice(&row[1..=degree]);
    for source in group.iter().map(|&edge| edge as u32) {
        if !row[1..=degree].contains(&source) {
            scratch.ids.push(source);
        }
    }
    if scratch.ids.len() < row.len() {
        return write_row(row, &scratch.ids);
    }
    scratch.candidates.clear();
    let centre = target(group[0]);
    scratch.measure_ids(work.vectors, work.distance, centre);
    write_row(row, scratch.prune(work.vectors, work.distance, params, centre));
}

/// Prunes every list longer than R.
pub(crate) fn prune_long_lists<T: Element>(
    work: &Work<'_, T>,
    graph: &mut Graph,
    params: PruneParams,
) -> Result<(), Cancelled> {
    let stride = graph.stride();
    graph.words_mut().par_chunks_mut(TASK * stride).enumerate().for_each(|(chunk, rows)| {
        if work.progress.cancelled() {
            return;
        }
        let first = chunk * TASK;
        for (offset, row) in rows.chunks_exact_mut(stride).enumerate() {
            let degree = row[0] as usize;
            if degree > params.degree {
                work.scratches.with(|scratch| {
                    scratch.candidates.clear();
                    scratch.ids.clear();
                    scratch.ids.extend_from_slice(&row[1..=degree]);
                    let centre = (first + offset) as u32;
                    scratch.measure_ids(work.vectors, work.distance, centre);
                    write_row(row, scratch.prune(work.vectors, work.distance, params, centre));
                });
            }
        }
        work.progress.advance((rows.len() / stride) as u64);
    });
    if work.progress.cancelled() { Err(Cancelled) } else { Ok(()) }
}
