//! Adjacency as rows that are read in ranges and changed one at a time, wherever they are kept.

use crate::Graph;
use std::convert::Infallible;

/// The lists of consecutive nodes.
#[derive(Debug, Clone, Default)]
pub struct ListBlock {
    ends: Vec<u32>,
    ids: Vec<u32>,
}

impl ListBlock {
    /// Forgets the lists, keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.ids.clear();
    }

    /// Adds the list of the next node.
    pub fn push(&mut self, list: &[u32]) {
        self.ids.extend_from_slice(list);
        self.ends.push(self.ids.len() as u32);
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// List `index` of the block.
    ///
    /// # Panics
    /// If `index` is not below [`ListBlock::len`].
    pub fn list(&self, index: usize) -> &[u32] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.ids[start as usize..self.ends[index] as usize]
    }
}

/// A graph whose lists can be read in ranges and replaced: a [`Graph`], or a file of records.
pub trait AdjacencyRows {
    /// What reading or writing may fail with.
    type Error;

    /// Number of nodes.
    fn nodes(&self) -> u32;

    /// R: the most ids a list may hold (≥ 1).
    fn degree_bound(&self) -> usize;

    /// Fills `into` with the lists of the `count` nodes from `start` on; all of them exist.
    ///
    /// # Errors
    /// The medium failed.
    fn read(&self, start: u32, count: u32, into: &mut ListBlock) -> Result<(), Self::Error>;

    /// Replaces the list of `id` by one of at most [`AdjacencyRows::degree_bound`] ids.
    ///
    /// # Errors
    /// The medium failed.
    fn replace(&mut self, id: u32, list: &[u32]) -> Result<(), Self::Error>;
}

impl AdjacencyRows for Graph {
    type Error = Infallible;

    fn nodes(&self) -> u32 {
        Graph::nodes(self) as u32
    }

    fn degree_bound(&self) -> usize {
        Graph::degree_bound(self)
    }

    fn read(&self, start: u32, count: u32, into: &mut ListBlock) -> Result<(), Infallible> {
        into.clear();
        for id in start..start + count {
            into.push(self.neighbours(id));
        }
        Ok(())
    }

    fn replace(&mut self, id: u32, list: &[u32]) -> Result<(), Infallible> {
        self.set(id, list);
        Ok(())
    }
}
