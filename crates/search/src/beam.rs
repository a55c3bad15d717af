//! BeamSearch (DiskANN; design-space paper §2.1, LIOS §2.2): the W nearest unread candidates are read together;
//! when all of them have come, all are expanded.

use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::plan::Next;
use crate::traversal::{Issue, Traversal};
use gleann_storage::BlockId;
use gleann_vector::Element;

/// One hop: expands what the last one brought and asks for the next beam. What is held in memory is expanded on the
/// way, and takes no place in the beam.
pub(crate) fn step<T: Element>(
    traversal: &mut Traversal,
    index: &SearchIndex<T>,
    query: &[T],
    reads: &mut Vec<BlockId>,
) -> Result<Next, SearchError> {
    if traversal.in_flight() > 0 {
        return Ok(Next::Wait);
    }
    if !traversal.has_unjudged() {
        traversal.expand_landed(index);
    }
    let width = traversal.width.now();
    while traversal.in_flight() < width {
        match traversal.issue_nearest(index, query, reads)? {
            Issue::Read => {}
            Issue::Hit if traversal.has_unjudged() => {}
            Issue::Hit => traversal.expand_landed(index),
            Issue::Nothing => break,
        }
    }
    if traversal.in_flight() == 0 {
        return Ok(if traversal.is_open() { Next::Again } else { Next::Done });
    }
    traversal.stats.hops += 1;
    traversal.note_issue();
    Ok(Next::Wait)
}
