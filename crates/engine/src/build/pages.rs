//! Vectors and lists become pages, in the order of internal ids, which are row numbers.

use super::BuildError;
use super::adjacency::AdjacencyFile;
use super::run::Run;
use gleann_graph::{AdjacencyRows, ListBlock};
use gleann_storage::{GraphWriter, Layout, NewRecord, write_keys};
use gleann_vector::{Element, NodeId};

impl<T: Element> Run<'_, T> {
    /// Writes the graph file, and the keys where there are some.
    pub(crate) fn write_pages(&mut self) -> Result<(), BuildError> {
        let layout = self.plan.layout;
        let path = self.work.path(self.repaired_file());
        let lists = AdjacencyFile::open(&path, self.nodes(), layout.degree(), false)?;
        let (dir, build_id) = (self.work.dir(), self.manifest.build_id);
        let mut writer = GraphWriter::create(dir, layout, self.nodes(), build_id)?;
        let mut shape = Shape { layout, degrees: vec![0; layout.degree() + 1], page_mates: 0 };
        let mut block = ListBlock::default();
        self.for_each_piece("pages", |first, piece| {
            let (first, dim) = (first as u32, layout.dim());
            lists.read(first, (piece.len() / dim) as u32, &mut block)?;
            for (index, vector) in piece.chunks_exact(dim).enumerate() {
                let list = block.list(index);
                shape.count(first + index as u32, list);
                writer.push(&NewRecord { vector, neighbours: list, codes: &[] })?;
            }
            Ok(())
        })?;
        let entry = writer.finish()?;
        let keys = self.options.keys.as_deref().map(|keys| write_keys(dir, build_id, keys)).transpose()?;
        self.work.add_member(&entry);
        if let Some(entry) = keys {
            self.work.add_member(&entry);
        }
        while shape.degrees.len() > 1 && shape.degrees.last() == Some(&0) {
            shape.degrees.pop();
        }
        self.work.state.degrees = shape.degrees;
        self.work.state.page_mates = shape.page_mates;
        Ok(())
    }
}

/// What is counted of the finished graph.
struct Shape {
    layout: Layout,
    degrees: Vec<u64>,
    page_mates: u64,
}

impl Shape {
    fn count(&mut self, id: u32, list: &[u32]) {
        self.degrees[list.len()] += 1;
        let page = self.layout.block_of(NodeId(id));
        self.page_mates +=
            list.iter().filter(|&&other| self.layout.block_of(NodeId(other)) == page).count() as u64;
    }
}
