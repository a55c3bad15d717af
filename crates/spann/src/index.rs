//! What every probe of an index of postings shares, read-only.

use crate::probe::Probe;
use gleann_graph::{Graph, QueryTarget};
use gleann_search::{Nearest, Searched};
use gleann_storage::{BlockLayout, PostingLayout};
use gleann_vector::{Distance, Element, Matrix};

/// The parts of an open index of postings that a probe needs beside the blocks it reads.
#[derive(Debug)]
pub struct PostingIndex<T: Element> {
    /// Geometry of the postings.
    pub layout: PostingLayout,
    /// Number of vectors.
    pub nodes: u32,
    /// The exact distance.
    pub distance: Distance<T>,
    /// The centroid of each posting; posting number = row number = block number.
    pub centroids: Matrix<T>,
    /// The graph over them.
    pub graph: Graph,
}

impl<T: Element> PostingIndex<T> {
    /// Bytes of memory that searches share.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.centroids.as_slice()) + self.graph.memory_bytes()
    }

    /// Number of postings.
    pub fn postings(&self) -> usize {
        self.centroids.rows()
    }

    /// What a search of the centroids walks towards.
    pub(crate) fn target<'a>(&'a self, query: &'a [T]) -> QueryTarget<'a, T> {
        QueryTarget { vectors: &self.centroids, distance: &self.distance, query }
    }
}

impl<T: Element> Searched for PostingIndex<T> {
    type Element = T;
    type Plan = Probe;
    type Found = Nearest;

    fn dim(&self) -> usize {
        self.layout.dim()
    }

    fn blocks(&self) -> BlockLayout {
        self.layout.blocks()
    }
}
