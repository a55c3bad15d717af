//! Adjacency lists in one flat array.

use gleann_vector::Matrix;

/// A directed graph over the ids 0 to n − 1, each list nearest first where the build made it.
///
/// One row of fixed length a node: its degree, then its neighbours. The rows live in a [`Matrix`] for its huge
/// pages (`f32` is only its 4-byte cell; the cells are read and written as `u32`).
pub struct Graph {
    rows: Matrix<f32>,
    degree_bound: usize,
    entry: Option<u32>,
}

impl Graph {
    /// `nodes` empty lists that are to hold `degree_bound` ids when finished and `capacity` in between.
    pub(crate) fn empty(nodes: usize, degree_bound: usize, capacity: usize) -> Self {
        Self { rows: Matrix::zeroed(nodes, capacity + 1), degree_bound, entry: None }
    }

    /// A graph of given lists.
    ///
    /// # Panics
    /// If a list is longer than `degree_bound`, or an id (the entry included) is not below the number of lists.
    pub fn from_lists<L: AsRef<[u32]>>(lists: &[L], degree_bound: usize, entry: Option<u32>) -> Self {
        let mut graph = Self::empty(lists.len(), degree_bound, degree_bound);
        for (id, list) in lists.iter().enumerate() {
            graph.set(id as u32, list.as_ref());
        }
        let known = |id: &u32| (*id as usize) < lists.len();
        assert!(lists.iter().all(|list| list.as_ref().iter().all(known)), "a neighbour outside the graph");
        assert!(entry.iter().all(known), "the entry lies outside the graph");
        graph.entry = entry;
        graph
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.rows.rows()
    }

    /// Where a search starts; `None` exactly in a graph without nodes.
    pub fn entry(&self) -> Option<u32> {
        self.entry
    }

    pub(crate) fn set_entry(&mut self, entry: u32) {
        self.entry = Some(entry);
    }

    /// R: the longest a finished list may be.
    pub fn degree_bound(&self) -> usize {
        self.degree_bound
    }

    /// The list of node `id`.
    ///
    /// # Panics
    /// If `id` is not below [`Graph::nodes`].
    #[inline]
    pub fn neighbours(&self, id: u32) -> &[u32] {
        let row: &[u32] = bytemuck::cast_slice(self.rows.row(id as usize));
        &row[1..=row[0] as usize]
    }

    /// Asks the processor for the list of `id`, ahead of use.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        self.rows.prefetch(id as usize);
    }

    /// Replaces a list.
    ///
    /// # Panics
    /// If the list does not fit, or there is no such node.
    pub(crate) fn set(&mut self, id: u32, list: &[u32]) {
        write_row(bytemuck::cast_slice_mut(self.rows.row_mut(id as usize)), list);
    }

    /// Words a row: one for the degree, then the places for ids.
    pub(crate) fn stride(&self) -> usize {
        self.rows.dim()
    }

    /// All rows, [`Graph::stride`] words each.
    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(self.rows.as_mut_slice())
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        4 * self.rows.as_slice().len()
    }

    /// How many nodes have each degree: element d counts the nodes with d neighbours, up to the largest degree.
    pub fn degree_histogram(&self) -> Vec<u64> {
        let mut histogram = Vec::new();
        for id in 0..self.nodes() as u32 {
            let degree = self.neighbours(id).len();
            if degree >= histogram.len() {
                histogram.resize(degree + 1, 0);
            }
            histogram[degree] += 1;
        }
        histogram
    }
}

/// Writes a list into a row: the degree, then the ids.
pub(crate) fn write_row(row: &mut [u32], list: &[u32]) {
    row[1..=list.len()].copy_from_slice(list);
    row[0] = list.len() as u32;
}

impl PartialEq for Graph {
    /// Equal lists and entry, whatever the room behind the lists.
    fn eq(&self, other: &Self) -> bool {
        self.nodes() == other.nodes()
            && self.entry == other.entry
            && (0..self.nodes() as u32).all(|id| self.neighbours(id) == other.neighbours(id))
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Graph({} nodes, R = {}, entry {:?})", self.nodes(), self.degree_bound, self.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_and_are_counted() {
        let graph = Graph::from_lists(&[vec![1, 2], vec![0], vec![]], 2, Some(1));
        assert_eq!(
            (graph.neighbours(0), graph.neighbours(1), graph.neighbours(2).len()),
            (&[1, 2][..], &[0][..], 0)
        );
        assert_eq!((graph.nodes(), graph.entry(), graph.degree_histogram()), (3, Some(1), vec![1, 1, 1]));
        assert_eq!(graph, Graph::from_lists(&[vec![1, 2], vec![0], vec![]], 5, Some(1)));
        assert_ne!(graph, Graph::from_lists(&[vec![2, 1], vec![0], vec![]], 2, Some(1)));
        let none = Graph::from_lists::<Vec<u32>>(&[], 4, None);
        assert_eq!((none.nodes(), none.entry(), none.degree_histogram()), (0, None, vec![]));
    }

    #[test]
    #[should_panic(expected = "outside the graph")]
    fn an_unknown_neighbour_is_refused() {
        Graph::from_lists(&[vec![1]], 2, Some(0));
    }
}
