//! A data file that has been opened but not yet believed: its length and its first bytes.

use super::error::{FileError, FileProblem};
use super::probe;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const HEAD_BYTES: u64 = 4096;

/// An open file, its real length and its head.
#[derive(Debug)]
pub(crate) struct RawFile {
    pub file: File,
    pub path: PathBuf,
    pub len: u64,
    /// The first bytes of the file, at most 4096.
    pub head: Vec<u8>,
}

impl RawFile {
    /// Opens a regular file.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let io = |action, source| FileError::io(path, action, source);
        let file = File::open(path).map_err(|e| io("opening", e))?;
        let metadata = file.metadata().map_err(|e| io("reading its length", e))?;
        if !metadata.is_file() {
            let message = "this is not a regular file; data files must allow reads at any offset".into();
            return Err(FileError::new(path, FileProblem::Unsupported(message)));
        }
        let len = metadata.len();
        let mut head = vec![0; len.min(HEAD_BYTES) as usize];
        file.read_exact_at(&mut head, 0).map_err(|e| io("reading its first bytes", e))?;
        Ok(Self { file, path: path.to_owned(), len, head })
    }

    pub(crate) fn error(&self, problem: FileProblem) -> FileError {
        FileError::new(&self.path, problem)
    }

    /// Refuses an empty file and one whose first bytes are those of another kind of file.
    pub(crate) fn expect_kind(&self, expected: &str, needs: &'static str) -> Result<(), FileError> {
        let expected = expected.to_owned();
        if self.len == 0 {
            return Err(self.error(FileProblem::Empty { expected, needs }));
        }
        match probe::magic(&self.head) {
            Some(looks) => Err(self.error(FileProblem::WrongKind { expected, looks: looks.into() })),
            None => Ok(()),
        }
    }

    /// The two words every big-ann file starts with.
    pub(crate) fn two_words(&self) -> Result<(u32, u32), FileError> {
        if self.len < 8 {
            let content = "two header words".into();
            return Err(self.error(FileProblem::Truncated {
                content,
                expected: 8,
                found: self.len,
                looks: String::new(),
            }));
        }
        Ok((self.word(0), self.word(4)))
    }

    /// The little-endian word at `offset` of the head, which must hold it.
    pub(crate) fn word(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.head[offset..offset + 4].try_into().expect("four bytes"))
    }

    /// Compares the length with what the header promises.
    pub(crate) fn expect_len(&self, expected: u64, content: String) -> Result<(), FileError> {
        let found = self.len;
        match found.cmp(&expected) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => {
                let looks = self.looks();
                Err(self.error(FileProblem::Truncated { content, expected, found, looks }))
            }
            std::cmp::Ordering::Greater => {
                let looks = self.looks();
                Err(self.error(FileProblem::TrailingBytes { content, expected, found, looks }))
            }
        }
    }

    /// "; it looks like …" by the length of the file, or nothing.
    pub(crate) fn looks(&self) -> String {
        let kinds = probe::kinds_by_length(self);
        if kinds.is_empty() { String::new() } else { format!("; it looks like {}", kinds.join(" or ")) }
    }

    /// Reads little-endian words from `offset` on; the caller has checked them against the length.
    pub(crate) fn words<W: bytemuck::Pod>(&self, offset: u64, count: usize) -> Result<Vec<W>, FileError> {
        let mut words = vec![W::zeroed(); count];
        let bytes = bytemuck::cast_slice_mut(&mut words);
        self.file.read_exact_at(bytes, offset).map_err(|e| FileError::io(&self.path, "reading", e))?;
        Ok(words)
    }
}
