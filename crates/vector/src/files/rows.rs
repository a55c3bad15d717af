//! Rows of a vector file by `pread`.

use super::format::RowLayout;
use super::raw::RawFile;
use crate::{Element, RowSource, SourceError};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes read at a time where rows have to be picked out from between length words.
const GATHER_BYTES: u64 = 1 << 20;

/// Rows of a file, read on demand, from any number of threads at once. Holds no rows itself.
#[derive(Debug, Clone)]
pub struct FileRows<T: Element> {
    raw: Arc<RawFile>,
    layout: RowLayout,
    element: PhantomData<T>,
}

impl<T: Element> FileRows<T> {
    pub(super) fn new(raw: Arc<RawFile>, layout: RowLayout) -> Self {
        Self { raw, layout, element: PhantomData }
    }

    /// Reads rows that have a length word each, which must be the dimension.
    fn gather(&self, start: u64, into: &mut [T]) -> Result<(), String> {
        let stride = self.layout.stride as usize;
        let batch = (GATHER_BYTES / self.layout.stride).max(1) as usize;
        let mut buffer = vec![0; stride * batch.min(into.len() / self.layout.dim)];
        let mut row = start;
        for rows in into.chunks_mut(batch * self.layout.dim) {
            let bytes = &mut buffer[..rows.len() / self.layout.dim * stride];
            let offset = self.layout.offset(row) - 4;
            self.raw.file.read_exact_at(bytes, offset).map_err(|e| e.to_string())?;
            for (stored, wanted) in bytes.chunks_exact(stride).zip(rows.chunks_exact_mut(self.layout.dim)) {
                check_length_word(&stored[..4], row, self.layout.dim)?;
                bytemuck::cast_slice_mut::<T, u8>(wanted).copy_from_slice(&stored[4..]);
                row += 1;
            }
        }
        Ok(())
    }
}

/// Checks the length word in front of a row of a TEXMEX file.
pub(super) fn check_length_word(word: &[u8], row: u64, dim: usize) -> Result<(), String> {
    let found = u32::from_le_bytes(word.try_into().expect("a word of four bytes"));
    if found as usize == dim {
        return Ok(());
    }
    Err(format!("row {row} says it has {found} elements; every row of this file has {dim}"))
}

/// Checks a request for rows; the error is ready but for the message.
pub(super) fn check_range(layout: &RowLayout, start: u64, elements: usize) -> Result<u64, (u64, String)> {
    assert_eq!(elements % layout.dim, 0, "not a whole number of rows");
    let end = start.saturating_add((elements / layout.dim) as u64);
    if end > layout.rows {
        return Err((end, format!("there are {} rows", layout.rows)));
    }
    Ok(end)
}

impl<T: Element> RowSource<T> for FileRows<T> {
    fn rows(&self) -> u64 {
        self.layout.rows
    }

    fn dim(&self) -> usize {
        self.layout.dim
    }

    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), SourceError> {
        let error =
            |end, message| SourceError { name: self.raw.path.display().to_string(), start, end, message };
        let end =
            check_range(&self.layout, start, into.len()).map_err(|(end, message)| error(end, message))?;
        let read = if self.layout.is_dense() {
            let bytes = bytemuck::cast_slice_mut::<T, u8>(into);
            self.raw.file.read_exact_at(bytes, self.layout.offset(start)).map_err(|e| e.to_string())
        } else {
            self.gather(start, into)
        };
        read.map_err(|message| error(end, message))
    }
}
