//! Rows and lists of a source, in the order of the build.

use super::nodes::StoredNode;
use super::{GraphSource, ImportError};
use gleann_graph::ListBlock;
use gleann_vector::{Element, Matrix, RowSource, SourceError};

impl<T: Element> RowSource<T> for &GraphSource {
    fn rows(&self) -> u64 {
        GraphSource::rows(self)
    }

    fn dim(&self) -> usize {
        GraphSource::dim(self)
    }

    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), SourceError> {
        assert_eq!(T::TYPE, self.element(), "element type of the source");
        let (dim, name) = (GraphSource::dim(self), &self.parts().name);
        assert!(into.len().is_multiple_of(dim), "not a whole number of rows");
        let end = start + (into.len() / dim) as u64;
        let fail = |message: String| SourceError { name: name.clone(), start, end, message };
        if end > GraphSource::rows(self) {
            return Err(fail(format!("there are {} rows", GraphSource::rows(self))));
        }
        let read = self.for_each(start as u32, into.len() / dim, |index, node| {
            node.copy_vector(bytemuck::cast_slice_mut(&mut into[index * dim..(index + 1) * dim]));
        });
        read.map_err(|error| fail(error.to_string()))
    }
}

impl GraphSource {
    /// Visits the records of `count` rows from `start` on, each with its place among them, block by block.
    fn for_each(
        &self,
        start: u32,
        count: usize,
        mut visit: impl FnMut(usize, StoredNode<'_>),
    ) -> Result<(), ImportError> {
        let nodes = &self.parts().nodes;
        let mut buffer = Matrix::<u8>::zeroed(1, nodes.block_bytes());
        let mut held = None;
        let mut visit_one = |node: u32, index: usize| {
            let block = nodes.block_of(node);
            if held != Some(block) {
                // Whatever an interrupted read leaves there is no block.
                held = None;
                nodes.read_block(block, buffer.as_mut_slice())?;
                held = Some(block);
            }
            visit(index, nodes.stored(buffer.as_slice(), node)?);
            Ok(())
        };
        match &self.parts().order {
            None => (start..).zip(0..count).try_for_each(|(node, index)| visit_one(node, index)),
            Some(order) => {
                let mut places: Vec<(u64, u32, usize)> = (start..)
                    .zip(0..count)
                    .map(|(row, index)| {
                        let node = order.node(row);
                        (nodes.block_of(node), node, index)
                    })
                    .collect();
                places.sort_unstable();
                places.into_iter().try_for_each(|(_, node, index)| visit_one(node, index))
            }
        }
    }

    /// Fills `into` with the lists of `count` rows from `start` on, as rows. Returns how many ids were left out: a list
    /// names nobody twice, and not its own row.
    ///
    /// # Errors
    /// The source cannot be read or is damaged.
    pub(crate) fn read_lists(
        &self,
        start: u32,
        count: usize,
        into: &mut ListBlock,
    ) -> Result<u64, ImportError> {
        let stride = self.parts().options.degree;
        let mut ids = vec![0u32; count * stride];
        let mut lengths = vec![0usize; count];
        let (mut list, mut sorted, mut dropped) = (Vec::new(), Vec::new(), 0);
        self.for_each(start, count, |index, node| {
            node.copy_list(&mut list);
            if let Some(order) = &self.parts().order {
                list.iter_mut().for_each(|id| *id = order.row(*id));
            }
            let given = list.len();
            clean(start + index as u32, &mut list, &mut sorted);
            dropped += (given - list.len()) as u64;
            ids[index * stride..][..list.len()].copy_from_slice(&list);
            lengths[index] = list.len();
        })?;
        into.clear();
        for (ids, &length) in ids.chunks_exact(stride).zip(&lengths) {
            into.push(&ids[..length]);
        }
        Ok(dropped)
    }
}

/// Removes `own` and whatever has stood in `list` before.
fn clean(own: u32, list: &mut Vec<u32>, sorted: &mut Vec<u32>) {
    list.retain(|&id| id != own);
    sorted.clone_from(list);
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let mut position = 0;
        while position < list.len() {
            if list[..position].contains(&list[position]) {
                list.remove(position);
            } else {
                position += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn a_list_names_nobody_twice_and_not_itself() {
        let mut list = vec![4, 7, 4, 9, 7, 1, 9];
        clean(9, &mut list, &mut Vec::new());
        assert_eq!(list, [4, 7, 1]);
        clean(0, &mut list, &mut Vec::new());
        assert_eq!(list, [4, 7, 1]);
    }
}
