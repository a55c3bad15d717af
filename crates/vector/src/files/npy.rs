//! NumPy array files: the header, read and written.

use super::format::RowLayout;
use super::raw::RawFile;
use super::{FileError, FileProblem};
use crate::ElementType;
use std::os::unix::fs::FileExt;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers longer than this are not those of an array of numbers (NumPy itself refuses above 10 000).
const MAX_HEADER: u64 = 1 << 16;
/// Bytes of the header this module writes, whatever the shape, so that it can be filled in at the end.
pub(super) const WRITTEN_HEADER: usize = 128;

/// Reads and checks the header.
pub(super) fn layout(raw: &RawFile) -> Result<RowLayout, FileError> {
    if raw.len == 0 || !raw.head.starts_with(MAGIC) {
        let expected = "NumPy .npy".to_owned();
        raw.expect_kind(&expected, "the bytes \\x93NUMPY")?;
        let kinds = super::probe::kinds_by_length(raw);
        let looks = if kinds.is_empty() { "none that is known here".into() } else { kinds.join(" or ") };
        return Err(raw.error(FileProblem::WrongKind { expected, looks }));
    }
    let (start, text) = header_text(raw)?;
    let header = Parser { rest: &text }.header().map_err(|message| bad_header(raw, message))?;
    let element = element_type(&header.descr).map_err(|message| bad_header(raw, message))?;
    if header.fortran_order {
        let message = "the array is in Fortran (column-major) order; save it with numpy.ascontiguousarray";
        return Err(bad_header(raw, message.into()));
    }
    let [rows, dim] = header.shape[..] else {
        let message =
            format!("the array has {} dimension(s); expected 2: rows × elements", header.shape.len());
        return Err(bad_header(raw, message));
    };
    let dim = super::open::checked_dim(raw, dim)?;
    let stride = (dim * element.size()) as u64;
    let expected = rows.checked_mul(stride).and_then(|bytes| bytes.checked_add(start));
    let expected = expected.ok_or_else(|| bad_header(raw, format!("{rows} × {dim} elements overflow")))?;
    raw.expect_len(expected, format!("the header and {rows} rows × {dim} {element}"))?;
    Ok(RowLayout { start, stride, rows, dim, element })
}

fn bad_header(raw: &RawFile, message: String) -> FileError {
    raw.error(FileProblem::Content { place: "NumPy header".into(), message })
}

/// Byte offset of the elements, and the text of the header.
fn header_text(raw: &RawFile) -> Result<(u64, String), FileError> {
    let cut = |expected| {
        let (content, found, looks) = ("the NumPy header".into(), raw.len, String::new());
        raw.error(FileProblem::Truncated { content, expected, found, looks })
    };
    let version = *raw.head.get(6).ok_or_else(|| cut(12))?;
    let (at, bytes): (u64, u64) = match version {
        _ if raw.len < 12 => return Err(cut(12)),
        1 => (10, u64::from(raw.word(8) & 0xffff)),
        2 | 3 => (12, u64::from(raw.word(8))),
        other => return Err(bad_header(raw, format!("format version {other}; expected 1, 2 or 3"))),
    };
    if bytes > MAX_HEADER {
        return Err(bad_header(
            raw,
            format!("it says it is {bytes} bytes long; expected at most {MAX_HEADER}"),
        ));
    }
    if at + bytes > raw.len {
        return Err(cut(at + bytes));
    }
    let mut text = vec![0; bytes as usize];
    raw.file.read_exact_at(&mut text, at).map_err(|e| FileError::io(&raw.path, "reading its header", e))?;
    match String::from_utf8(text) {
        Ok(text) => Ok((at + bytes, text)),
        Err(_) => Err(bad_header(raw, "it is not text".into())),
    }
}

