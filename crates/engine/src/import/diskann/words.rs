//! Numbers of a file, read in pieces.

use super::super::ImportError;
use super::array::ArrayFile;

/// Numbers of 32 bits, one after the other.
pub(crate) struct Words<'a> {
    file: &'a ArrayFile,
    offset: u64,
    buffer: Vec<u32>,
    position: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(file: &'a ArrayFile, offset: u64) -> Self {
        Self { file, offset, buffer: Vec::new(), position: 0 }
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> Result<u32, ImportError> {
        if self.position == self.buffer.len() {
            // At least one: what lies beyond the end of the file is an error of its own.
            let left = (self.file.length.saturating_sub(self.offset) / 4).clamp(1, 1 << 16);
            self.buffer.resize(left as usize, 0);
            self.file.read(self.offset, &mut self.buffer)?;
            self.offset += 4 * left;
            self.position = 0;
        }
        self.position += 1;
        Ok(self.buffer[self.position - 1])
    }
    /// Where the next number lies.
    pub(crate) fn offset(&self) -> u64 {
        self.offset - 4 * (self.buffer.len() - self.position) as u64
    }
}
