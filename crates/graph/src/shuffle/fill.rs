//! The greedy fill, which a shuffle is never worse than, and how good a packing is.

use super::symmetric::for_each_block;
use crate::{AdjacencyRows, ListBlock};
use bitvec::vec::BitVec;
use std::ops::ControlFlow;

/// Nodes in the order of their ids, each followed by those of its neighbours that are free, nearest first, as far as
/// the page has room (Starling's start). One pass over the lists.
///
/// # Errors
/// What the rows fail with.
pub(super) fn greedy_fill<A: AdjacencyRows>(rows: &A, page: usize) -> Result<Vec<u32>, A::Error> {
    let nodes = rows.nodes() as usize;
    let mut taken: BitVec = BitVec::repeat(false, nodes);
    let mut order = Vec::with_capacity(nodes);
    for_each_block(rows, |first, block| {
        for index in 0..block.len() {
            let node = first + index as u32;
            if taken.replace(node as usize, true) {
                continue;
            }
            order.push(node);
            for &other in block.list(index) {
                if order.len() % page == 0 {
                    break;
                }
                if !taken.replace(other as usize, true) {
                    order.push(other);
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(order)
}

/// How many neighbours lie on the page of the node that names them, over all nodes, if node `id` has place
/// `places[id]` (`None`: its id) in pages of `page` nodes. The overlap ratio OR(G) is this by n · (`page` − 1).
///
/// # Errors
/// What the rows fail with.
///
/// # Panics
/// If `places` is shorter than there are nodes, or a page holds none.
pub fn page_mates<A: AdjacencyRows>(rows: &A, places: Option<&[u32]>, page: usize) -> Result<u64, A::Error> {
    let page = page as u32;
    let mut mates = 0u64;
    for_each_block(rows, |first, block: &ListBlock| {
        for index in 0..block.len() {
            let node = first + index as u32;
            let list = block.list(index);
            let found = match places {
                None => list.iter().filter(|&&other| other / page == node / page).count(),
                Some(places) => {
                    let start = places[node as usize] / page * page;
                    list.iter().filter(|&&other| places[other as usize].wrapping_sub(start) < page).count()
                }
            };
            mates += found as u64;
        }
        ControlFlow::Continue(())
    })?;
    Ok(mates)
}

/// Turns an order round: element `id` is the place of node `id`.
pub(super) fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![u32::MAX; order.len()];
    for (place, &node) in (0..).zip(order) {
        debug_assert_eq!(places[node as usize], u32::MAX, "node {node} has two places");
        places[node as usize] = place;
    }
    places
}
