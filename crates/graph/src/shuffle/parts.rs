//! A shuffle in parts: where the edges of all nodes do not fit into memory, those of a part do.
//!
//! Parts are grown like pages, only larger, by the first ids of each list, which are the nearest.

use super::ShufflePlan;
use super::grow::grow;
use super::run::{Ask, ShuffleError};
use super::symmetric::{Symmetric, Wanted};
use crate::AdjacencyRows;

/// The order of all nodes, part after part.
///
/// # Errors
/// What the rows fail with, or the shuffle was stopped.
pub(super) fn grow_in_parts<A: AdjacencyRows>(
    plan: &ShufflePlan,
    rows: &A,
    ask: &Ask<'_>,
) -> Result<Vec<u32>, ShuffleError<A::Error>> {
    let mut order = {
        let nearest = Symmetric::read(rows, Wanted { nodes: None, numbers: &[], cut: plan.cut })?;
        grow(&nearest, plan.capacity as usize, |_| ask.stop(0)).ok_or(ShuffleError::Cancelled)?
    };
    let mut numbers = vec![u32::MAX; order.len()];
    for part in order.chunks_mut(plan.capacity as usize) {
        part.sort_unstable();
        (0..).zip(&*part).for_each(|(number, &node)| numbers[node as usize] = number);
        let edges = {
            let wanted = Wanted { nodes: Some(part), numbers: &numbers, cut: usize::MAX };
            Symmetric::read(rows, wanted)?
        };
        let grown = grow(&edges, plan.page, |done| ask.stop(done)).ok_or(ShuffleError::Cancelled)?;
        drop(edges);
        part.iter().for_each(|&node| numbers[node as usize] = u32::MAX);
        let shuffled: Vec<u32> = grown.iter().map(|&number| part[number as usize]).collect();
        part.copy_from_slice(&shuffled);
    }
    Ok(order)
}
