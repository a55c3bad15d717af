//! What the write-ahead log says: one record an operation.
//!
//! ```text
//! delete   1  key u64
//! put      2  key u64   vector
//! insert   3  key u64   node u32   degree u16   links u16   degree × id u32   links × (node u32, leaves u32)   vector
//! ```
//! A *put* goes into the temporary index. An *insert* enters the graph, and its record holds what was computed, so that
//! nothing is searched for when the log is read again: the new node's list, and whose lists it joins, with the neighbour
//! that makes room there (`u32::MAX`: none). Both take the place of a vector of the same key. Little-endian; the vector
//! takes the rest of the record.

use gleann_search::Link;

const DELETE: u8 = 1;
const PUT: u8 = 2;
const INSERT: u8 = 3;
const NONE: u32 = u32::MAX;

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation<'a> {
    /// A vector goes.
    Delete {
        /// Its key.
        key: u64,
    },
    /// A vector enters the temporary index.
    Put {
        /// Its key.
        key: u64,
        /// Its elements, as they lie in memory.
        vector: &'a [u8],
    },
    /// A vector enters the graph.
    Insert {
        /// Its key.
        key: u64,
        /// Its place.
        node: u32,
        /// Its neighbours.
        list: Vec<u32>,
        /// Whose list it joins, and how; [`Link::joins`] is the node itself.
        links: Vec<(u32, Link)>,
        /// Its elements, as they lie in memory.
        vector: &'a [u8],
    },
}

impl<'a> Operation<'a> {
    /// Appends the record.
    ///
    /// # Panics
    /// If a list is longer than any record's.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let short = |length: usize| u16::try_from(length).expect("lists are shorter than 2¹⁶").to_le_bytes();
        match self {
            Operation::Delete { key } => {
                into.push(DELETE);
                into.extend(key.to_le_bytes());
            }
            Operation::Put { key, vector } => {
                into.push(PUT);
                into.extend(key.to_le_bytes());
                into.extend_from_slice(vector);
            }
            Operation::Insert { key, node, list, links, vector } => {
                into.push(INSERT);
                into.extend(key.to_le_bytes());
                into.extend(node.to_le_bytes());
                into.extend(short(list.len()));
                into.extend(short(links.len()));
                list.iter().for_each(|id| into.extend_from_slice(&id.to_le_bytes()));
                for (node, link) in links {
                    into.extend(node.to_le_bytes());
                    into.extend(link.leaves.unwrap_or(NONE).to_le_bytes());
                }
                into.extend_from_slice(vector);
            }
        }
    }

    /// Reads a record; `None` if it is none. `vector_bytes` is the length of a vector.
    pub fn decode(record: &'a [u8], vector_bytes: usize) -> Option<Self> {
        let (&tag, rest) = record.split_first()?;
        let (key, rest) = rest.split_first_chunk()?;
        let key = u64::from_le_bytes(*key);
        match tag {
            DELETE => rest.is_empty().then_some(Operation::Delete { key }),
            PUT => (rest.len() == vector_bytes).then_some(Operation::Put { key, vector: rest }),
            INSERT => decode_insert(key, rest, vector_bytes),
            _ => None,
        }
    }
}

fn decode_insert(key: u64, rest: &[u8], vector_bytes: usize) -> Option<Operation<'_>> {
    let (node, rest) = rest.split_first_chunk()?;
    let (degree, rest) = rest.split_first_chunk()?;
    let (count, rest) = rest.split_first_chunk()?;
    let (degree, count) = (u16::from_le_bytes(*degree) as usize, u16::from_le_bytes(*count) as usize);
    if rest.len() != 4 * degree + 8 * count + vector_bytes {
        return None;
    }
    let (list, rest) = rest.split_at(4 * degree);
    let (links, vector) = rest.split_at(8 * count);
    let node = u32::from_le_bytes(*node);
    let ids = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks_exact(4).map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]])).collect()
    };
    let link = |pair: &[u32]| {
        (pair[0], Link { joins: node, leaves: Some(pair[1]).filter(|&leaves| leaves != NONE) })
    };
    let links = ids(links).chunks_exact(2).map(link).collect();
    Some(Operation::Insert { key, node, list: ids(list), links, vector })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_back_and_what_is_none_does_not() {
        let links = vec![(7, Link { joins: 9, leaves: None }), (8, Link { joins: 9, leaves: Some(1) })];
        let operations = [
            Operation::Delete { key: u64::MAX },
            Operation::Put { key: 0, vector: &[1, 2, 3] },
            Operation::Insert { key: 5, node: 9, list: vec![7, 8, 1], links, vector: &[4, 5, 6] },
            Operation::Insert { key: 5, node: 0, list: vec![], links: vec![], vector: &[4, 5, 6] },
        ];
        for operation in operations {
            let mut record = Vec::new();
            operation.encode(&mut record);
            assert_eq!(Operation::decode(&record, 3).as_ref(), Some(&operation));
            for cut in 0..record.len() {
                assert_eq!(Operation::decode(&record[..cut], 3), None, "{operation:?} cut at {cut}");
            }
            record.push(0);
            assert_eq!(Operation::decode(&record, 3), None);
        }
        assert_eq!(Operation::decode(&[4; 12], 3), None);
    }
}
