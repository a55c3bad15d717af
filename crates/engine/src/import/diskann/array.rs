//! The array file of the family (`u32 rows, u32 columns`, then the values), alone or at an offset inside another file.

use super::super::ImportError;
use bytemuck::Pod;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// An open file whose parts are arrays.
#[derive(Debug)]
pub(crate) struct ArrayFile {
    file: File,
    pub path: PathBuf,
    pub length: u64,
}

/// Where an array lies in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub rows: u32,
    pub columns: u32,
    /// Where the values begin.
    pub offset: u64,
}

impl ArrayFile {
    pub(crate) fn open(path: &Path) -> Result<Self, ImportError> {
        let file = File::open(path).map_err(ImportError::io("opening", path))?;
        let length = file.metadata().map_err(ImportError::io("asking the length of", path))?.len();
        Ok(Self { file, path: path.to_owned(), length })
    }

    /// The shape of the array at `offset`, which has values of `size` bytes and lies within the file.
    pub(crate) fn shape(&self, offset: u64, size: usize) -> Result<Shape, ImportError> {
        let mut words = [0u32; 2];
        self.read(offset, &mut words)?;
        let [rows, columns] = words.map(u32::from_le);
        // At most 2³² · 2³² · 16: within u128.
        let end = u128::from(offset) + 8 + u128::from(rows) * u128::from(columns) * size as u128;
        if end > self.length.into() {
            let found = format!("{rows} × {columns} values of {size} bytes at byte {offset}");
            let expected = format!("an array within the {} bytes of the file", self.length);
            return Err(ImportError::field(&self.path, "the size of an array", found, expected));
        }
        Ok(Shape { rows, columns, offset: offset + 8 })
    }

    /// Refuses a file that goes on after the array.
    pub(crate) fn expect_end(&self, shape: Shape, size: usize) -> Result<(), ImportError> {
        let expected = shape.offset + u64::from(shape.rows) * u64::from(shape.columns) * size as u64;
        if self.length == expected {
            return Ok(());
        }
        let expected = format!("{expected} for {} × {} values", shape.rows, shape.columns);
        Err(ImportError::field(&self.path, "the length in bytes", self.length, expected))
    }

    /// All values of an array.
    pub(crate) fn values<T: Pod>(&self, shape: Shape) -> Result<Vec<T>, ImportError> {
        let count = shape.rows as usize * shape.columns as usize;
        let mut values = vec![T::zeroed(); count];
        self.read(shape.offset, &mut values)?;
        Ok(values)
    }

    /// Reads values at `offset`.
    pub(crate) fn read<T: Pod>(&self, offset: u64, into: &mut [T]) -> Result<(), ImportError> {
        const { assert!(cfg!(target_endian = "little"), "values are read as they lie in the file") };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(into);
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.length) {
            let expected = format!("at least {} more from byte {offset} on", bytes.len());
            return Err(ImportError::field(&self.path, "the length in bytes", self.length, expected));
        }
        self.file.read_exact_at(bytes, offset).map_err(ImportError::io("reading", &self.path))
    }
}
