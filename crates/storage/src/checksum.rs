//! The one form in which a checksum is stored beside the bytes it covers.

/// The CRC-32C of `bytes`, masked: rotated by 15 bits, plus a constant.
///
/// Never the plain CRC: the CRC of "bytes, then their CRC" is the same number whatever the bytes. A plain
/// checksum over a file of blocks that end in plain checksums would therefore match any blocks at all, such as
/// those of another index.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outer_checksum_sees_what_an_inner_one_covers() {
        let outer = |body: &[u8], crc: u32| crc32c::crc32c(&[body, &crc.to_le_bytes()].concat());
        let (a, b) = (b"one block", b"another block of another length");
        assert_eq!(outer(a, crc32c::crc32c(a)), outer(b, crc32c::crc32c(b)));
        assert_ne!(outer(a, masked_crc32c(a)), outer(b, masked_crc32c(b)));
    }
}
