//! Names of vectors: the internal id of a node and the key its user knows it by.

use serde::{Deserialize, Serialize};

/// Internal id of a vector inside one index: dense, from 0, and a place on disk at the same time
/// (`block · records per block + slot`), so that a static index needs no id-to-page map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The id as an array index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The name a user gives to a vector; by default its row number in the data file.
pub type Key = u64;
