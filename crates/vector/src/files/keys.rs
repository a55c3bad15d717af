//! Key files: the u64 name of every row. `.u64bin` is `u32 n`, `u32 1`, `n` little-endian u64; any other name is
//! plain text, one decimal key a line.

use super::raw::RawFile;
use super::{AtomicFile, FileError, FileProblem, suffix_of};
use crate::Key;
use rayon::slice::ParallelSliceMut;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Digits of the largest key; longer lines are no keys.
const MAX_DIGITS: usize = 20;

/// Reads the keys of `expected_rows` rows.
///
/// # Errors
/// The file cannot be read, is no key file, has another number of keys, or has a key twice.
pub fn read_keys(path: impl AsRef<Path>, expected_rows: u64) -> Result<Vec<Key>, FileError> {
    let path = path.as_ref();
    let raw = RawFile::open(path)?;
    let is_binary = suffix_of(path).is_some_and(|suffix| suffix == "u64bin");
    let keys = if is_binary { read_binary(&raw, expected_rows)? } else { read_text(&raw, expected_rows)? };
    check_unique(path, &keys)?;
    Ok(keys)
}

/// Writes a `.u64bin` file.
///
/// # Errors
/// There are more keys than the header can count, or writing fails.
pub fn write_keys(path: impl AsRef<Path>, keys: &[Key]) -> Result<(), FileError> {
    let path = path.as_ref();
    let (found, limit) = (keys.len() as u64, u64::from(u32::MAX));
    if found > limit {
        return Err(FileError::new(path, FileProblem::TooLarge { what: "the number of keys", found, limit }));
    }
    let mut out = AtomicFile::create(path)?;
    out.write(&super::writer::big_ann_header(found as u32, 1))?;
    out.write(bytemuck::cast_slice(keys))?;
    out.commit(&[])
}

fn read_binary(raw: &RawFile, expected_rows: u64) -> Result<Vec<Key>, FileError> {
    raw.expect_kind(".u64bin", "two 32-bit words: the number of keys and 1")?;
    let (n, one) = raw.two_words()?;
    if one != 1 {
        let (found, expected, looks) = (one.to_string(), "1".into(), raw.looks());
        return Err(raw.error(FileProblem::Header {
            field: "the second header word",
            found,
            expected,
            looks,
        }));
    }
    raw.expect_len(8 + u64::from(n) * 8, format!("the header and {n} keys"))?;
    check_count(raw, n.into(), expected_rows)?;
    raw.words(8, n as usize)
}

fn read_text(raw: &RawFile, expected_rows: u64) -> Result<Vec<Key>, FileError> {
    if raw.len > 0 {
        raw.expect_kind("key (text, one key a line)", "a key")?;
    }
    let io = |e| FileError::io(&raw.path, "reading", e);
    let mut text = BufReader::new(File::open(&raw.path).map_err(io)?);
    let (mut keys, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        // A file without line ends must not be swallowed whole.
        let limit = MAX_DIGITS as u64 + 16;
        if text.by_ref().take(limit).read_until(b'\n', &mut line).map_err(io)? == 0 {
            break;
        }
        let number = keys.len() as u64 + 1;
        let key = parse_key(&line).ok_or_else(|| bad_line(raw, number, &line))?;
        if number > expected_rows {
            break check_count(raw, count_lines(text, number).map_err(io)?, expected_rows)?;
        }
        keys.push(key);
    }
    check_count(raw, keys.len() as u64, expected_rows)?;
    Ok(keys)
}

/// Lines in all, `seen` of which have been read.
fn count_lines(mut text: impl BufRead, seen: u64) -> std::io::Result<u64> {
    let (mut lines, mut open) = (seen, false);
    loop {
        let buffer = text.fill_buf()?;
        let Some(last) = buffer.last() else { return Ok(lines + u64::from(open)) };
        open = *last != b'\n';
        lines += buffer.iter().filter(|byte| **byte == b'\n').count() as u64;
        let bytes = buffer.len();
        text.consume(bytes);
    }
}

fn parse_key(line: &[u8]) -> Option<Key> {
    let digits = line.trim_ascii();
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn bad_line(raw: &RawFile, number: u64, line: &[u8]) -> FileError {
    let found = String::from_utf8_lossy(line.trim_ascii()).escape_debug().to_string();
    let message = format!("`{found}` is no key; expected one decimal number of 0 to {} a line", u64::MAX);
    raw.error(FileProblem::Content { place: format!("line {number}"), message })
}

fn check_count(raw: &RawFile, found: u64, expected: u64) -> Result<(), FileError> {
    if found == expected {
        return Ok(());
    }
    Err(raw.error(FileProblem::WrongCount { what: "keys", found, expected }))
}

/// Refuses a key that stands twice; of several, the smallest is named.
fn check_unique(path: &Path, keys: &[Key]) -> Result<(), FileError> {
    if keys.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let mut sorted = keys.to_vec();
    sorted.par_sort_unstable();
    let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) else { return Ok(()) };
    let mut rows = (0u64..).zip(keys).filter(|(_, key)| **key == pair[0]).map(|(row, _)| row);
    let (first, second) = (rows.next().unwrap_or(0), rows.next().unwrap_or(0));
    Err(FileError::new(path, FileProblem::DuplicateKey { key: pair[0], first, second }))
}
