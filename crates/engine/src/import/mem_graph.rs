//! A navigation graph that is there already, as the MemGraph of a build.

use crate::build::{BuildError, Run, stored_mem_graph};
use gleann_graph::{Graph, repair};
use gleann_storage::write_mem_graph;
use gleann_vector::{Element, Matrix};

/// A graph over some of the rows of a source.
#[derive(Debug)]
pub(crate) struct GivenMemGraph {
    /// The row that each of its nodes is.
    pub rows: Vec<u32>,
    /// The nodes in each list.
    pub lists: Vec<Vec<u32>>,
    /// Ids that a list may hold.
    pub degree: usize,
    /// The node where its searches begin.
    pub entry: u32,
}

impl GivenMemGraph {
    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let ids: usize = self.lists.iter().map(Vec::len).sum();
        (4 * self.rows.len() + 4 * ids + size_of::<Vec<u32>>() * self.lists.len()) as u64
    }

    /// Everything it consists of, for a hash.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let lists =
            self.lists.iter().flat_map(|list| std::iter::once(list.len() as u32).chain(list.iter().copied()));
        let words = [self.entry].into_iter().chain(self.rows.iter().copied()).chain(lists);
        words.flat_map(u32::to_le_bytes).collect()
    }

    /// The same graph with its nodes in the ascending order of what `place` makes of their rows, and these.
    fn placed(&self, place: impl Fn(u32) -> u32) -> (Vec<u32>, Graph) {
        let places: Vec<u32> = self.rows.iter().map(|&row| place(row)).collect();
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_unstable_by_key(|&node| places[node as usize]);
        let mut number = vec![0u32; order.len()];
        order.iter().zip(0..).for_each(|(&node, at)| number[node as usize] = at);
        let list = |&node: &u32| -> Vec<u32> {
            self.lists[node as usize].iter().map(|&other| number[other as usize]).collect()
        };
        let lists: Vec<Vec<u32>> = order.iter().map(list).collect();
        let nodes = order.iter().map(|&node| places[node as usize]).collect();
        (nodes, Graph::from_lists(&lists, self.degree, Some(number[self.entry as usize])))
    }
}

impl<T: Element> Run<'_, T> {
    /// Writes the given navigation graph, in internal ids, with its points. Runs while the order of rows is still
    /// there.
    pub(crate) fn copy_mem_graph(&mut self, given: &GivenMemGraph) -> Result<(), BuildError> {
        self.progress.phase("copy navigation graph", 0);
        let placement = self.placement()?;
        let (nodes, mut graph) = given.placed(|row| placement.place(row));
        let entry = graph.entry();
        let Ok(_) = repair(&mut graph, entry, |_, _, _| {});
        let dim = self.input.rows.dim();
        let mut vectors = Matrix::<T>::zeroed(nodes.len(), dim);
        for (at, &node) in nodes.iter().enumerate() {
            self.input.rows.read_rows(placement.row(node).into(), vectors.row_mut(at))?;
        }
        drop(placement);
        let points = self.points(&vectors)?;
        let stored = stored_mem_graph(nodes, points, &graph);
        let entry = write_mem_graph(self.work.dir(), self.manifest.build_id, &stored)?;
        self.work.add_member(&entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_put_in_the_order_of_their_places() {
        let given = GivenMemGraph {
            rows: vec![7, 2, 5],
            lists: vec![vec![1, 2], vec![0], vec![1]],
            degree: 2,
            entry: 1,
        };
        let (nodes, graph) = given.placed(|row| 9 - row);
        // Row 7 is at 2, row 5 at 4, row 2 at 7.
        assert_eq!((nodes, graph.entry()), (vec![2, 4, 7], Some(2)));
        assert_eq!([0, 1, 2].map(|id| graph.neighbours(id).to_vec()), [vec![2, 1], vec![2], vec![0]]);
    }
}
