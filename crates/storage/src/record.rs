//! A record: one vector, its neighbour list, and in an All-in-Storage index the codes of the neighbours.
//!
//! ```text
//! 0            V               V+4          V+4+4·degree   V+4+4·R       V+4+4·R+M·degree
//! | vector     | degree (u32)  | ids (u32)  | zeros        | M-byte codes | zeros     |
//! ```
//! V = dim · element size, padded to 4; M is 0 where codes are kept elsewhere.

use crate::layout::Layout;
use gleann_vector::Element;

/// A record whose fields cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// More neighbours than a record has room for.
    #[error("degree is {found}, the index allows {allowed}")]
    Degree {
        /// Stored degree.
        found: u32,
        /// Degree bound of the index.
        allowed: u32,
    },
    /// A neighbour that is not a node.
    #[error("neighbour {position} is node {found}, the index has {nodes} nodes")]
    Neighbour {
        /// Position in the list.
        position: u32,
        /// Stored id.
        found: u32,
        /// Number of nodes.
        nodes: u32,
    },
}

/// A checked view of one record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    vector: &'a [u8],
    neighbours: &'a [u8],
    codes: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the record in `bytes` (exactly [`Layout::record_bytes`]) of an index of `nodes` nodes.
    ///
    /// # Errors
    /// The degree or a neighbour id is impossible.
    #[inline]
    pub fn decode(layout: &Layout, bytes: &'a [u8], nodes: u32) -> Result<Self, RecordError> {
        debug_assert_eq!(bytes.len(), layout.record_bytes());
        let (vector, rest) = bytes.split_at(layout.vector_bytes());
        let degree = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
        let allowed = layout.degree() as u32;
        if degree > allowed {
            return Err(RecordError::Degree { found: degree, allowed });
        }
        let neighbours = &rest[4..4 + 4 * degree as usize];
        let largest = ids(neighbours).max().unwrap_or(0);
        if degree > 0 && largest >= nodes {
            let position = ids(neighbours).position(|id| id >= nodes).unwrap_or(0) as u32;
            let found = ids(neighbours).nth(position as usize).unwrap_or(largest);
            return Err(RecordError::Neighbour { position, found, nodes });
        }
        let codes = &rest[4 + 4 * allowed as usize..][..layout.code_bytes() * degree as usize];
        Ok(Self { vector: &vector[..layout.dim() * layout.element().size()], neighbours, codes })
    }

    /// The vector, without padding.
    ///
    /// # Panics
    /// If `T` is not the element type of the layout, or the record is not aligned for it (blocks are).
    #[inline]
    pub fn vector<T: Element>(&self) -> &'a [T] {
        bytemuck::cast_slice(self.vector)
    }

    /// Number of neighbours.
    #[inline]
    pub fn degree(&self) -> usize {
        self.neighbours.len() / 4
    }

    /// The neighbour ids, each below the number of nodes.
    #[inline]
    pub fn neighbours(&self) -> impl ExactSizeIterator<Item = u32> + 'a {
        ids(self.neighbours)
    }

    /// The codes of the neighbours, one after the other in their order; empty where codes are kept elsewhere.
    #[inline]
    pub fn codes(&self) -> &'a [u8] {
        self.codes
    }
}

/// The degree of a place that holds no record, in an index that changes.
const VACANT: u32 = u32::MAX;

/// Marks a place (exactly [`Layout::record_bytes`]) as one that holds no record.
pub fn vacate_record(layout: &Layout, bytes: &mut [u8]) {
    assert_eq!(bytes.len(), layout.record_bytes(), "record buffer");
    bytes.fill(0);
    bytes[layout.vector_bytes()..][..4].copy_from_slice(&VACANT.to_le_bytes());
}

/// Whether a place holds no record.
#[inline]
pub fn is_vacant(layout: &Layout, bytes: &[u8]) -> bool {
    bytes[layout.vector_bytes()..][..4] == VACANT.to_le_bytes()
}

/// What a record is made of.
#[derive(Debug, Clone, Copy)]
pub struct NewRecord<'a, T> {
    /// The vector.
    pub vector: &'a [T],
    /// The neighbour ids.
    pub neighbours: &'a [u32],
    /// The codes of the neighbours, one after the other; empty where the layout has none.
    pub codes: &'a [u8],
}

