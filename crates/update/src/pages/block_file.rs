//! The block file: places of one size behind a header page.

use super::error::{PagesError, io_error};
use gleann_storage::{BlockId, BlockLayout, FieldError, StorageError, Volume, VolumeFile};
use std::path::{Path, PathBuf};

/// Name of the block file: that of the graph of a static index, whose blocks it begins with.
pub(super) const BLOCK_FILE_NAME: &str = "graph.gln";

/// An open block file.
pub(super) struct BlockFile {
    file: Box<dyn VolumeFile>,
    path: PathBuf,
    layout: BlockLayout,
}

impl BlockFile {
    /// Opens the file, if there is one.
    pub fn open(volume: &dyn Volume, layout: BlockLayout) -> Result<Option<Self>, StorageError> {
        let path = volume.path(BLOCK_FILE_NAME);
        let file = volume.open(BLOCK_FILE_NAME).map_err(io_error("opening", &path))?;
        Ok(file.map(|file| Self { file, path, layout }))
    }

    /// Makes a file of no blocks, in place of one that may be there.
    pub fn create(volume: &dyn Volume, layout: BlockLayout) -> Result<Self, StorageError> {
        let path = volume.path(BLOCK_FILE_NAME);
        let file = volume.create(BLOCK_FILE_NAME).map_err(io_error("creating", &path))?;
        let new = Self { file, path, layout };
        new.resize(0)?;
        Ok(new)
    }

    /// Where the file lies, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        self.layout.block_bytes()
    }

    /// Where a place begins.
    pub fn offset(&self, place: u32) -> u64 {
        self.layout.offset(BlockId(place))
    }

    /// Whole blocks in the file.
    pub fn blocks(&self) -> Result<u32, PagesError> {
        let length = self.file.len().map_err(io_error("asking the length of", &self.path))?;
        let header = self.layout.file_bytes(0);
        if length < header {
            return Err(self.too_short(0).into());
        }
        // The number u32::MAX stands for no place at all.
        Ok(u32::try_from((length - header) / self.block_bytes() as u64).unwrap_or(u32::MAX))
    }

    /// The file has fewer than `blocks` blocks.
    pub fn too_short(&self, blocks: u32) -> StorageError {
        let found = self.file.len().map_or_else(|_| "unknown".to_owned(), |length| format!("{length} bytes"));
        let expected = format!("{} bytes or more", self.layout.file_bytes(blocks.into()));
        let error = FieldError { field: "the length", found, expected };
        let remedy = "bring the index back from a copy, or build it again";
        StorageError::Field { path: self.path.clone(), error, remedy }
    }

    /// Makes the file `blocks` blocks long.
    pub fn resize(&self, blocks: u32) -> Result<(), StorageError> {
        let length = self.layout.file_bytes(blocks.into());
        self.file.set_len(length).map_err(io_error("changing the length of", &self.path))
    }

    /// Fills `bytes` with the blocks from `place` on.
    pub fn read(&self, bytes: &mut [u8], place: u32) -> Result<(), StorageError> {
        assert!(bytes.len().is_multiple_of(self.block_bytes()), "a read of {} bytes", bytes.len());
        self.file.read_at(bytes, self.offset(place)).map_err(io_error("reading", &self.path))
    }

    /// Writes blocks from `place` on.
    pub fn write(&self, bytes: &[u8], place: u32) -> Result<(), StorageError> {
        assert!(bytes.len().is_multiple_of(self.block_bytes()), "a write of {} bytes", bytes.len());
        self.file.write_at(bytes, self.offset(place)).map_err(io_error("writing", &self.path))
    }

    /// Makes everything written durable.
    pub fn sync(&self) -> Result<(), StorageError> {
        self.file.sync().map_err(io_error("fsync of", &self.path))
    }

    /// The header page.
    pub fn header(&self) -> Result<Vec<u8>, StorageError> {
        let mut bytes = vec![0; self.layout.file_bytes(0) as usize];
        self.file.read_at(&mut bytes, 0).map_err(io_error("reading the header of", &self.path))?;
        Ok(bytes)
    }

    /// Replaces the header page.
    pub fn write_header(&self, bytes: &[u8]) -> Result<(), StorageError> {
        assert_eq!(bytes.len() as u64, self.layout.file_bytes(0), "a header page");
        self.file.write_at(bytes, 0).map_err(io_error("writing the header of", &self.path))
    }
}
