//! What the driver drives: an index, and the state of one search of it that names the blocks to read next.
//!
//! Two of them exist: the traversal of a graph here, and the probe of postings in `gleann-spann`. The driver is
//! compiled for each, so that a graph search pays nothing for the other.

use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::options::{OptionsError, SearchOptions};
use crate::stats::{Nearest, QueryStats};
use crate::traversal::Traversal;
use gleann_storage::{BlockId, BlockLayout};
use gleann_vector::Element;

/// An index that can be searched: what all of its searches share, read-only.
pub trait Searched: Sized + Send + Sync + 'static {
    /// Type of the elements.
    type Element: Element;
    /// The state of one search.
    type Plan: Plan<Self>;
    /// What a search comes to.
    type Found;

    /// Elements a query.
    fn dim(&self) -> usize;

    /// What a read brings.
    fn blocks(&self) -> BlockLayout;
}

/// What a search can do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It can go on at once.
    Again,
    /// It needs a block that is in flight.
    Wait,
    /// It has ended; reads still in flight are of no use to it.
    Done,
}

/// One search as a state machine without I/O. Reused from search to search, so that a search allocates nothing once
/// warm; [`Plan::begin`] forgets whatever was before.
pub trait Plan<X: Searched>: Default {
    /// Prepares a search for the `k` nearest of `query`.
    ///
    /// # Errors
    /// The options make no search of this index.
    fn begin(
        &mut self,
        index: &X,
        query: &[X::Element],
        options: &SearchOptions,
        k: usize,
    ) -> Result<(), OptionsError>;

    /// Does the next piece of work and appends the blocks to read.
    ///
    /// # Errors
    /// What is held in memory is damaged.
    fn step(
        &mut self,
        index: &X,
        query: &[X::Element],
        reads: &mut Vec<BlockId>,
    ) -> Result<Next, SearchError>;

    /// Takes in a block that was asked for.
    ///
    /// # Errors
    /// Its content is damaged although its checksum holds.
    fn arrive(
        &mut self,
        index: &X,
        query: &[X::Element],
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), SearchError>;

    /// The most reads the next step may ask for.
    fn wanted(&self) -> usize;

    /// Reads that must come before the next step can do anything.
    fn missing(&self) -> usize;

    /// Whether a step could do something now that a block has come.
    fn can_step(&self) -> bool;

    /// Ends the search, with what it has found; whatever it held on to is let go.
    fn finish(&mut self, index: &X) -> X::Found;

    /// Where a block lies that was asked for: blocks of an index that changes do not lie in their order.
    fn place(&self, block: BlockId) -> BlockId {
        block
    }

    /// Asks the processor for what the next arrival will need of `query` and of the search's own state, after other work may
    /// have driven it from the caches (LIOS §4.4).
    fn prefetch(&self, query: &[X::Element]) {
        gleann_vector::prefetch(query);
    }

    /// What the search has cost so far.
    fn stats(&mut self) -> &mut QueryStats;
}

impl<T: Element> Searched for SearchIndex<T> {
    type Element = T;
    type Plan = Traversal;
    type Found = Nearest;

    fn dim(&self) -> usize {
        self.layout.dim()
    }

    fn blocks(&self) -> BlockLayout {
        self.layout.block_layout()
    }
}
