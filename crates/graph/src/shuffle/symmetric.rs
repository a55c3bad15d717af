//! The edges of a graph, or of a part of it, in memory and from both of their ends.

use crate::{AdjacencyRows, ListBlock};
use std::ops::ControlFlow;

/// Nodes whose lists are read at once.
pub(super) const BLOCK: u32 = 1024;
/// Ids between two wanted nodes that are read over.
const GAP: u32 = 64;

/// The edges among some nodes, which have numbers of their own here.
#[derive(Debug)]
pub(super) struct Symmetric {
    /// Where the neighbours of a node begin; one more than there are nodes.
    starts: Vec<u64>,
    /// Out-neighbours of a node, nearest first, then in-neighbours; who is both stands twice.
    ids: Vec<u32>,
}

/// Which nodes and edges are taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The nodes, ascending; `None`: all.
    pub nodes: Option<&'a [u32]>,
    /// The number of each of all nodes among the wanted, [`u32::MAX`] for others. Not looked at where all are wanted.
    pub numbers: &'a [u32],
    /// The first ids of a list that count.
    pub cut: usize,
}

impl Symmetric {
    /// Reads the edges among the wanted nodes, in two passes over their lists.
    ///
    /// # Errors
    /// What the rows fail with.
    pub(super) fn read<A: AdjacencyRows>(rows: &A, wanted: Wanted<'_>) -> Result<Self, A::Error> {
        let nodes = wanted.nodes.map_or(rows.nodes() as usize, <[u32]>::len);
        let mut starts = vec![0u64; nodes + 1];
        wanted.for_each_list(rows, |node, list| {
            for other in list {
                starts[node as usize + 1] += 1;
                starts[other as usize + 1] += 1;
            }
        })?;
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut ids = vec![0u32; starts[nodes] as usize];
        // In-neighbours fill a node's places from the end.
        let mut from_end = vec![0u32; nodes];
        wanted.for_each_list(rows, |node, list| {
            for (place, other) in (starts[node as usize] as usize..).zip(list) {
                ids[place] = other;
                let filled = &mut from_end[other as usize];
                *filled += 1;
                ids[(starts[other as usize + 1] - u64::from(*filled)) as usize] = node;
            }
        })?;
        Ok(Self { starts, ids })
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The neighbours of a node.
    #[inline]
    pub(super) fn of(&self, node: u32) -> &[u32] {
        &self.ids[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

impl Wanted<'_> {
    /// Visits the wanted nodes, ascending, each with its wanted neighbours, all by their numbers.
    fn for_each_list<A: AdjacencyRows>(
        &self,
        rows: &A,
        mut visit: impl FnMut(u32, &mut dyn Iterator<Item = u32>),
    ) -> Result<(), A::Error> {
        let Some(nodes) = self.nodes else {
            return for_each_block(rows, |first, block| {
                for index in 0..block.len() {
                    visit(first + index as u32, &mut block.list(index).iter().take(self.cut).copied());
                }
                ControlFlow::Continue(())
            });
        };
        let mut block = ListBlock::default();
        let near = |a: &u32, b: &u32| b - a <= GAP;
        let mut number = 0;
        for run in nodes.chunk_by(near).flat_map(|run| run.chunks(BLOCK as usize / 4)) {
            let (first, last) = (run[0], run[run.len() - 1]);
            for start in (first..=last).step_by(BLOCK as usize) {
                let count = BLOCK.min(last - start + 1);
                rows.read(start, count, &mut block)?;
                let within = run.partition_point(|&node| node < start)
                    ..run.partition_point(|&node| u64::from(node) < u64::from(start) + u64::from(count));
                for &node in &run[within] {
                    let list = block.list((node - start) as usize).iter().take(self.cut);
                    let numbers = list.map(|&other| self.numbers[other as usize]);
                    visit(number, &mut numbers.filter(|&number| number != u32::MAX));
                    number += 1;
                }
            }
        }
        Ok(())
    }
}

/// Reads all lists in blocks; `visit` is given the first node of each, and may end the pass.
pub(super) fn for_each_block<A: AdjacencyRows>(
    rows: &A,
    mut visit: impl FnMut(u32, &ListBlock) -> ControlFlow<()>,
) -> Result<(), A::Error> {
    let mut block = ListBlock::default();
    let mut start = 0;
    while start < rows.nodes() {
        let count = BLOCK.min(rows.nodes() - start);
        rows.read(start, count, &mut block)?;
        if visit(start, &block).is_break() {
            break;
        }
        start += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;

    #[test]
    fn edges_are_seen_from_both_ends() {
        let graph = Graph::from_lists(&[vec![1, 2], vec![0], vec![], vec![2, 1]], 2, Some(0));
        let all = Symmetric::read(&graph, Wanted { nodes: None, numbers: &[], cut: 2 }).unwrap();
        assert_eq!(all.nodes(), 4);
        assert_eq!((all.of(0), all.of(1)), (&[1, 2, 1][..], &[0, 3, 0][..]));
        assert_eq!((all.of(2), all.of(3)), (&[3, 0][..], &[2, 1][..]));
        let first = Symmetric::read(&graph, Wanted { nodes: None, numbers: &[], cut: 1 }).unwrap();
        assert_eq!((first.of(0), first.of(2)), (&[1, 1][..], &[3][..]));
        let none = u32::MAX;
        let some = Wanted { nodes: Some(&[0, 2, 3]), numbers: &[0, none, 1, 2], cut: 2 };
        let some = Symmetric::read(&graph, some).unwrap();
        assert_eq!((some.of(0), some.of(1), some.of(2)), (&[1][..], &[2, 0][..], &[1][..]));
    }

    #[test]
    fn far_apart_nodes_are_found() {
        let n = 5 * BLOCK;
        let lists: Vec<Vec<u32>> = (0..n).map(|id| vec![(id + 1) % n, (id + 7) % n]).collect();
        let graph = Graph::from_lists(&lists, 2, Some(0));
        let nodes: Vec<u32> = (0..n).filter(|id| id % 3 == 0 || id / 500 == 4 || *id == n - 1).collect();
        let mut numbers = vec![u32::MAX; n as usize];
        (0..).zip(&nodes).for_each(|(number, &id)| numbers[id as usize] = number);
        let some =
            Symmetric::read(&graph, Wanted { nodes: Some(&nodes), numbers: &numbers, cut: 2 }).unwrap();
        for (number, &id) in (0..).zip(&nodes) {
            let mut expected: Vec<u32> = [1, 7, n - 1, n - 7].map(|step| (id + step) % n).to_vec();
            expected.retain(|&other| numbers[other as usize] != u32::MAX);
            let mut found: Vec<u32> = some.of(number).iter().map(|&other| nodes[other as usize]).collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "node {id}");
        }
    }
}
