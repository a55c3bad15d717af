//! The order is found in which neighbours share pages.

use super::BuildError;
use super::adjacency::AdjacencyFile;
use super::placement::{ORDER, write_order};
use super::run::Run;
use super::state::PageMates;
use gleann_graph::{ShuffleError, ShufflePlan};
use gleann_vector::Element;

impl<T: Element> Run<'_, T> {
    /// Shuffles the nodes and writes their order.
    pub(crate) fn shuffle(&mut self, plan: &ShufflePlan) -> Result<(), BuildError> {
        let path = self.work.path(self.repaired_file());
        let lists = AdjacencyFile::open(&path, self.nodes(), self.plan.layout.degree(), false)?;
        let shuffled = plan.run(&lists, self.progress).map_err(|error| match error {
            ShuffleError::Cancelled => self.cancelled(),
            ShuffleError::Rows(error) => error,
        })?;
        write_order(&self.work.path(ORDER), &shuffled.order)?;
        let entry = self.work.state.entry;
        let place = |entry| shuffled.order.iter().position(|&row| row == entry).map(|place| place as u32);
        self.work.state.entry_place = entry.and_then(place);
        self.work.state.other_page_mates =
            Some(PageMates { by_id: shuffled.mates_by_id, greedy: shuffled.mates_greedy });
        Ok(())
    }
}
