//! The entry axis: where a search begins.

use gleann_vector::NodeId;

/// The nodes every search starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryPoints {
    /// The node nearest to the mean of all vectors; none in an empty index.
    Medoid(Option<NodeId>),
}

impl EntryPoints {
    /// Appends the ids to start from.
    pub fn seeds(&self, into: &mut Vec<u32>) {
        match self {
            EntryPoints::Medoid(node) => into.extend(node.map(|node| node.0)),
        }
    }
}
