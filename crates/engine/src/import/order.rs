//! In which order the rows of a build lie in its source.

/// The rows of a build, as nodes of the source. Eight bytes a row.
#[derive(Debug)]
pub(crate) struct RowOrder {
    node_of_row: Vec<u32>,
    row_of_node: Vec<u32>,
}

impl RowOrder {
    /// The order that takes the nodes in the order given; `None` where that is the one they lie in.
    ///
    /// # Panics
    /// If a node is missing or stands twice: callers have checked that.
    pub(crate) fn of(node_of_row: Vec<u32>) -> Option<Self> {
        if node_of_row.iter().zip(0u32..).all(|(&node, row)| node == row) {
            return None;
        }
        let mut row_of_node = vec![u32::MAX; node_of_row.len()];
        for (&node, row) in node_of_row.iter().zip(0u32..) {
            let place = &mut row_of_node[node as usize];
            assert_eq!(*place, u32::MAX, "node {node} stands twice in an order");
            *place = row;
        }
        Some(Self { node_of_row, row_of_node })
    }

    /// The node that becomes `row`.
    pub(crate) fn node(&self, row: u32) -> u32 {
        self.node_of_row[row as usize]
    }

    /// The row that `node` becomes.
    pub(crate) fn row(&self, node: u32) -> u32 {
        self.row_of_node[node as usize]
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        4 * (self.node_of_row.len() + self.row_of_node.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_an_inverse_and_the_given_order_is_none() {
        assert!(RowOrder::of(vec![0, 1, 2]).is_none());
        assert!(RowOrder::of(Vec::new()).is_none());
        let order = RowOrder::of(vec![2, 0, 1]).unwrap();
        assert_eq!((0..3).map(|row| order.row(order.node(row))).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((order.node(0), order.row(2), order.bytes()), (2, 0, 24));
    }

    #[test]
    #[should_panic(expected = "stands twice")]
    fn a_node_twice_is_no_order() {
        RowOrder::of(vec![1, 1]);
    }
}
