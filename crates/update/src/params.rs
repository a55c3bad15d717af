//! What updates can be told.

use gleann_search::{Entry, Expansion, SearchKind, SearchOptions, Stop, Width};

/// How a new vector is linked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkParams {
    /// R: the most neighbours a list may have.
    pub degree: usize,
    /// α of the prunes, on squared distances.
    pub alpha: f32,
    /// C: the nearest that were met and may become neighbours.
    pub candidates: usize,
    /// L: pool of the search for them.
    pub list: usize,
    /// What of a page that search uses: all of it where pages hold what belongs together.
    pub expansion: Expansion,
}

impl LinkParams {
    /// The search of an insert. It begins at the navigation graph if there is one.
    pub fn search(&self, mem_graph: bool) -> SearchOptions {
        SearchOptions {
            list: self.list,
            kind: SearchKind::Beam,
            width: Width::Fixed(8),
            entry: if mem_graph { Entry::MEM_GRAPH } else { Entry::Medoid },
            expansion: self.expansion,
            stop: Stop::Exhausted,
            deadline: None,
        }
    }
}
