//! Opening a vector file: header against length first, rows afterwards.

use super::format::{FileFormat, RowLayout};
use super::raw::RawFile;
use super::{FileError, FileProblem, FileRows, MappedRows, VectorWriter, npy, probe};
use crate::MAX_DIM;
use crate::{Element, ElementType, Matrix, RowSource};
use half::f16;
use std::path::Path;
use std::sync::Arc;

/// Bytes that [`VectorFile::copy_to`] holds at a time.
const COPY_BYTES: usize = 4 << 20;

/// A vector file whose header agrees with its length, or a range of its rows.
///
/// Nothing but the header (and single words of the TEXMEX formats) has been read. The file must not be changed
/// while it is open.
#[derive(Debug, Clone)]
pub struct VectorFile {
    raw: Arc<RawFile>,
    format: FileFormat,
    layout: RowLayout,
}

impl VectorFile {
    /// Opens a file in the format that its name tells (see [`FileFormat::of_path`]).
    ///
    /// # Errors
    /// The name tells no format, the file cannot be read, or its header and its length disagree; the message
    /// says what else the file looks like.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let Some(format) = FileFormat::of_path(path) else {
            return Err(match suffix_of_other_kind(path) {
                Some(message) => FileError::new(path, FileProblem::Unsupported(message.into())),
                None => FileError::new(path, FileProblem::UnknownSuffix { expected: FileFormat::suffixes() }),
            });
        };
        Self::open_as(path, format)
    }

    /// Opens a file in a given format, whatever its name.
    ///
    /// # Errors
    /// As [`VectorFile::open`].
    pub fn open_as(path: impl AsRef<Path>, format: FileFormat) -> Result<Self, FileError> {
        let raw = RawFile::open(path.as_ref())?;
        let layout = match (format, format.element_type()) {
            (FileFormat::Fvecs | FileFormat::Bvecs, Some(element)) => {
                texmex_layout(&raw, format.suffix(), element)?
            }
            (_, Some(element)) => big_ann_layout(&raw, format, element)?,
            (_, None) => npy::layout(&raw)?,
        };
        Ok(Self { raw: Arc::new(raw), format, layout })
    }

    /// Type of the elements.
    pub fn element_type(&self) -> ElementType {
        self.layout.element
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.layout.rows
    }

    /// Elements a row, 1 to [`MAX_DIM`].
    pub fn dim(&self) -> usize {
        self.layout.dim
    }

    /// Format of the file.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.raw.path
    }

    /// A view of `rows` rows from row `start` on.
    ///
    /// # Errors
    /// The file has fewer rows.
    pub fn slice(&self, start: u64, rows: u64) -> Result<Self, FileError> {
        let end = start.saturating_add(rows);
        if end > self.layout.rows {
            return Err(self.raw.error(FileProblem::OutOfRange { start, end, rows: self.layout.rows }));
        }
        Ok(Self { layout: self.layout.window(start, rows), ..self.clone() })
    }

    /// The rows, to be read with `pread`: memory holds what the caller asks for and no more.
    ///
    /// # Errors
    /// The file holds another element type.
    pub fn source<T: Element>(&self) -> Result<FileRows<T>, FileError> {
        self.expect_type::<T>()?;
        Ok(FileRows::new(self.raw.clone(), self.layout))
    }

    /// The rows, memory-mapped. The length words of a TEXMEX file are all checked here, which reads the file.
    ///
    /// # Errors
    /// The file holds another element type, its elements are misaligned (only `.npy` files with odd headers
    /// are), a row has another length than the first, or the system refuses the map.
    pub fn map<T: Element>(&self) -> Result<MappedRows<T>, FileError> {
        self.expect_type::<T>()?;
        MappedRows::new(&self.raw, self.layout)
    }

    /// The rows, read into memory.
    ///
    /// # Errors
    /// The file holds another element type, cannot be read, or is larger than the address space.
    pub fn read_all<T: Element>(&self) -> Result<Matrix<T>, FileError> {
        let source = self.source::<T>()?;
        let (found, limit) = (self.layout.rows, (isize::MAX as usize / self.layout.row_bytes()) as u64);
        if found > limit {
            return Err(self.raw.error(FileProblem::TooLarge { what: "the number of rows", found, limit }));
        }
        let mut matrix = Matrix::zeroed(found as usize, self.layout.dim);
        match source.read_rows(0, matrix.as_mut_slice()) {
            Ok(()) => Ok(matrix),
            Err(error) => Err(self.raw.error(error.into())),
        }
    }

    /// Writes the rows to a new file of any format that holds their element type: a conversion, or, of a
    /// [`VectorFile::slice`], a crop.
    ///
    /// # Errors
    /// Reading or writing fails, or the format has no room for the rows or their type.
    pub fn copy_to(&self, path: impl AsRef<Path>, format: FileFormat) -> Result<(), FileError> {
        match self.layout.element {
            ElementType::F32 => self.copy_as::<f32>(path.as_ref(), format),
            ElementType::F16 => self.copy_as::<f16>(path.as_ref(), format),
            ElementType::U8 => self.copy_as::<u8>(path.as_ref(), format),
            ElementType::I8 => self.copy_as::<i8>(path.as_ref(), format),
        }
    }

    fn copy_as<T: Element>(&self, path: &Path, format: FileFormat) -> Result<(), FileError> {
        let source = self.source::<T>()?;
        let mut writer = VectorWriter::<T>::create(path, format, self.dim())?;
        let batch = (COPY_BYTES / self.layout.row_bytes()).max(1) as u64;
        let mut rows = vec![T::zeroed(); batch.min(self.rows()) as usize * self.dim()];
        let mut start = 0;
        while start < self.rows() {
            let count = batch.min(self.rows() - start);
            let rows = &mut rows[..count as usize * self.dim()];
            source.read_rows(start, rows).map_err(|error| self.raw.error(error.into()))?;
            writer.push_rows(rows)?;
            start += count;
        }
        writer.finish().map(drop)
    }

    fn expect_type<T: Element>(&self) -> Result<(), FileError> {
        let (asked, found) = (T::TYPE, self.layout.element);
        if asked == found { Ok(()) } else { Err(self.raw.error(FileProblem::WrongElement { asked, found })) }
    }
}

