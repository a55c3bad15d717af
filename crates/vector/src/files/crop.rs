//! Making a partial download of a big-ann file whole.

use super::format::FileFormat;
use super::raw::RawFile;
use super::writer::big_ann_header;
use super::{FileError, FileProblem};
use crate::MAX_DIM;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Turns the first bytes of a big-ann file into the crop of its first `rows` rows, in place, as the crops of the
/// big-ann benchmarks are made: whatever follows those rows is cut off, and the header says `rows`.
///
/// # Errors
/// The name tells no big-ann format, the header says fewer rows or an impossible dimension, the rows are not
/// all there (the file is then untouched), or writing fails.
pub fn crop_big_ann(path: impl AsRef<Path>, rows: u32) -> Result<(), FileError> {
    let path = path.as_ref();
    let error = |problem| FileError::new(path, problem);
    let format = FileFormat::of_path(path).filter(|format| format.is_big_ann());
    let Some((format, element)) = format.and_then(|format| Some((format, format.element_type()?))) else {
        return Err(error(FileProblem::UnknownSuffix { expected: ".fbin, .u8bin, .i8bin, .f16bin".into() }));
    };
    let raw = RawFile::open(path)?;
    raw.expect_kind(&format!(".{format}"), "two 32-bit words: rows and dimension")?;
    let (n, d) = raw.two_words()?;
    if !(1..=MAX_DIM).contains(&(d as usize)) {
        let (found, expected) = (d.to_string(), format!("1 to {MAX_DIM}"));
        return Err(error(FileProblem::Header {
            field: "the dimension",
            found,
            expected,
            looks: String::new(),
        }));
    }
    if rows > n {
        return Err(error(FileProblem::OutOfRange { start: 0, end: rows.into(), rows: n.into() }));
    }
    let expected = 8 + u64::from(rows) * u64::from(d) * element.size() as u64;
    if raw.len < expected {
        let (content, found, looks) = (format!("{rows} rows × {d} {element}"), raw.len, String::new());
        return Err(error(FileProblem::Truncated { content, expected, found, looks }));
    }
    let cropped = OpenOptions::new().write(true).open(path).and_then(|file| {
        file.write_all_at(&big_ann_header(rows, d), 0)?;
        file.set_len(expected)?;
        file.sync_all()
    });
    cropped.map_err(|e| FileError::io(path, "cropping", e))
}
