//! Greedy growth: a group takes, one after the other, the node that has most edges with it.

use super::queue::ScoreQueue;
use super::symmetric::Symmetric;

/// Nodes between two looks at whether to stop.
const STRIDE: usize = 1 << 14;

/// Divides the nodes into groups of `size` (the last may be smaller) and returns them group after group.
///
/// A group begins with the node that has most edges with the group before it and is still free: what a group leaves
/// over is then taken while its surroundings are free too. Where there is none, it begins, or goes on, with the first
/// free node. `stop` is asked now and then with the number of nodes placed since; `None` where it has said yes.
pub(super) fn grow(lists: &Symmetric, size: usize, mut stop: impl FnMut(usize) -> bool) -> Option<Vec<u32>> {
    let nodes = lists.nodes();
    let mut queue = ScoreQueue::new(nodes);
    let mut order = Vec::with_capacity(nodes);
    let mut first_free = 0u32;
    let mut members = 0;
    while order.len() < nodes {
        let node = queue.pop().unwrap_or_else(|| {
            while queue.is_taken(first_free) {
                first_free += 1;
            }
            first_free
        });
        if members == size {
            queue.forget();
            members = 0;
        }
        queue.take(node);
        order.push(node);
        members += 1;
        for &other in lists.of(node) {
            if !queue.is_taken(other) {
                queue.raise(other);
            }
        }
        if order.len().is_multiple_of(STRIDE) && stop(STRIDE) {
            return None;
        }
    }
    if stop(nodes % STRIDE) { None } else { Some(order) }
}
