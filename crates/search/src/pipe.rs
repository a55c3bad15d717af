//! PipeSearch (PipeANN; design-space paper §4.3.2): reads are kept in flight while the nearest candidate that
//! has come is expanded, one at a time, so that computing overlaps with reading.

use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::plan::Next;
use crate::traversal::{Issue, Traversal};
use gleann_storage::BlockId;
use gleann_vector::Element;

/// Asks for one more block if there is room, then expands one vertex.
pub(crate) fn step<T: Element>(
    traversal: &mut Traversal,
    index: &SearchIndex<T>,
    query: &[T],
    reads: &mut Vec<BlockId>,
) -> Result<Next, SearchError> {
    let room = traversal.in_flight() < traversal.width.now();
    let issued = room && traversal.issue_nearest(index, query, reads)? != Issue::Nothing;
    if issued {
        traversal.note_issue();
    }
    let expanded = traversal.expand_nearest(index);
    traversal.stats.hops += u32::from(expanded);
    Ok(if issued || expanded {
        Next::Again
    } else if traversal.in_flight() > 0 && traversal.is_open() {
        Next::Wait
    } else {
        Next::Done
    })
}
