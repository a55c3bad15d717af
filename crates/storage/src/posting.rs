//! A posting list: the vectors of one cluster with their ids, in one block, so that one read brings all of it.
//!
//! ```text
//! 0                        I                I + 4·capacity         B−12     B−8      B−4        B
//! | vector 0 | vector 1 | … | id 0 | id 1 | … | zeros               | count  | number | checksum |
//! ```
//! Vectors stand side by side without padding, so that one call measures all of them. I is the room of `capacity`
//! vectors, padded to 4; places that are not taken are zeros.

use crate::block::seal_block;
use crate::block_layout::BlockLayout;
use crate::layout::{BLOCK_TRAILER, BlockId, Layout};
use gleann_vector::{Element, Matrix};

/// Most pages a posting may take.
pub const MAX_POSTING_PAGES: usize = 64;

/// Bytes that hold the number of vectors.
const COUNT_BYTES: usize = 4;

/// Geometry of the postings of one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingLayout {
    layout: Layout,
    pages: u32,
    capacity: u32,
}

/// Pages that hold no posting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostingLayoutError {
    /// Outside the range.
    #[error("a posting of {0} pages is not supported; expected 1 to {MAX_POSTING_PAGES}")]
    Pages(usize),
    /// Not one vector fits.
    #[error("no vector of {vector} bytes fits a posting of {posting} bytes; give it more pages")]
    NoRoom {
        /// Bytes a vector.
        vector: usize,
        /// Bytes a posting.
        posting: usize,
    },
}

impl PostingLayout {
    /// Postings of `pages` pages each, of vectors as `layout` describes them.
    ///
    /// # Errors
    /// Too many pages, or too few for one vector.
    pub fn new(layout: Layout, pages: usize) -> Result<Self, PostingLayoutError> {
        if !(1..=MAX_POSTING_PAGES).contains(&pages) {
            return Err(PostingLayoutError::Pages(pages));
        }
        let vector = layout.dim() * layout.element().size();
        let posting = pages * layout.page_size();
        let fits = |count: usize| {
            (count * vector).next_multiple_of(4) + 4 * count + COUNT_BYTES + BLOCK_TRAILER <= posting
        };
        let most = (posting - COUNT_BYTES - BLOCK_TRAILER) / (vector + 4);
        let capacity = if fits(most) { most } else { most.saturating_sub(1) };
        if capacity == 0 {
            return Err(PostingLayoutError::NoRoom { vector, posting });
        }
        Ok(Self { layout, pages: pages as u32, capacity: capacity as u32 })
    }

    /// Elements a vector.
    pub fn dim(&self) -> usize {
        self.layout.dim()
    }

    /// Pages a posting.
    pub fn pages(&self) -> usize {
        self.pages as usize
    }

    /// The most vectors a posting holds, at least 1.
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Where the postings lie in their file: posting number = block number.
    pub fn blocks(&self) -> BlockLayout {
        BlockLayout::new(self.layout.page_size(), self.pages())
    }

    fn vector_bytes(&self) -> usize {
        self.dim() * self.layout.element().size()
    }

    fn ids_at(&self) -> usize {
        (self.capacity() * self.vector_bytes()).next_multiple_of(4)
    }

    fn count_at(&self) -> usize {
        self.blocks().block_bytes() - BLOCK_TRAILER - COUNT_BYTES
    }
}

/// A posting whose fields cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PostingError {
    /// More vectors than there is room for.
    #[error("the posting says it has {found} vectors, it has room for {allowed}")]
    Count {
        /// Stored count.
        found: u32,
        /// Capacity of a posting.
        allowed: u32,
    },
    /// An id that is no vector's.
    #[error("vector {position} of the posting has id {found}, the index has {nodes} vectors")]
    Id {
        /// Position in the posting.
        position: u32,
        /// Stored id.
        found: u32,
        /// Number of vectors of the index.
        nodes: u32,
    },
}

/// A checked view of one posting.
#[derive(Debug, Clone, Copy)]
pub struct Posting<'a> {
    vectors: &'a [u8],
    ids: &'a [u8],
}

impl<'a> Posting<'a> {
    /// Reads the posting in `block` (exactly one, verified) of an index of `nodes` vectors.
    ///
    /// # Errors
    /// The count or an id is impossible.
    #[inline]
    pub fn decode(layout: &PostingLayout, block: &'a [u8], nodes: u32) -> Result<Self, PostingError> {
        debug_assert_eq!(block.len(), layout.blocks().block_bytes());
        let found = ids(&block[layout.count_at()..][..4]).next().unwrap_or(0);
        let allowed = layout.capacity() as u32;
        if found > allowed {
            return Err(PostingError::Count { found, allowed });
        }
        let bytes = &block[layout.ids_at()..][..4 * found as usize];
        if let Some(position) = ids(bytes).position(|id| id >= nodes) {
            let found = ids(bytes).nth(position).unwrap_or(0);
            return Err(PostingError::Id { position: position as u32, found, nodes });
        }
        Ok(Self { vectors: &block[..found as usize * layout.vector_bytes()], ids: bytes })
    }

