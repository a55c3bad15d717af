//! The cache axis: which records are held in memory, so that a search need not read them.

use gleann_vector::Matrix;

/// Records held in memory, immutable once loaded and shared by all cores. Empty where nothing is cached.
#[derive(Debug)]
pub struct Cache {
    /// Ascending.
    nodes: Vec<u32>,
    /// Row i is the record of `nodes[i]`.
    records: Matrix<u8>,
}

impl Default for Cache {
    fn default() -> Self {
        Self::empty()
    }
}

impl Cache {
    /// Every record is read from the disk.
    pub fn empty() -> Self {
        Self { nodes: Vec::new(), records: Matrix::zeroed(0, 1) }
    }

    /// Holds the records of `nodes`, row i of `records` being that of node i.
    ///
    /// # Panics
    /// If the nodes are not ascending, or there is not one record for each.
    pub fn new(nodes: Vec<u32>, records: Matrix<u8>) -> Self {
        assert_eq!(nodes.len(), records.rows(), "nodes and records");
        assert!(nodes.is_sorted_by(|a, b| a < b), "cached nodes out of order");
        Self { nodes, records }
    }

    /// The bytes of a cached record.
    #[inline]
    pub fn record(&self, node: u32) -> Option<&[u8]> {
        if self.nodes.is_empty() {
            return None;
        }
        let row = self.nodes.binary_search(&node).ok()?;
        Some(self.records.row(row))
    }

    /// Number of records held.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        4 * self.nodes.len() + self.records.as_slice().len()
    }
}
