//! What a checkpoint says of an index beside its blocks.
//!
//! ```text
//! version u32   backend u32   places u32   entry u32   first log segment u64   largest norm f32
//! written nodes u32   written record u64   graph record u64
//! 2 bits a place: free 0, live 1, dead 2; four a byte, the first in the lowest bits
//! ```
//! `entry` is `u32::MAX` in an empty graph. Little-endian.

use crate::backend::Backend;
use crate::wal::Lsn;
use gleann_search::NodeState;

/// 1 did not know of records about the graph that are in the blocks while the log is kept for what is buffered.
const VERSION: u32 = 2;
const NONE: u32 = u32::MAX;
const HEAD: usize = 48;

/// How far a checkpoint had come that wrote its changes portion by portion: the records of nodes below `nodes` hold what
/// the log says up to record `lsn`. Everything else in the root is as of the checkpoint before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Portion {
    /// Nodes, from 0.
    pub nodes: u32,
    /// The last record of the log.
    pub lsn: Lsn,
}

/// The state of a live index as of a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    /// How it takes updates.
    pub backend: Backend,
    /// Where searches begin.
    pub entry: Option<u32>,
    /// The log goes on here: what older segments say is in the blocks.
    pub first_segment: u64,
    /// The largest norm of a vector when the index was made, for the inner product.
    pub max_norm: f32,
    /// What the log says of the graph up to this record is in the blocks. It may begin before, for what it says of vectors
    /// that are still buffered.
    pub graph: Lsn,
    /// What a checkpoint under way had written beyond that.
    pub written: Portion,
    /// What each place holds.
    pub states: Vec<NodeState>,
}

impl Root {
    /// The bytes.
    ///
    /// # Panics
    /// If there are 2³² places or more.
    pub fn to_bytes(&self) -> Vec<u8> {
        let places = u32::try_from(self.states.len()).expect("ids are 32 bits wide");
        let mut bytes = Vec::with_capacity(HEAD + self.states.len().div_ceil(4));
        for word in [VERSION, self.backend as u32, places, self.entry.unwrap_or(NONE)] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(self.first_segment.to_le_bytes());
        bytes.extend(self.max_norm.to_le_bytes());
        bytes.extend(self.written.nodes.to_le_bytes());
        bytes.extend(self.written.lsn.0.to_le_bytes());
        bytes.extend(self.graph.0.to_le_bytes());
        assert_eq!(bytes.len(), HEAD, "the head of a root");
        let pack = |four: &[NodeState]| {
            four.iter().enumerate().fold(0, |byte, (at, &state)| byte | (state as u8) << (2 * at))
        };
        bytes.extend(self.states.chunks(4).map(pack));
        bytes
    }

    /// Reads the bytes; what is wrong with them if they are no root.
    ///
    /// # Errors
    /// In words: which field, what was found, what was expected.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let Some((head, states)) = bytes.split_at_checked(HEAD) else {
            return Err(format!("the root has {} bytes, expected {HEAD} or more", bytes.len()));
        };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(word(at + 4)) << 32 | u64::from(word(at));
        let (version, places, entry) = (word(0), word(8), word(12));
        if version != VERSION {
            return Err(format!(
                "the root has version {version}, expected {VERSION}: build the index again, or open it with the release \
                 that made it"
            ));
        }
        let backend = Backend::from_number(word(4))
            .ok_or_else(|| format!("the backend is {}, expected 1 (fresh) or 2 (odin)", word(4)))?;
        if states.len() != (places as usize).div_ceil(4) {
            let expected = (places as usize).div_ceil(4);
            return Err(format!("the states take {} bytes, expected {expected}", states.len()));
        }
        let entry = Some(entry).filter(|&entry| entry != NONE);
        if let Some(entry) = entry.filter(|&entry| entry >= places) {
            return Err(format!("the entry point is node {entry}, expected one below {places}"));
        }
        Ok(Self {
            backend,
            entry,
            first_segment: long(16),
            max_norm: f32::from_bits(word(24)),
            written: Portion { nodes: word(28), lsn: Lsn(long(32)) },
            graph: Lsn(long(40)),
            states: unpack(states, places as usize)?,
        })
    }
}

fn unpack(bytes: &[u8], places: usize) -> Result<Vec<NodeState>, String> {
    let state = |id: usize| match bytes[id / 4] >> (2 * (id % 4)) & 3 {
        0 => Ok(NodeState::Free),
        1 => Ok(NodeState::Live),
        2 => Ok(NodeState::Dead),
        _ => Err(format!("the state of node {id} is 3, expected 0 to 2")),
    };
    (0..places).map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use NodeState::{Dead, Free, Live};

    #[test]
    fn roots_come_back() {
        for states in [vec![], vec![Live], vec![Dead, Free, Live, Live, Dead], vec![Free; 8]] {
            let entry = (!states.is_empty()).then_some(0);
            let root = Root {
                backend: Backend::Odin,
                entry,
                first_segment: 1 << 40 | 7,
                max_norm: 2.5,
                graph: Lsn(5),
                written: Portion { nodes: 3, lsn: Lsn(1 << 33) },
                states,
            };
            let bytes = root.to_bytes();
            assert_eq!(Root::from_bytes(&bytes), Ok(root));
            for cut in 0..bytes.len() {
                assert!(Root::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
    }
}
