//! What a search of a live index sees from its begin to its end.

use crate::live::{NodeState, NodeTable, Overlay, join};
use arc_swap::ArcSwap;
use gleann_storage::{BlockId, PageTable};
use gleann_vector::Element;
use smallvec::SmallVec;
use std::sync::Arc;

/// One version of a live index.
#[derive(Debug, Clone)]
pub struct View {
    /// Where each block lies.
    pub table: Arc<PageTable>,
    /// What has changed since, oldest first: an overlay that is being written out, and the one that takes new changes.
    pub overlays: SmallVec<[Arc<Overlay>; 2]>,
    /// What a checkpoint under way has written already.
    pub written: Written,
    /// The node that searches begin at, dead or alive; none where the graph is empty.
    pub entry: Option<u32>,
    /// Codes, keys and states. Ids that it has no place for are of a later version and are not seen.
    pub nodes: Arc<NodeTable>,
}

/// How far a checkpoint has come that writes overlays out portion by portion: the records of nodes below `nodes` hold what
/// the first `overlays` overlays say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Nodes, from 0.
    pub nodes: u32,
    /// Overlays, from the oldest.
    pub overlays: usize,
}

impl Written {
    /// Those of the overlays that the record of a node does not hold.
    #[inline]
    pub fn rest<'a>(&self, overlays: &'a [Arc<Overlay>], node: u32) -> &'a [Arc<Overlay>] {
        if node < self.nodes { &overlays[self.overlays.min(overlays.len())..] } else { overlays }
    }
}

impl View {
    /// Where a block lies; none if it is not on disk.
    #[inline]
    pub fn place(&self, block: BlockId) -> Option<BlockId> {
        self.table.records().get(block.0 as usize).map(|&place| BlockId(place))
    }

    /// Whether a node is one that a search of this view may meet.
    #[inline]
    pub(crate) fn knows(&self, id: u32) -> bool {
        (id as usize) < self.nodes.places() && self.nodes.state(id) != NodeState::Free
    }

    /// Whether a node may be a result.
    #[inline]
    pub fn is_live(&self, id: u32) -> bool {
        (id as usize) < self.nodes.places() && self.nodes.state(id) == NodeState::Live
    }

    /// Calls `seen` with the record of a node that is not on disk; whether it is one.
    #[inline]
    pub fn with_new_record(&self, node: u32, mut seen: impl FnMut(&[u8])) -> bool {
        self.written.rest(&self.overlays, node).iter().any(|overlay| overlay.with_record(node, &mut seen))
    }

    /// Lets everything join a list that joined it since the checkpoint. `list` has [`room`](crate::room) for neighbours,
    /// `length` of them are there.
    #[inline]
    pub fn patch(&self, node: u32, list: &mut [u32], length: &mut usize) {
        for overlay in self.written.rest(&self.overlays, node) {
            overlay.with_links(node, |links| {
                for &link in links {
                    join(list, length, link);
                }
            });
        }
    }
}

/// Vectors that are not in the graph yet and that every search must look at, such as a temporary index.
pub trait Unmerged<T: Element>: Send + Sync {
    /// Appends the `k` nearest to `query` that are not deleted, as (user key, ordering distance), unique.
    fn nearest(&self, query: &[T], k: usize, list: usize, into: &mut Vec<(u64, f32)>);
}

/// A version of a live index, and what is not in its graph yet.
pub struct Version<T: Element> {
    /// The graph.
    pub view: Arc<View>,
    /// The rest, oldest first.
    pub unmerged: SmallVec<[Arc<dyn Unmerged<T>>; 2]>,
}

/// The latest version of a live index. Searches take it without waiting for whoever replaces it.
pub struct Changes<T: Element>(ArcSwap<Version<T>>);

impl<T: Element> Changes<T> {
    /// Begins with a version.
    pub fn new(version: Version<T>) -> Self {
        Self(ArcSwap::from_pointee(version))
    }

    /// The latest version.
    pub fn latest(&self) -> Arc<Version<T>> {
        self.0.load_full()
    }

    /// Puts a version in the place of the latest.
    pub fn publish(&self, version: Version<T>) {
        self.0.store(Arc::new(version));
    }
}

impl<T: Element> std::fmt::Debug for Changes<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Changes").field(&self.latest().view).finish()
    }
}
