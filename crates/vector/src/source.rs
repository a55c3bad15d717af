//! Where rows come from when they do not all fit in memory.

use crate::{Element, Matrix};

/// Reading rows failed.
#[derive(Debug, thiserror::Error)]
#[error("reading rows {start}..{end} of {name}: {message}")]
pub struct SourceError {
    /// The file or thing that was read.
    pub name: String,
    /// First row of the failed request.
    pub start: u64,
    /// One past the last row of the failed request.
    pub end: u64,
    /// What went wrong.
    pub message: String,
}

/// Rows of one element type and dimension that can be read in ranges, from several threads at once.
pub trait RowSource<T: Element>: Sync {
    /// Number of rows.
    fn rows(&self) -> u64;

    /// Elements a row.
    fn dim(&self) -> usize;

    /// Reads the rows `start .. start + into.len() / dim` into `into`, row-major.
    ///
    /// # Errors
    /// The medium failed, or the range lies outside the source.
    ///
    /// # Panics
    /// If `into` is not a whole number of rows.
    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), SourceError>;
}

impl<T: Element> RowSource<T> for Matrix<T> {
    fn rows(&self) -> u64 {
        Matrix::rows(self) as u64
    }

    fn dim(&self) -> usize {
        Matrix::dim(self)
    }

    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), SourceError> {
        assert_eq!(into.len() % self.dim(), 0, "not a whole number of rows");
        let end = start + (into.len() / self.dim()) as u64;
        if end > Matrix::rows(self) as u64 {
            return Err(SourceError {
                name: "matrix".into(),
                start,
                end,
                message: format!("there are {} rows", Matrix::rows(self)),
            });
        }
        let first = start as usize * self.dim();
        into.copy_from_slice(&self.as_slice()[first..first + into.len()]);
        Ok(())
    }
}