/// What to say of a name that tells of another kind of data.
fn suffix_of_other_kind(path: &Path) -> Option<&'static str> {
    match super::suffix_of(path)?.as_str() {
        "ivecs" => Some(".ivecs files hold ids, not vectors; they are read as ground truth"),
        "ibin" => Some(".ibin files hold 32-bit integers, not vectors; ids are read as ground truth"),
        "u64bin" => Some(".u64bin files hold keys, not vectors"),
        "hdf5" | "h5" => Some("HDF5 files cannot be read; convert the file to .fbin or .npy first"),
        "gz" | "zst" | "xz" | "zip" | "npz" => Some("archives cannot be read; unpack the file first"),
        _ => None,
    }
}

fn big_ann_layout(raw: &RawFile, format: FileFormat, element: ElementType) -> Result<RowLayout, FileError> {
    raw.expect_kind(&format!(".{format}"), "two 32-bit words: rows and dimension")?;
    let (n, d) = raw.two_words()?;
    let (rows, dim) = (u64::from(n), checked_dim(raw, d.into())?);
    let stride = (dim * element.size()) as u64;
    // At most 2³² rows of 32 KiB: no overflow.
    let expected = 8 + rows * stride;
    raw.expect_len(expected, format!("the header and {rows} rows × {dim} {element}"))?;
    let looks_at = &raw.head[8..];
    if element == ElementType::F32 && probe::words_are_ids(looks_at) {
        let (expected, looks) =
            (format!(".{format}"), "a file of 32-bit ids: ground truth or .ibin".to_owned());
        return Err(raw.error(FileProblem::WrongKind { expected, looks }));
    }
    Ok(RowLayout { start: 8, stride, rows, dim, element })
}

fn texmex_layout(raw: &RawFile, suffix: &str, element: ElementType) -> Result<RowLayout, FileError> {
    let (dim, rows) = texmex_shape(raw, suffix, element.size())?;
    Ok(RowLayout { start: 4, stride: (4 + dim * element.size()) as u64, rows, dim, element })
}

/// Dimension and number of rows of a TEXMEX file, by its first length word, its length and its last row.
pub(super) fn texmex_shape(raw: &RawFile, suffix: &str, size: usize) -> Result<(usize, u64), FileError> {
    raw.expect_kind(&format!(".{suffix}"), "the length of its first row; one without rows cannot be told")?;
    if raw.len < 4 {
        let (content, looks) = ("the length of the first row".into(), String::new());
        return Err(raw.error(FileProblem::Truncated { content, expected: 4, found: raw.len, looks }));
    }
    let first = raw.word(0);
    let dim = checked_dim(raw, first.into())?;
    let stride = 4 + (dim * size) as u64;
    let rows = raw.len.div_ceil(stride);
    raw.expect_len(rows * stride, format!("{rows} rows of {dim} elements, {stride} bytes each,"))?;
    match probe::last_row_length(raw, stride) {
        Some(found) if found != first => {
            let looks = raw.looks();
            Err(raw.error(FileProblem::Ragged { row: rows - 1, found, expected: first, looks }))
        }
        _ => Ok((dim, rows)),
    }
}

/// A dimension from a header, checked.
pub(super) fn checked_dim(raw: &RawFile, found: u64) -> Result<usize, FileError> {
    if (1..=MAX_DIM as u64).contains(&found) {
        return Ok(found as usize);
    }
    let (found, expected, looks) = (found.to_string(), format!("1 to {MAX_DIM}"), raw.looks());
    Err(raw.error(FileProblem::Header { field: "the dimension", found, expected, looks }))
}
