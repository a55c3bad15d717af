//! The header that every binary file of an index begins with.
//!
//! ```text
//! 0            8         12         16          32         40         44         48      60         64
//! | magic      | kind    | version  | build id  | payload  | payload  | payload  | zeros | header   |
//! | 89 "gleann"| 4 ASCII | u32      | 16 bytes  | bytes    | offset   | crc32c   |       | crc32c   |
//! | 0a         |         |          |           | u64      | u32      | u32      |       | masked   |
//! ```
//! The header checksum covers bytes 0 to 60 and is stored masked, like that of a block. These 64 bytes keep
//! their form in every later version of the format, so that any program can say what it found.

use crate::build_id::BuildId;
use crate::checksum::masked_crc32c;
use crate::error::{FieldError, StorageError};
use std::path::Path;

/// The format version this program writes, and the only one it reads.
pub const FORMAT_VERSION: u32 = 2;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;

// Neither text nor anything that a transfer as text leaves alone.
const MAGIC: [u8; 8] = *b"\x89gleann\n";

const KIND: usize = MAGIC.len();
const VERSION: usize = KIND + 4;
const BUILD_ID: usize = VERSION + 4;
const PAYLOAD_BYTES: usize = BUILD_ID + 16;
const PAYLOAD_OFFSET: usize = PAYLOAD_BYTES + 8;
const PAYLOAD_CRC: usize = PAYLOAD_OFFSET + 4;
const ZEROS: usize = PAYLOAD_CRC + 4;
const HEADER_CRC: usize = ZEROS + 12;
const _: () = assert!(HEADER_CRC + 4 == HEADER_BYTES);
const _: () = assert!(PAYLOAD_BYTES.is_multiple_of(8) && PAYLOAD_OFFSET == 40 && PAYLOAD_CRC == 44);

pub(crate) const DAMAGED: &str = "the file is damaged: copy it again or build the index again";

/// The fields of a header that vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Kind of file, four ASCII characters.
    pub kind: [u8; 4],
    /// The build the file belongs to.
    pub build_id: BuildId,
    /// Length of what follows the header.
    pub payload_bytes: u64,
    /// Where it begins: 64, or the page size; zeros lie between.
    pub payload_offset: u32,
    /// Checksum of it.
    pub payload_crc: u32,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        assert!(self.payload_offset as usize >= HEADER_BYTES, "payload inside the header");
        let mut bytes = [0; HEADER_BYTES];
        bytes[..KIND].copy_from_slice(&MAGIC);
        bytes[KIND..VERSION].copy_from_slice(&self.kind);
        bytes[VERSION..BUILD_ID].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[BUILD_ID..PAYLOAD_BYTES].copy_from_slice(&self.build_id.0);
        bytes[PAYLOAD_BYTES..PAYLOAD_OFFSET].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[PAYLOAD_OFFSET..PAYLOAD_CRC].copy_from_slice(&self.payload_offset.to_le_bytes());
        bytes[PAYLOAD_CRC..ZEROS].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = masked_crc32c(&bytes[..HEADER_CRC]);
        bytes[HEADER_CRC..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the header of the file at `path`, whose kind should be `kind`.
    pub(crate) fn decode(
        bytes: &[u8; HEADER_BYTES],
        kind: [u8; 4],
        path: &Path,
    ) -> Result<Self, StorageError> {
        recognise(bytes, path)?;
        let found: [u8; 4] = field(bytes, KIND);
        if found != kind {
            return Err(FieldError::new("the kind of file", tag(found), tag(kind))
                .at(path, "two files of the index may have changed places"));
        }
        if bytes[ZEROS..HEADER_CRC].iter().any(|&byte| byte != 0) {
            return Err(
                FieldError::new("the unused part of the header", "not zero", "zeros").at(path, DAMAGED)
            );
        }
        let payload_offset = u32::from_le_bytes(field(bytes, PAYLOAD_OFFSET));
        if (payload_offset as usize) < HEADER_BYTES {
            let expected = format!("{HEADER_BYTES} or more");
            return Err(FieldError::new("the payload offset", payload_offset, expected).at(path, DAMAGED));
        }
        Ok(Self {
            kind,
            build_id: BuildId(field(bytes, BUILD_ID)),
            payload_bytes: u64::from_le_bytes(field(bytes, PAYLOAD_BYTES)),
            payload_offset,
            payload_crc: u32::from_le_bytes(field(bytes, PAYLOAD_CRC)),
        })
    }
}

/// Whether these are the 64 bytes of an undamaged header of this version.
fn recognise(bytes: &[u8; HEADER_BYTES], path: &Path) -> Result<(), StorageError> {
    if bytes[..KIND] != MAGIC {
        let found = format!("\"{}\"", bytes[..KIND].escape_ascii());
        let expected = format!("\"{}\"", MAGIC.escape_ascii());
        return Err(FieldError::new("the magic number", found, expected)
            .at(path, "this is not a file of a gleann index, or it is damaged"));
    }
    let stored = u32::from_le_bytes(field(bytes, HEADER_CRC));
    let crc = masked_crc32c(&bytes[..HEADER_CRC]);
    if stored != crc {
        return Err(FieldError::new("the header checksum", hex(stored), hex(crc)).at(path, DAMAGED));
    }
    let version = u32::from_le_bytes(field(bytes, VERSION));
    if version != FORMAT_VERSION {
        return Err(StorageError::Version { path: path.to_owned(), found: version });
    }
    Ok(())
}

fn field<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// A checksum as messages show it.
pub(crate) fn hex(crc: u32) -> String {
    format!("{crc:#010x}")
}

fn tag(kind: [u8; 4]) -> String {
    format!("\"{}\"", kind.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            kind: *b"TEST",
            build_id: BuildId(std::array::from_fn(|i| i as u8 + 1)),
            payload_bytes: 0x0102_0304_0506_0708,
            payload_offset: 4096,
            payload_crc: 0xaabb_ccdd,
        }
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Header, StorageError> {
        Header::decode(bytes, *b"TEST", Path::new("file"))
    }

    fn sealed(mut bytes: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
        let crc = masked_crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn bytes_are_where_they_are_drawn() {
        let bytes = header().encode();
        assert_eq!(bytes[..16], *b"\x89gleann\nTEST\x02\0\0\0");
        assert_eq!(bytes[16..20], [1, 2, 3, 4]);
        assert_eq!(bytes[32..48], [8, 7, 6, 5, 4, 3, 2, 1, 0, 16, 0, 0, 0xdd, 0xcc, 0xbb, 0xaa]);
        assert_eq!(bytes[48..60], [0; 12]);
        assert_eq!(decode(&bytes).unwrap(), header());
    }

    #[test]
    fn every_flipped_bit_shows() {
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = header().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_newer_version_is_named() {
        let mut bytes = header().encode();
        bytes[12] = 3;
        let message = decode(&sealed(bytes)).unwrap_err().to_string();
        assert!(message.contains("format version 3, this program reads version 2"), "{message}");
    }

    #[test]
    fn another_kind_and_reserved_bytes_are_refused() {
        let mut bytes = header().encode();
        bytes[8..12].copy_from_slice(b"ELSE");
        let message = decode(&sealed(bytes)).unwrap_err().to_string();
        assert!(message.contains("the kind of file is \"ELSE\", expected \"TEST\""), "{message}");
        let mut bytes = header().encode();
        bytes[59] = 1;
        assert!(decode(&sealed(bytes)).is_err());
    }
}
