//! Writing vector files as a stream of rows.

use super::format::FileFormat;
use super::{AtomicFile, FileError, FileProblem, npy};
use crate::Element;
use crate::MAX_DIM;
use std::marker::PhantomData;
use std::path::Path;

/// A vector file in the making. It is `<path>.tmp` until [`VectorWriter::finish`]; dropped before, it is removed.
#[derive(Debug)]
pub struct VectorWriter<T: Element> {
    out: AtomicFile,
    format: FileFormat,
    dim: usize,
    rows: u64,
    element: PhantomData<T>,
}

impl<T: Element> VectorWriter<T> {
    /// Starts a file of rows of `dim` elements, to replace whatever is at `path`.
    ///
    /// # Errors
    /// The format does not hold this element type, `dim` is not 1 to [`MAX_DIM`], or the file cannot be created.
    pub fn create(path: impl AsRef<Path>, format: FileFormat, dim: usize) -> Result<Self, FileError> {
        let path = path.as_ref();
        if let Some(other) = format.element_type().filter(|element| *element != T::TYPE) {
            let (wanted, own) = (T::TYPE, FileFormat::big_ann(T::TYPE));
            let message = format!(".{format} files hold {other}, not {wanted}; write .{own} or .npy");
            return Err(FileError::new(path, FileProblem::Unsupported(message)));
        }
        if !(1..=MAX_DIM).contains(&dim) {
            let (found, expected) = (dim.to_string(), format!("1 to {MAX_DIM}"));
            let problem =
                FileProblem::Header { field: "the dimension", found, expected, looks: String::new() };
            return Err(FileError::new(path, problem));
        }
        let mut writer = Self { out: AtomicFile::create(path)?, format, dim, rows: 0, element: PhantomData };
        let placeholder = writer.header();
        writer.out.write(&placeholder)?;
        Ok(writer)
    }

    /// Appends row-major rows.
    ///
    /// # Errors
    /// The format has no room for more rows, or writing fails.
    ///
    /// # Panics
    /// If `rows` is not a whole number of rows.
    pub fn push_rows(&mut self, rows: &[T]) -> Result<(), FileError> {
        assert!(rows.len().is_multiple_of(self.dim), "not a whole number of rows");
        let count = self.rows + (rows.len() / self.dim) as u64;
        check_rows(self.out.path(), self.format, count)?;
        if matches!(self.format, FileFormat::Fvecs | FileFormat::Bvecs) {
            for row in rows.chunks_exact(self.dim) {
                self.out.write(&(self.dim as u32).to_le_bytes())?;
                self.out.write(bytemuck::cast_slice(row))?;
            }
        } else {
            self.out.write(bytemuck::cast_slice(rows))?;
        }
        self.rows = count;
        Ok(())
    }

    /// Completes the header, makes the file durable and gives it its name. Returns the number of rows.
    ///
    /// # Errors
    /// Writing fails, or a TEXMEX file would have no rows: it could not tell its dimension.
    pub fn finish(self) -> Result<u64, FileError> {
        if self.rows == 0 && matches!(self.format, FileFormat::Fvecs | FileFormat::Bvecs) {
            let message =
                format!("a .{} file without rows cannot tell its dimension; write .npy", self.format);
            return Err(FileError::new(self.out.path(), FileProblem::Unsupported(message)));
        }
        let header = self.header();
        self.out.commit(&header)?;
        Ok(self.rows)
    }

    /// The header for the rows so far.
    fn header(&self) -> Vec<u8> {
        match self.format {
            FileFormat::Fvecs | FileFormat::Bvecs => Vec::new(),
            FileFormat::Npy => npy::header(T::TYPE, self.rows, self.dim).to_vec(),
            _ => big_ann_header(self.rows as u32, self.dim as u32).to_vec(),
        }
    }
}

/// Refuses more rows than a header can count.
fn check_rows(path: &Path, format: FileFormat, found: u64) -> Result<(), FileError> {
    let limit = if format.is_big_ann() { u64::from(u32::MAX) } else { u64::MAX };
    if found <= limit {
        return Ok(());
    }
    let what = "the number of rows (write .npy for more)";
    Err(FileError::new(path, FileProblem::TooLarge { what, found, limit }))
}

/// The two words a big-ann file starts with.
pub(super) fn big_ann_header(rows: u32, dim: u32) -> [u8; 8] {
    bytemuck::cast([rows.to_le(), dim.to_le()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_limits_are_those_of_the_header() {
        let path = Path::new("x");
        assert!(check_rows(path, FileFormat::U8bin, u64::from(u32::MAX)).is_ok());
        let error = check_rows(path, FileFormat::U8bin, 1 << 32).unwrap_err().to_string();
        assert!(error.contains("4294967296") && error.contains("4294967295"), "{error}");
        assert!(check_rows(path, FileFormat::Npy, 1 << 40).is_ok());
        assert!(check_rows(path, FileFormat::Bvecs, 1 << 40).is_ok());
    }
}
