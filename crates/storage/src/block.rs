//! A block: records, zero padding, and a trailer of block number and checksum that every read is held against.
//!
//! ```text
//! 0                    s_rec            2·s_rec                      B−8        B−4       B
//! | record 0           | record 1       | … | record n_p−1 | zeros   | number   | crc32c  |
//! ```
//! The checksum covers everything before it, the number included, so a torn page (also inside a record of
//! several pages), a misdirected read and a stale block all show. It is stored masked, so that a checksum over
//! the whole file still depends on what the blocks hold.

use crate::checksum::masked_crc32c;
use crate::layout::{BLOCK_TRAILER, BlockId, Layout};

/// A block whose bytes are not what was written for that place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The checksum does not match: damaged or torn.
    #[error("checksum is {found:#010x}, expected {expected:#010x} (damaged or torn block)")]
    Checksum {
        /// Stored checksum.
        found: u32,
        /// Checksum of the bytes.
        expected: u32,
    },
    /// Another block stands here.
    #[error("block number is {found}, expected {expected} (misdirected or stale block)")]
    Number {
        /// Stored number.
        found: u32,
        /// Number of the place.
        expected: u32,
    },
}

/// Writes number and checksum into the trailer of `block`.
///
/// # Panics
/// If `block` is not longer than its trailer.
pub fn seal_block(block: &mut [u8], id: BlockId) {
    assert!(block.len() > BLOCK_TRAILER, "block of {} bytes", block.len());
    let body = block.len() - 4;
    block[body - 4..body].copy_from_slice(&id.0.to_le_bytes());
    let sum = masked_crc32c(&block[..body]);
    block[body..].copy_from_slice(&sum.to_le_bytes());
}

/// Holds a block against its trailer.
///
/// # Errors
/// The bytes are damaged, or belong to another place.
pub fn verify_block(block: &[u8], id: BlockId) -> Result<(), BlockError> {
    let body = block.len() - 4;
    let found = word(block, body);
    let expected = masked_crc32c(&block[..body]);
    if found != expected {
        return Err(BlockError::Checksum { found, expected });
    }
    let number = word(block, body - 4);
    if number != id.0 {
        return Err(BlockError::Number { found: number, expected: id.0 });
    }
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The bytes of record `slot` inside `block`.
///
/// # Panics
/// If the slot lies outside the block.
#[inline]
pub fn record_bytes<'a>(layout: &Layout, block: &'a [u8], slot: usize) -> &'a [u8] {
    let length = layout.record_bytes();
    &block[slot * length..(slot + 1) * length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_shows() {
        let mut block = vec![7u8; 4096];
        seal_block(&mut block, BlockId(42));
        assert_eq!(verify_block(&block, BlockId(42)), Ok(()));
        assert!(matches!(
            verify_block(&block, BlockId(43)),
            Err(BlockError::Number { found: 42, expected: 43 })
        ));
        for bit in (0..4096 * 8).step_by(37) {
            block[bit / 8] ^= 1 << (bit % 8);
            assert!(verify_block(&block, BlockId(42)).is_err(), "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
        // A block of which only the first page of two landed.
        let mut torn = vec![0u8; 8192];
        seal_block(&mut torn, BlockId(1));
        torn[..4096].fill(9);
        assert!(verify_block(&torn, BlockId(1)).is_err());
    }
}
