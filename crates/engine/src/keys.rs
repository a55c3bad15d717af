//! The user's keys, by internal id.

use gleann_vector::Key;

/// Maps internal ids to the user's keys.
#[derive(Debug)]
pub(crate) enum Keys {
    /// The key is the internal id (row numbers of an index in row order), or searches find keys (a live index).
    Identity,
    /// One key an id.
    Listed(Vec<Key>),
}

impl Keys {
    /// The key of what a search has found.
    pub(crate) fn key(&self, id: u64) -> Key {
        match self {
            Keys::Identity => id,
            Keys::Listed(keys) => keys[id as usize],
        }
    }

    /// Bytes of memory they take.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Keys::Identity => 0,
            Keys::Listed(keys) => 8 * keys.len() as u64,
        }
    }
}
