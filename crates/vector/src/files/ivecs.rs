//! TEXMEX `.ivecs` files: rows of ids, as ground truth is published with SIFT1M and its like.

use super::open::texmex_shape;
use super::raw::RawFile;
use super::{AtomicFile, FileError, FileProblem};
use std::path::Path;

/// Rows of ids.
#[derive(Debug)]
pub(crate) struct IdRows {
    pub rows: u64,
    /// Ids a row.
    pub width: usize,
    /// `rows · width` ids, row-major; -1 in the file (no id) is `u32::MAX` here.
    pub ids: Vec<u32>,
}

/// Reads a whole `.ivecs` file.
pub(crate) fn read_ivecs(raw: &RawFile) -> Result<IdRows, FileError> {
    let (width, rows) = texmex_shape(raw, "ivecs", size_of::<u32>())?;
    let mut words: Vec<u32> = raw.words(0, (raw.len / 4) as usize)?;
    for (row, start) in (0..rows).zip((0..words.len()).step_by(width + 1)) {
        let found = words[start];
        if found as usize != width {
            let (expected, looks) = (width as u32, String::new());
            return Err(raw.error(FileProblem::Ragged { row, found, expected, looks }));
        }
        words.copy_within(start + 1..start + 1 + width, row as usize * width);
    }
    words.truncate(rows as usize * width);
    Ok(IdRows { rows, width, ids: words })
}

/// Writes rows of `width` ids.
pub(crate) fn write_ivecs(path: &Path, ids: &[u32], width: usize) -> Result<(), FileError> {
    if ids.is_empty() {
        let message = "an .ivecs file without rows cannot tell its width; write the big-ann form".into();
        return Err(FileError::new(path, FileProblem::Unsupported(message)));
    }
    let mut out = AtomicFile::create(path)?;
    for row in ids.chunks_exact(width) {
        out.write(&(width as u32).to_le_bytes())?;
        out.write(bytemuck::cast_slice(row))?;
    }
    out.commit(&[])
}
