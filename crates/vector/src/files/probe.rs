//! What a file looks like when it is not what its name says.

use super::raw::RawFile;
use crate::MAX_DIM;
use std::os::unix::fs::FileExt;

/// First bytes that betray a kind of file.
const MAGICS: [(&[u8], &str); 13] = [
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (convert it first)"),
    (b"\x93NUMPY", "a NumPy .npy file"),
    (b"\x1f\x8b", "a gzip archive (unpack it first)"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive (unpack it first)"),
    (b"\xfd7zXZ\x00", "an xz archive (unpack it first)"),
    (b"BZh", "a bzip2 archive (unpack it first)"),
    (b"PK\x03\x04", "a zip or .npz archive (unpack it first)"),
    (b"PAR1", "a Parquet file (convert it first)"),
    (b"<!DOCTYPE", "a web page (was the download an error page?)"),
    (b"<html", "a web page (was the download an error page?)"),
    (b"<?xml", "an XML text (was the download an error page?)"),
    (b"version https://git-lfs", "a Git LFS pointer (fetch the real file)"),
    (b"ARROW1", "an Arrow file (convert it first)"),
];

/// The kind of file that starts like this one, if its first bytes are known.
pub(super) fn magic(head: &[u8]) -> Option<&'static str> {
    let is_tar = head.get(257..262).is_some_and(|mark| mark == b"ustar");
    let known = MAGICS.iter().find(|(start, _)| head.starts_with(start)).map(|(_, kind)| *kind);
    known.or(is_tar.then_some("a tar archive (unpack it first)"))
}

/// Every kind of data file whose header agrees with the length of this one.
pub(super) fn kinds_by_length(raw: &RawFile) -> Vec<String> {
    let mut kinds = Vec::new();
    if let Some(kind) = magic(&raw.head) {
        kinds.push(kind.to_owned());
        return kinds;
    }
    if raw.len >= 8 {
        two_word_kinds(raw, &mut kinds);
        texmex_kinds(raw, &mut kinds);
    }
    if raw.len >= 24 {
        sparse_kind(raw, &mut kinds);
    }
    kinds
}

/// Files that start with two u32 words.
fn two_word_kinds(raw: &RawFile, kinds: &mut Vec<String>) {
    let (n, d) = (u128::from(raw.word(0)), u128::from(raw.word(4)));
    if n == 0 || d == 0 {
        return;
    }
    let body = u128::from(raw.len) - 8;
    let shape = format!("{n} × {d}");
    if (1..=MAX_DIM as u128).contains(&d) {
        for (size, names) in [(1, "a .u8bin or .i8bin"), (2, "an .f16bin"), (4, "an .fbin")] {
            if body == n * d * size {
                kinds.push(format!("{names} file of {shape}"));
            }
        }
        if body == n * d * 4 {
            kinds.push(format!("a ground-truth file without distances ({n} queries, k = {d})"));
        }
        if body == n * d * 8 {
            kinds.push(format!("a ground-truth file with distances ({n} queries, k = {d})"));
        }
    }
    if d == 1 && body == n * 8 {
        kinds.push(format!("a .u64bin key file of {n} keys"));
    }
    if body == n * 4 + d * 8 {
        kinds.push(format!("a range ground-truth file ({n} queries, {d} results)"));
    }
}

/// Files whose rows start with their length.
fn texmex_kinds(raw: &RawFile, kinds: &mut Vec<String>) {
    let d = raw.word(0);
    if d == 0 || d as usize > MAX_DIM {
        return;
    }
    for (size, names) in [(4, "an .fvecs or .ivecs"), (1, "a .bvecs")] {
        let stride = 4 + u64::from(d) * size;
        if raw.len.is_multiple_of(stride) && last_row_length(raw, stride) == Some(d) {
            kinds.push(format!("{names} file of {} × {d}", raw.len / stride));
        }
    }
}

/// The length word of the last row, where rows take `stride` bytes.
pub(super) fn last_row_length(raw: &RawFile, stride: u64) -> Option<u32> {
    let mut word = [0; 4];
    raw.file.read_exact_at(&mut word, raw.len.checked_sub(stride)?).ok()?;
    Some(u32::from_le_bytes(word))
}

/// big-ann's sparse rows: three i64 counts, row starts, indices and values.
fn sparse_kind(raw: &RawFile, kinds: &mut Vec<String>) {
    let count = |at: usize| u64::from(raw.word(at)) | u64::from(raw.word(at + 4)) << 32;
    let (rows, columns, values) = (count(0), count(8), count(16));
    let bytes = 24 + (u128::from(rows) + 1) * 8 + u128::from(values) * 8;
    if bytes == u128::from(raw.len) {
        kinds.push(format!("a sparse matrix (.csr, .spmat) of {rows} × {columns}"));
    }
}

/// Whether 32-bit words are small integers rather than floats: nearly all subnormal as f32. Vectors of such
/// floats would have squared distances of 0 throughout.
pub(super) fn words_are_ids(words: &[u8]) -> bool {
    let (words, _) = words.as_chunks::<4>();
    let subnormal = words.iter().filter(|w| f32::from_le_bytes(**w).is_subnormal()).count();
    words.len() >= 8 && subnormal * 10 >= words.len() * 9
}