#[inline]
fn ids(bytes: &[u8]) -> impl ExactSizeIterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]]))
}

/// Gives the record in `bytes` (exactly [`Layout::record_bytes`]) another list.
///
/// # Panics
/// If the list is longer than a record's, or records hold codes, which would no longer be those of the neighbours.
pub fn replace_list(layout: &Layout, bytes: &mut [u8], neighbours: &[u32]) {
    assert_eq!(layout.code_bytes(), 0, "codes in the record");
    assert!(neighbours.len() <= layout.degree(), "{} neighbours", neighbours.len());
    let list = &mut bytes[layout.vector_bytes()..layout.record_bytes()];
    list.fill(0);
    list[..4].copy_from_slice(&(neighbours.len() as u32).to_le_bytes());
    for (place, id) in list[4..].chunks_exact_mut(4).zip(neighbours) {
        place.copy_from_slice(&id.to_le_bytes());
    }
}

/// Writes a record into `bytes` (exactly [`Layout::record_bytes`]).
///
/// # Panics
/// If the vector, the list or the codes do not fit the layout.
pub fn encode_record<T: Element>(layout: &Layout, record: &NewRecord<'_, T>, bytes: &mut [u8]) {
    let NewRecord { vector, neighbours, codes } = *record;
    assert_eq!(codes.len(), layout.code_bytes() * neighbours.len(), "bytes of codes");
    assert_eq!(bytes.len(), layout.record_bytes(), "record buffer");
    assert_eq!(vector.len(), layout.dim(), "vector of another dimension");
    assert!(
        neighbours.len() <= layout.degree(),
        "{} neighbours, {} allowed",
        neighbours.len(),
        layout.degree()
    );
    bytes.fill(0);
    let raw: &[u8] = bytemuck::cast_slice(vector);
    bytes[..raw.len()].copy_from_slice(raw);
    let (_, rest) = bytes.split_at_mut(layout.vector_bytes());
    rest[..4].copy_from_slice(&(neighbours.len() as u32).to_le_bytes());
    for (place, id) in rest[4..].chunks_exact_mut(4).zip(neighbours) {
        place.copy_from_slice(&id.to_le_bytes());
    }
    rest[4 + 4 * layout.degree()..][..codes.len()].copy_from_slice(codes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::ElementType;

    #[test]
    fn impossible_fields_are_named() {
        let layout = Layout::new(ElementType::U8, 5, 3, 4096).unwrap();
        let mut bytes = vec![0xff; layout.record_bytes()];
        let new = NewRecord { vector: &[1u8, 2, 3, 4, 5], neighbours: &[6, 7], codes: &[] };
        encode_record(&layout, &new, &mut bytes);
        let record = Record::decode(&layout, &bytes, 8).unwrap();
        assert_eq!(record.vector::<u8>(), [1, 2, 3, 4, 5]);
        assert!(record.codes().is_empty());
        assert_eq!(record.neighbours().collect::<Vec<_>>(), [6, 7]);
        assert_eq!(
            Record::decode(&layout, &bytes, 7).unwrap_err(),
            RecordError::Neighbour { position: 1, found: 7, nodes: 7 }
        );
        bytes[8..12].copy_from_slice(&1_000_000_000u32.to_le_bytes());
        assert_eq!(
            Record::decode(&layout, &bytes, 8).unwrap_err(),
            RecordError::Degree { found: 1_000_000_000, allowed: 3 }
        );
    }

    #[test]
    fn neighbours_carry_their_codes() {
        let layout = Layout::new(ElementType::F32, 1, 3, 4096).unwrap().with_codes(3).unwrap();
        assert_eq!(layout.record_bytes(), 4 + 4 + 12 + 12);
        let mut bytes = vec![0xff; layout.record_bytes()];
        let new = NewRecord { vector: &[0.5f32], neighbours: &[2, 1], codes: &[1, 2, 3, 4, 5, 6] };
        encode_record(&layout, &new, &mut bytes);
        assert_eq!(bytes[20..], [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0]);
        let record = Record::decode(&layout, &bytes, 3).unwrap();
        assert_eq!((record.vector::<f32>(), record.codes()), (&[0.5][..], &[1, 2, 3, 4, 5, 6][..]));
        assert_eq!(record.neighbours().collect::<Vec<_>>(), [2, 1]);
    }
}
