//! Neighbouring blocks as one write.

use super::block_file::BlockFile;
use gleann_storage::StorageError;

/// Bytes gathered before a write, unless one block is longer.
pub(super) const GATHERED: usize = 1 << 20;

/// Blocks of consecutive places that wait to be written.
#[derive(Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    first: u32,
}

impl WriteBuffer {
    /// Takes the bytes of the block at `place`; writes what waits if the block does not go with it.
    ///
    /// On an error nobody knows which of the waiting blocks were written.
    pub fn push(&mut self, file: &BlockFile, place: u32, block: &[u8]) -> Result<(), StorageError> {
        if let Some(waiting) = self.waiting(place, block.len()) {
            waiting.copy_from_slice(block);
            return Ok(());
        }
        let next = u64::from(self.first) + (self.bytes.len() / block.len()) as u64;
        if u64::from(place) != next || self.bytes.len() + block.len() > GATHERED {
            self.flush(file)?;
        }
        if self.bytes.is_empty() {
            self.first = place;
        }
        self.bytes.extend_from_slice(block);
        Ok(())
    }

    /// The waiting bytes of the block at `place`, if they wait.
    pub fn waiting(&mut self, place: u32, length: usize) -> Option<&mut [u8]> {
        let start = place.checked_sub(self.first)? as usize * length;
        self.bytes.get_mut(start..start + length)
    }

    /// Writes what waits.
    pub fn flush(&mut self, file: &BlockFile) -> Result<(), StorageError> {
        if !self.bytes.is_empty() {
            file.write(&self.bytes, self.first)?;
            self.bytes.clear();
        }
        Ok(())
    }
}