    /// The vectors, row-major.
    ///
    /// # Panics
    /// If `T` is not the element type of the layout, or the block is not aligned for it (read buffers are).
    #[inline]
    pub fn vectors<T: Element>(&self) -> &'a [T] {
        bytemuck::cast_slice(self.vectors)
    }

    /// Their ids, each below the number of vectors of the index.
    #[inline]
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u32> + 'a {
        ids(self.ids)
    }

    /// Number of vectors.
    #[inline]
    pub fn len(&self) -> usize {
        self.ids.len() / 4
    }

    /// Whether it holds no vector.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether every byte of `block` that holds nothing is zero.
    pub(crate) fn rest_is_zero(&self, layout: &PostingLayout, block: &[u8]) -> bool {
        let zeros = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        zeros(&block[self.vectors.len()..layout.ids_at()])
            && zeros(&block[layout.ids_at() + self.ids.len()..layout.count_at()])
    }
}

#[inline]
fn ids(bytes: &[u8]) -> impl ExactSizeIterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]]))
}

/// Writes the posting `id` of the rows `members` of `vectors` into `block` and seals it.
///
/// # Panics
/// If there are more members than a posting holds, or `block` is not one block long.
pub fn encode_posting<T: Element>(
    layout: &PostingLayout,
    (id, members): (BlockId, &[u32]),
    vectors: &Matrix<T>,
    block: &mut [u8],
) {
    assert_eq!(block.len(), layout.blocks().block_bytes(), "posting buffer");
    assert_eq!((T::TYPE, vectors.dim()), (layout.layout.element(), layout.dim()), "vectors of the layout");
    assert!(members.len() <= layout.capacity(), "{} vectors, room for {}", members.len(), layout.capacity());
    block.fill(0);
    let places = block.chunks_exact_mut(layout.vector_bytes());
    for (place, &member) in places.zip(members) {
        place.copy_from_slice(bytemuck::cast_slice(vectors.row(member as usize)));
    }
    for (place, member) in block[layout.ids_at()..].chunks_exact_mut(4).zip(members) {
        place.copy_from_slice(&member.to_le_bytes());
    }
    block[layout.count_at()..][..4].copy_from_slice(&(members.len() as u32).to_le_bytes());
    seal_block(block, id);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::verify_block;
    use gleann_vector::ElementType;

    fn layout(element: ElementType, dim: usize, pages: usize) -> Result<PostingLayout, PostingLayoutError> {
        PostingLayout::new(Layout::new(element, dim, 1, 4096).unwrap(), pages)
    }

    #[test]
    fn capacity_is_what_fits_and_no_more() {
        // (8192 − 12) / 132 = 61.97; (4096 − 12) / (3 + 4) = 583.4, and 583 · 3 is padded by 3.
        assert_eq!(layout(ElementType::U8, 128, 2).unwrap().capacity(), 61);
        assert_eq!(layout(ElementType::U8, 3, 1).unwrap().capacity(), 583);
        assert_eq!(
            layout(ElementType::F32, 1021, 1),
            Err(PostingLayoutError::NoRoom { vector: 4084, posting: 4096 })
        );
        assert_eq!(layout(ElementType::F32, 1020, 1).unwrap().capacity(), 1);
        assert_eq!(layout(ElementType::U8, 1, 65), Err(PostingLayoutError::Pages(65)));
        for dim in 1..300 {
            for element in ElementType::ALL {
                let layout = layout(element, dim, 1).unwrap();
                let used =
                    |count: usize| (count * layout.vector_bytes()).next_multiple_of(4) + 4 * count + 12;
                assert!(
                    used(layout.capacity()) <= 4096 && used(layout.capacity() + 1) > 4096,
                    "{dim} {element}"
                );
                assert!(layout.ids_at() + 4 * layout.capacity() <= layout.count_at());
            }
        }
    }

    #[test]
    fn members_come_back_and_impossible_fields_are_named() {
        let layout = layout(ElementType::U8, 5, 1).unwrap();
        let vectors = Matrix::from_rows(&(0..50u8).collect::<Vec<_>>(), 5);
        let mut buffer = Matrix::<u8>::zeroed(1, 4096);
        let block = buffer.as_mut_slice();
        encode_posting(&layout, (BlockId(3), &[7, 2]), &vectors, block);
        verify_block(block, BlockId(3)).unwrap();
        let posting = Posting::decode(&layout, block, 8).unwrap();
        assert_eq!(posting.ids().collect::<Vec<_>>(), [7, 2]);
        assert_eq!(posting.vectors::<u8>(), [35, 36, 37, 38, 39, 10, 11, 12, 13, 14]);
        assert!(posting.rest_is_zero(&layout, block));
        let error = Posting::decode(&layout, block, 7).unwrap_err();
        assert_eq!(error, PostingError::Id { position: 0, found: 7, nodes: 7 });
        let allowed = layout.capacity() as u32;
        block[4096 - 12..4096 - 8].copy_from_slice(&(allowed + 1).to_le_bytes());
        let error = Posting::decode(&layout, block, 8).unwrap_err();
        assert_eq!(error, PostingError::Count { found: allowed + 1, allowed });
        encode_posting(&layout, (BlockId(0), &[]), &vectors, block);
        assert!(Posting::decode(&layout, block, 0).unwrap().is_empty());
    }
}
