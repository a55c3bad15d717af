//! A shuffle from its first pass over the lists to its last.

use super::ShufflePlan;
use super::fill::{greedy_fill, page_mates, places};
use super::grow::grow;
use super::parts::grow_in_parts;
use super::symmetric::{Symmetric, Wanted};
use crate::AdjacencyRows;
use gleann_vector::Progress;

/// The order of nodes that a shuffle gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shuffled {
    /// The node at each place. Place p is slot p mod n_p of page ⌊p / n_p⌋; every page but the last is full.
    pub order: Vec<u32>,
    /// Neighbours on the page of the node that names them, in the order of ids.
    pub mates_by_id: u64,
    /// The same after a greedy fill.
    pub mates_greedy: u64,
    /// The same in `order`; never fewer than after a greedy fill.
    pub mates: u64,
}

/// Why there is no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShuffleError<E> {
    /// The progress asked to stop.
    Cancelled,
    /// The lists could not be read.
    Rows(E),
}

impl<E> From<E> for ShuffleError<E> {
    fn from(error: E) -> Self {
        Self::Rows(error)
    }
}

/// Tells what is done, and asks whether to go on.
pub(super) struct Ask<'a>(&'a dyn Progress);

impl Ask<'_> {
    /// Notes that `done` more nodes have their place.
    pub(super) fn stop(&self, done: usize) -> bool {
        self.0.advance(done as u64);
        self.0.cancelled()
    }
}

impl ShufflePlan {
    /// Shuffles the nodes of a graph so that neighbours share pages. The order depends on the lists and the plan
    /// alone.
    ///
    /// Pages grow greedily by the edges between their nodes, counted in both directions. Where a greedy fill in the
    /// order of ids is better (it never was on a graph of vectors), its order is returned.
    ///
    /// # Errors
    /// What the rows fail with, or `progress` asked to stop.
    ///
    /// # Panics
    /// If the plan is for another number of nodes.
    pub fn run<A: AdjacencyRows>(
        &self,
        rows: &A,
        progress: &dyn Progress,
    ) -> Result<Shuffled, ShuffleError<A::Error>> {
        assert_eq!(u64::from(rows.nodes()), self.nodes, "nodes of the plan");
        if self.page == 1 {
            let order = (0..rows.nodes()).collect();
            return Ok(Shuffled { order, mates_by_id: 0, mates_greedy: 0, mates: 0 });
        }
        progress.phase("shuffle", self.nodes);
        let ask = Ask(progress);
        let grown = if self.parts > 1 {
            grow_in_parts(self, rows, &ask)?
        } else {
            let edges = Symmetric::read(rows, Wanted { nodes: None, numbers: &[], cut: usize::MAX })?;
            grow(&edges, self.page, |done| ask.stop(done)).ok_or(ShuffleError::Cancelled)?
        };
        let mates = page_mates(rows, Some(&places(&grown)), self.page)?;
        let filled = greedy_fill(rows, self.page)?;
        let mates_greedy = page_mates(rows, Some(&places(&filled)), self.page)?;
        let mates_by_id = page_mates(rows, None, self.page)?;
        let (order, mates) = if mates < mates_greedy { (filled, mates_greedy) } else { (grown, mates) };
        Ok(Shuffled { order, mates_by_id, mates_greedy, mates })
    }
}