/// The element type of a NumPy type string.
fn element_type(descr: &str) -> Result<ElementType, String> {
    match descr {
        "<f4" => Ok(ElementType::F32),
        "<f2" => Ok(ElementType::F16),
        "|u1" | "<u1" | "u1" => Ok(ElementType::U8),
        "|i1" | "<i1" | "i1" => Ok(ElementType::I8),
        _ if descr.starts_with('>') => Err(format!(
            "elements are big-endian (`{descr}`); save it with array.astype(\"<{}\")",
            &descr[1..]
        )),
        _ => Err(format!(
            "element type is `{descr}`; expected <f4, <f2, |u1 or |i1 (save it with array.astype(\"<f4\"))"
        )),
    }
}

/// Header of a C-order array in format version 1, padded to [`WRITTEN_HEADER`] bytes.
pub(super) fn header(element: ElementType, rows: u64, dim: usize) -> [u8; WRITTEN_HEADER] {
    let descr = match element {
        ElementType::F32 => "<f4",
        ElementType::F16 => "<f2",
        ElementType::U8 => "|u1",
        ElementType::I8 => "|i1",
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {dim}), }}");
    let mut bytes = [b' '; WRITTEN_HEADER];
    bytes[..6].copy_from_slice(MAGIC);
    bytes[6..8].copy_from_slice(&[1, 0]);
    bytes[8..10].copy_from_slice(&(WRITTEN_HEADER as u16 - 10).to_le_bytes());
    bytes[10..10 + text.len()].copy_from_slice(text.as_bytes());
    bytes[WRITTEN_HEADER - 1] = b'\n';
    bytes
}

#[derive(Debug, Default, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// Reader of the one Python dictionary a header holds.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn header(&mut self) -> Result<Header, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.eat('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" if self.peek() == Some('[') => {
                    return Err("elements are structures; expected plain numbers".into());
                }
                "descr" => descr = Some(self.string()?.to_owned()),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                other => return Err(format!("unknown key `{other}`")),
            }
            if !self.eat(',') && self.peek() != Some('}') {
                return Err(format!("expected `,` or `}}` before `{}`", self.excerpt()));
            }
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Header { descr, fortran_order, shape }),
            _ => Err("it lacks one of `descr`, `fortran_order` and `shape`".into()),
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.eat(wanted) {
            Ok(())
        } else {
            Err(format!("expected `{wanted}` before `{}`", self.excerpt()))
        }
    }

    fn excerpt(&self) -> String {
        self.rest.trim().chars().take(20).collect()
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = self.peek().filter(|c| matches!(c, '\'' | '"'));
        let quote = quote.ok_or_else(|| format!("expected a string before `{}`", self.excerpt()))?;
        let (text, rest) = self.rest[1..].split_once(quote).ok_or("a string has no end")?;
        self.rest = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(format!("expected True or False before `{}`", self.excerpt()))
    }

    fn tuple(&mut self) -> Result<Vec<u64>, String> {
        let mut numbers = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            self.peek();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.rest.split_at(digits);
            numbers.push(number.parse().map_err(|_| format!("bad shape at `{}`", self.excerpt()))?);
            // Python 2 wrote long integers with an L.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.eat(',') && self.peek() != Some(')') {
                return Err(format!("bad shape at `{}`", self.excerpt()));
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header, String> {
        Parser { rest: text }.header()
    }

    #[test]
    fn reads_what_numpy_writes() {
        let expected = Header { descr: "<f4".into(), fortran_order: false, shape: vec![3, 4] };
        assert_eq!(
            parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap(),
            expected
        );
        assert_eq!(parse("{\"shape\":(3L,4L),'fortran_order':False,'descr':'<f4'}").unwrap(), expected);
        assert_eq!(
            parse("{'descr': '|u1', 'fortran_order': True, 'shape': (), }").unwrap().shape,
            Vec::<u64>::new()
        );
        let own = header(ElementType::U8, u64::MAX, 8192);
        let text = std::str::from_utf8(&own[10..]).unwrap();
        assert_eq!(parse(text).unwrap().shape, vec![u64::MAX, 8192]);
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4, 'fortran_order': False, 'shape': (3, 4)}",
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3, 4)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 4)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), 'ü': 1}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
