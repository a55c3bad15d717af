//! The graph on disk, looked at as a whole: how far updates have worn it.

use crate::error::UpdateError;
use crate::lists::Lists;
use crate::live::Live;
use gleann_graph::{AdjacencyRows, ListBlock, reachable};
use gleann_search::NodeState;
use gleann_vector::{Element, NodeId};

/// Lists that are read at a time.
const AT_ONCE: u32 = 4096;

/// The graph as the last checkpoint has left it. What came later is not part of it; what was deleted later counts as
/// deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    /// Nodes of it that searches find.
    pub live: u64,
    /// Their neighbours, deleted ones among them.
    pub links: u64,
    /// Of these, the deleted ones.
    pub dead_links: u64,
    /// Live nodes that no way leads to.
    pub unreachable: u64,
    /// Live neighbours that share the block of their node.
    pub page_mates: u64,
    /// Pairs of live nodes in one block.
    pub page_pairs: u64,
}

impl Survey {
    /// OR(G): the share of the other nodes of a block that are neighbours; none where no block has two.
    pub fn overlap_ratio(&self) -> Option<f64> {
        (self.page_pairs > 0).then(|| self.page_mates as f64 / self.page_pairs as f64)
    }

    /// Neighbours of a live node in the mean; 0 where there is none.
    pub fn mean_degree(&self) -> f64 {
        self.links as f64 / self.live.max(1) as f64
    }
}

impl<T: Element> Live<T> {
    /// Walks all lists on disk from where searches begin, then reads them in order. Whatever happens meanwhile, it sees those
    /// of the table that was in force. Memory: two bits a node.
    ///
    /// # Errors
    /// A block is damaged, or the system refused.
    pub fn survey(&self) -> Result<Survey, UpdateError> {
        let view = self.writer.lock().view.clone();
        let layout = &self.index.layout;
        let on_disk = (view.table.records().len() * layout.records_per_block()).min(view.nodes.places());
        let lists = Lists::new(&self.pages, view.table.clone(), layout, on_disk as u32);
        // A place whose record is only in memory is vacant on disk, and has no list there.
        let is_live = |id: u32| id < on_disk as u32 && view.nodes.state(id) == NodeState::Live;
        let is_new = |id: u32| view.overlays.iter().any(|overlay| overlay.has_record(id));
        let mut survey = Survey::default();
        let reached = reachable(&lists, view.entry)?;
        let mut block = ListBlock::default();
        for start in (0..on_disk as u32).step_by(AT_ONCE as usize) {
            let count = AT_ONCE.min(on_disk as u32 - start);
            lists.read(start, count, &mut block)?;
            for id in start..start + count {
                let list = block.list((id - start) as usize);
                if !is_live(id) || is_new(id) {
                    continue;
                }
                let own = layout.block_of(NodeId(id));
                survey.live += 1;
                survey.unreachable += u64::from(!reached.contains(id));
                survey.links += list.len() as u64;
                survey.dead_links += list.iter().filter(|&&other| !is_live(other)).count() as u64;
                let mates = list.iter().filter(|&&other| layout.block_of(NodeId(other)) == own);
                survey.page_mates += mates.filter(|&&other| is_live(other)).count() as u64;
                let others = layout.nodes_of(own, on_disk as u32).filter(|&other| other != id);
                survey.page_pairs += others.filter(|&other| is_live(other)).count() as u64;
            }
        }
        Ok(survey)
    }
}
