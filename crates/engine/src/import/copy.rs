//! The phases of a build whose graph is given.

use super::GraphSource;
use crate::build::{AdjacencyWriter, BuildError, Run};
use gleann_graph::ListBlock;
use gleann_quant::Codebook;
use gleann_storage::write_codebook;
use gleann_vector::Element;

impl<T: Element> Run<'_, T> {
    /// The codebook that is not trained but given.
    pub(crate) fn given_codebook(&self) -> Option<&Codebook> {
        self.input.given.and_then(|source| source.codebook_for(self.options))
    }

    /// Writes the given codebook.
    pub(crate) fn copy_codebook(&mut self, bytes: &[u8]) -> Result<(), BuildError> {
        self.progress.phase("copy codebook", 0);
        let entry = write_codebook(self.work.dir(), self.manifest.build_id, bytes)?;
        self.work.add_member(&entry);
        Ok(())
    }

    /// Writes the given lists, and takes the entry point over.
    pub(crate) fn copy_graph(&mut self) -> Result<(), BuildError> {
        let source: &GraphSource = self.input.given.expect("the plan says that the graph is given");
        self.progress.phase("copy graph", self.plan.rows);
        let path = self.work.path(crate::build::ADJACENCY);
        let mut writer = AdjacencyWriter::create(&path, self.nodes(), self.plan.layout.degree())?;
        let piece = self.plan.jobs.piece_rows as u64;
        let (mut block, mut start, mut dropped) = (ListBlock::default(), 0, 0);
        while start < self.plan.rows {
            self.expect_not_cancelled()?;
            let count = piece.min(self.plan.rows - start);
            dropped += source.read_lists(start as u32, count as usize, &mut block)?;
            (0..block.len()).try_for_each(|index| writer.push(block.list(index)))?;
            self.progress.advance(count);
            start += count;
        }
        writer.finish()?;
        if dropped > 0 {
            log::warn!(
                "{}: {dropped} ids that stood twice in a list or named their own node were left out",
                source.parts().name
            );
        }
        self.work.state.entry = source.parts().entry;
        Ok(())
    }
}
