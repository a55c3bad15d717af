//! `_metadata.bin`: what diskannpy notes of an index: element type, metric, rows, dimension of the user's vectors.

use super::super::ImportError;
use super::array::ArrayFile;
use gleann_vector::{ElementType, Metric};
use std::path::Path;

/// Element types and metrics by their numbers there.
const ELEMENTS: [ElementType; 3] = [ElementType::F32, ElementType::I8, ElementType::U8];
const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

/// What an index says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Description {
    pub element: ElementType,
    pub metric: Metric,
    pub rows: u64,
    pub dim: u64,
}

impl Description {
    pub(crate) fn read(path: &Path) -> Result<Self, ImportError> {
        let file = ArrayFile::open(path)?;
        if file.length != 32 {
            return Err(ImportError::field(path, "the length in bytes", file.length, 32));
        }
        let mut values = [0u64; 4];
        file.read(0, &mut values)?;
        let [element, metric, rows, dim] = values;
        let element = ELEMENTS.get(element as usize).copied().ok_or_else(|| {
            ImportError::field(path, "the element type", element, "0 (f32), 1 (i8) or 2 (u8)")
        })?;
        let metric = METRICS.get(metric as usize).copied().ok_or_else(|| {
            ImportError::field(path, "the metric", metric, "0 (L2), 1 (inner product) or 2 (cosine)")
        })?;
        Ok(Self { element, metric, rows, dim })
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let element = ELEMENTS.iter().position(|&element| element == self.element);
        let metric = METRICS.iter().position(|&metric| metric == self.metric);
        // f16 is never stored there.
        let number = |position: Option<usize>| position.unwrap_or(0) as u64;
        let values = [number(element), number(metric), self.rows, self.dim];
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
}
