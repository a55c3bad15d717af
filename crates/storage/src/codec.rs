//! Structures as bytes. The only module that names bincode.
//!
//! | Rust | bytes |
//! | --- | --- |
//! | `u8`, `u32`, `u64` | 1, 4, 8 bytes, little-endian |
//! | `f32` | 4 bytes, IEEE 754, little-endian |
//! | `[u8; N]` | the N bytes |
//! | `Option<T>` | one byte, 0 or 1; then `T` if 1 |
//! | `String` | length in bytes as `u64`, then UTF-8 |
//! | `Vec<T>` | length as `u64`, then the elements |
//! | tuple, struct | the fields in order, nothing between them |
//!
//! A length is held against [`LIMIT`] before anything is allocated for it. Bytes left over are an error.

pub(crate) use bincode::{Decode, Encode};

/// The most bytes a structure may take.
pub(crate) const LIMIT: usize = 64 << 10;

/// Bytes that are not the structure they should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodecError {
    /// A length, tag or string cannot be, or the bytes end too early.
    #[error("{0}")]
    Malformed(#[from] bincode::error::DecodeError),
    /// The structure ended before the bytes.
    #[error("{0} bytes too many")]
    LeftOver(usize),
}

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_little_endian().with_fixed_int_encoding().with_limit::<LIMIT>()
}

/// The bytes of `value`.
pub(crate) fn encode(value: &impl Encode) -> Vec<u8> {
    bincode::encode_to_vec(value, config()).expect("memory takes every byte, and no type here can fail")
}

/// The value whose bytes are exactly `bytes`.
pub(crate) fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, used) = bincode::decode_from_slice(bytes, config())?;
    match bytes.len() - used {
        0 => Ok(value),
        rest => Err(CodecError::LeftOver(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_bytes() {
        type Everything = (u8, u32, u64, f32, [u8; 4], (Option<u32>, Option<u32>), String, Vec<u32>);
        let value: Everything = (1, 2, 3, 1.5, *b"abcd", (None, Some(4)), "é".into(), vec![5, 6]);
        let mut bytes = vec![1, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x3f];
        bytes.extend_from_slice(b"abcd");
        bytes.extend_from_slice(&[0, 1, 4, 0, 0, 0]);
        bytes.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0xa9]);
        bytes.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(encode(&value), bytes);
        assert_eq!(decode::<Everything>(&bytes).unwrap(), value);
        assert!(decode::<Everything>(&bytes[..bytes.len() - 1]).is_err());
        bytes.push(0);
        assert!(matches!(decode::<Everything>(&bytes), Err(CodecError::LeftOver(1))));
    }

    #[test]
    fn absurd_lengths_allocate_nothing() {
        for length in [LIMIT as u64, 1 << 40, u64::MAX] {
            assert!(decode::<Vec<u64>>(&length.to_le_bytes()).is_err());
            assert!(decode::<String>(&length.to_le_bytes()).is_err());
        }
    }
}
