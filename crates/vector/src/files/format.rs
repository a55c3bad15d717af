//! The vector file formats and the suffixes they go by.

use crate::ElementType;
use std::path::Path;

// Elements are read and written as they lie in memory; every format here is little-endian.
#[cfg(target_endian = "big")]
compile_error!("vector files are little-endian; big-endian machines are not supported");

/// A vector file format.
///
/// | family | layout |
/// | --- | --- |
/// | big-ann (`.fbin`, `.u8bin`, `.i8bin`, `.f16bin`) | `u32 n`, `u32 d`, then `n · d` elements |
/// | TEXMEX (`.fvecs`, `.bvecs`) | each row: `i32 d`, then `d` elements |
/// | NumPy (`.npy`) | text header with type and shape, then `n · d` elements in C order |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// big-ann, f32.
    Fbin,
    /// big-ann, u8.
    U8bin,
    /// big-ann, i8.
    I8bin,
    /// big-ann, f16.
    F16bin,
    /// TEXMEX, f32.
    Fvecs,
    /// TEXMEX, u8.
    Bvecs,
    /// NumPy, any element type.
    Npy,
}

impl FileFormat {
    /// Every format.
    pub const ALL: [FileFormat; 7] = [
        FileFormat::Fbin,
        FileFormat::U8bin,
        FileFormat::I8bin,
        FileFormat::F16bin,
        FileFormat::Fvecs,
        FileFormat::Bvecs,
        FileFormat::Npy,
    ];

    /// The file name suffix, without the dot.
    pub const fn suffix(self) -> &'static str {
        match self {
            FileFormat::Fbin => "fbin",
            FileFormat::U8bin => "u8bin",
            FileFormat::I8bin => "i8bin",
            FileFormat::F16bin => "f16bin",
            FileFormat::Fvecs => "fvecs",
            FileFormat::Bvecs => "bvecs",
            FileFormat::Npy => "npy",
        }
    }

    /// The format a file name tells, also where the name carries big-ann's `.crop_nb_N` behind the suffix.
    pub fn of_path(path: &Path) -> Option<FileFormat> {
        let suffix = suffix_of(path)?;
        FileFormat::ALL.into_iter().find(|format| format.suffix() == suffix)
    }

    /// The element type of the format; `None` for NumPy files, which name theirs inside.
    pub const fn element_type(self) -> Option<ElementType> {
        match self {
            FileFormat::Fbin | FileFormat::Fvecs => Some(ElementType::F32),
            FileFormat::U8bin | FileFormat::Bvecs => Some(ElementType::U8),
            FileFormat::I8bin => Some(ElementType::I8),
            FileFormat::F16bin => Some(ElementType::F16),
            FileFormat::Npy => None,
        }
    }

    /// The big-ann format of an element type: what this project writes unless told otherwise.
    pub const fn big_ann(element: ElementType) -> FileFormat {
        match element {
            ElementType::F32 => FileFormat::Fbin,
            ElementType::F16 => FileFormat::F16bin,
            ElementType::U8 => FileFormat::U8bin,
            ElementType::I8 => FileFormat::I8bin,
        }
    }

    /// Whether the format is of the big-ann family.
    pub const fn is_big_ann(self) -> bool {
        matches!(self, FileFormat::Fbin | FileFormat::U8bin | FileFormat::I8bin | FileFormat::F16bin)
    }

    pub(super) fn suffixes() -> String {
        FileFormat::ALL.map(|format| format!(".{}", format.suffix())).join(", ")
    }
}

impl std::fmt::Display for FileFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.suffix())
    }
}

/// The suffix that tells the kind of a data file, in lower case: `u8bin` of `base.1B.u8bin.crop_nb_10000000`.
pub(crate) fn suffix_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = match name.rsplit_once(".crop_nb_") {
        Some((stem, count)) if count.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    };
    name.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase())
}

/// Where the rows of a file lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowLayout {
    /// Byte offset of the first element of row 0.
    pub start: u64,
    /// Bytes from a row to the next.
    pub stride: u64,
    /// Number of rows.
    pub rows: u64,
    /// Elements a row, 1 to [`MAX_DIM`](crate::MAX_DIM).
    pub dim: usize,
    /// Element type.
    pub element: ElementType,
}

impl RowLayout {
    /// Bytes of the elements of a row.
    pub(super) fn row_bytes(&self) -> usize {
        self.dim * self.element.size()
    }

    /// Whether rows lie side by side, without a length word between them.
    pub(super) fn is_dense(&self) -> bool {
        self.stride == self.row_bytes() as u64
    }

    /// Byte offset of the first element of `row`, which exists (or is one past the last).
    pub(super) fn offset(&self, row: u64) -> u64 {
        self.start + row * self.stride
    }

    /// The layout of `rows` rows from `start` on; the caller has checked the range.
    pub(super) fn window(&self, start: u64, rows: u64) -> RowLayout {
        RowLayout { start: self.offset(start), rows, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        let of = |name: &str| FileFormat::of_path(Path::new(name));
        assert_eq!(of("/data/base.1B.u8bin"), Some(FileFormat::U8bin));
        assert_eq!(of("base.1B.u8bin.crop_nb_10000000"), Some(FileFormat::U8bin));
        assert_eq!(of("a.FVECS"), Some(FileFormat::Fvecs));
        assert_eq!(of("fbin"), None);
        assert_eq!(of("a.bin"), None);
        assert_eq!(of("a.fbin.crop_nb_x"), None);
    }

    #[test]
    fn offsets_pass_four_gib() {
        let layout = RowLayout { start: 8, stride: 8, rows: 600_000_000, dim: 8, element: ElementType::U8 };
        assert_eq!(layout.offset((1 << 31) + 1), 8 + 8 * ((1u64 << 31) + 1));
        assert_eq!(layout.window(599_999_999, 1).start, 4_800_000_000);
        let wide =
            RowLayout { start: 8, stride: 4096 * 4, rows: 34_400_000, dim: 4096, element: ElementType::F32 };
        assert_eq!(wide.offset(wide.rows), 8 + 563_609_600_000);
    }
}
