//! Fingerprints of vectors and truth: 128-bit XXH3 over the values, not over the file, so that a slice or a
//! copy in another format has the print of its content. They catch mistakes, not forgeries.

use super::file::GroundTruth;
use crate::{Element, ElementType, RowSource, SourceError};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

/// Bytes of rows hashed at a time.
const BATCH_BYTES: usize = 4 << 20;

/// A 128-bit hash of content; `xxh3-128:` and 32 hexadecimal digits as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ContentHash(u128);

const PREFIX: &str = "xxh3-128:";

impl std::fmt::Display for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{:032x}", self.0)
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for ContentHash {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() == 32);
        let value = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
        value
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no hash; expected {PREFIX} and 32 hexadecimal digits"))
    }
}

impl ContentHash {
    /// Hash of a ground truth: counts, ids and distances.
    pub fn of_truth(truth: &GroundTruth) -> Self {
        let mut hasher = XxHash3_128::new();
        hasher.write(&(truth.queries as u64).to_le_bytes());
        hasher.write(&(truth.k as u64).to_le_bytes());
        hasher.write(bytemuck::cast_slice(&truth.ids));
        if let Some(distances) = &truth.distances {
            hasher.write(bytemuck::cast_slice(distances));
        }
        Self(hasher.finish_128())
    }
}

/// What identifies a set of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// Element type.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// Number of rows.
    pub rows: u64,
    /// Elements a row.
    pub dim: u64,
    /// Hash of the little-endian elements, row-major.
    pub hash: ContentHash,
}

impl Fingerprint {
    /// Reads all rows once, a few MiB at a time.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn of<T: Element>(vectors: &dyn RowSource<T>) -> Result<Self, SourceError> {
        let (rows, dim) = (vectors.rows(), vectors.dim());
        let batch = (BATCH_BYTES / (dim * size_of::<T>()).max(1)).max(1) as u64;
        let mut buffer = vec![T::zeroed(); batch.min(rows) as usize * dim];
        let mut hasher = XxHash3_128::new();
        let mut start = 0;
        while start < rows {
            let count = batch.min(rows - start);
            let read = &mut buffer[..count as usize * dim];
            vectors.read_rows(start, read)?;
            hasher.write(bytemuck::cast_slice(read));
            start += count;
        }
        Ok(Self { element: T::TYPE, rows, dim: dim as u64, hash: ContentHash(hasher.finish_128()) })
    }
}
