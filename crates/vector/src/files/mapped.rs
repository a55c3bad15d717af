//! Rows of a vector file, memory-mapped.

use super::format::RowLayout;
use super::raw::RawFile;
use super::rows::{check_length_word, check_range};
use super::{FileError, FileProblem};
use crate::{Element, RowSource, SourceError};
use memmap2::{Mmap, MmapOptions};
use std::marker::PhantomData;

/// Rows of a file as slices into a memory map. The file must not be changed or cut while it is mapped: the
/// system then delivers other rows, or a signal that ends the process.
#[derive(Debug)]
pub struct MappedRows<T: Element> {
    /// The bytes of the rows, from the first element of the first; `None` where there are no rows.
    map: Option<Mmap>,
    layout: RowLayout,
    name: String,
    element: PhantomData<T>,
}

impl<T: Element> MappedRows<T> {
    pub(super) fn new(raw: &RawFile, layout: RowLayout) -> Result<Self, FileError> {
        let size = layout.element.size() as u64;
        if !layout.start.is_multiple_of(size) || !layout.stride.is_multiple_of(size) {
            let (element, offset) = (layout.element, layout.start);
            return Err(raw.error(FileProblem::Misaligned { element, offset }));
        }
        let name = raw.path.display().to_string();
        let mut mapped = Self { map: None, layout, name, element: PhantomData };
        if layout.rows > 0 {
            let bytes = (layout.rows - 1) * layout.stride + layout.row_bytes() as u64;
            mapped.map = Some(map_range(raw, layout.start, bytes)?);
            check_length_words(raw, &layout)?;
        }
        Ok(mapped)
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.layout.rows
    }

    /// Elements a row.
    pub fn dim(&self) -> usize {
        self.layout.dim
    }

    /// Row `index`.
    ///
    /// # Panics
    /// If `index` is not below [`MappedRows::rows`].
    #[inline]
    pub fn row(&self, index: u64) -> &[T] {
        assert!(index < self.layout.rows, "row {index} of {}", self.layout.rows);
        let map = self.map.as_deref().expect("a file with rows is mapped");
        let at = (index * self.layout.stride) as usize;
        bytemuck::cast_slice(&map[at..at + self.layout.row_bytes()])
    }
}

/// Maps `bytes` bytes of the file from `start` on.
fn map_range(raw: &RawFile, start: u64, bytes: u64) -> Result<Mmap, FileError> {
    let limit = isize::MAX as u64;
    if bytes > limit {
        let what = "the number of bytes to map";
        return Err(raw.error(FileProblem::TooLarge { what, found: bytes, limit }));
    }
    let mut options = MmapOptions::new();
    options.offset(start).len(bytes as usize);
    // SAFETY: the map is read-only; that nobody changes the file meanwhile is the documented duty of the caller.
    unsafe { options.map(&raw.file) }.map_err(|e| FileError::io(&raw.path, "memory-mapping", e))
}

/// Checks the length word of every row, where rows have one: `row` could not report it.
fn check_length_words(raw: &RawFile, layout: &RowLayout) -> Result<(), FileError> {
    if layout.is_dense() {
        return Ok(());
    }
    let map = map_range(raw, layout.start - 4, layout.rows * layout.stride)?;
    for (row, stored) in map.chunks_exact(layout.stride as usize).enumerate() {
        if check_length_word(&stored[..4], row as u64, layout.dim).is_err() {
            let found = u32::from_le_bytes(stored[..4].try_into().expect("four bytes"));
            let (row, expected, looks) = (row as u64, layout.dim as u32, String::new());
            return Err(raw.error(FileProblem::Ragged { row, found, expected, looks }));
        }
    }
    Ok(())
}

impl<T: Element> RowSource<T> for MappedRows<T> {
    fn rows(&self) -> u64 {
        self.layout.rows
    }

    fn dim(&self) -> usize {
        self.layout.dim
    }

    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), SourceError> {
        if let Err((end, message)) = check_range(&self.layout, start, into.len()) {
            return Err(SourceError { name: self.name.clone(), start, end, message });
        }
        for (index, row) in (start..).zip(into.chunks_exact_mut(self.layout.dim)) {
            row.copy_from_slice(self.row(index));
        }
        Ok(())
    }
}
