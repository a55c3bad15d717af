//! The cache axis: which records are held in memory, so that a search need not read them.

use gleann_vector::NodeId;

/// Records held in memory, immutable once loaded and shared by all cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// Every record is read from the disk.
    #[default]
    None,
}

impl Cache {
    /// The bytes of a cached record.
    pub fn record(&self, _node: NodeId) -> Option<&[u8]> {
        match self {
            Cache::None => None,
        }
    }
}
