//! BeamSearch (DiskANN; design-space paper §2.1, LIOS §2.2): the W nearest unread candidates are read together;
//! when all of them have come, all are expanded.

use crate::index::SearchIndex;
use crate::traversal::{Step, Traversal};
use gleann_storage::BlockId;
use gleann_vector::Element;

/// One hop: expands what the last one brought and asks for the next beam.
pub(crate) fn step<T: Element>(
    traversal: &mut Traversal,
    index: &SearchIndex<T>,
    reads: &mut Vec<BlockId>,
) -> Step {
    if traversal.in_flight() > 0 {
        return Step::Wait;
    }
    traversal.expand_landed(index);
    let width = traversal.width.now();
    while traversal.in_flight() < width && traversal.issue_nearest(index, reads) {}
    if traversal.in_flight() == 0 {
        return Step::Done;
    }
    traversal.stats.hops += 1;
    traversal.note_issue();
    Step::Wait
}
