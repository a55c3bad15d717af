//! Writing a member: header, payload in one sequential pass, both checksums on the way.

use crate::atomic_file::AtomicFile;
use crate::build_id::BuildId;
use crate::error::StorageError;
use crate::header::{HEADER_BYTES, Header};
use crate::member::{MemberEntry, MemberKind};
use std::path::Path;

/// Bytes that are summed and written at a time: large for the disk, small enough to stay in cache between.
const PIECE: usize = 1 << 20;

/// A member being written. Dropped before [`MemberWriter::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct MemberWriter {
    file: AtomicFile,
    kind: MemberKind,
    header: Header,
    written: u64,
}

impl MemberWriter {
    /// Begins the member `kind` of the build `build_id` in `dir`, whose payload will be `payload_bytes` long.
    /// The disk space is taken now.
    ///
    /// # Errors
    /// The file cannot be made, or the disk is too full.
    pub fn create(
        dir: &Path,
        kind: MemberKind,
        build_id: BuildId,
        payload_bytes: u64,
    ) -> Result<Self, StorageError> {
        let payload_offset = HEADER_BYTES as u32;
        let header = Header { kind: kind.tag(), build_id, payload_bytes, payload_offset, payload_crc: 0 };
        Self::with_header(dir, kind, header)
    }

    pub(crate) fn with_header(dir: &Path, kind: MemberKind, header: Header) -> Result<Self, StorageError> {
        let mut file = AtomicFile::create(&dir.join(kind.file_name()))?;
        file.reserve(u64::from(header.payload_offset) + header.payload_bytes)?;
        // The header follows at the end, when the checksum is known.
        file.write(&vec![0; header.payload_offset as usize])?;
        Ok(Self { file, kind, header, written: 0 })
    }

    /// Appends payload.
    ///
    /// # Errors
    /// The system refused.
    ///
    /// # Panics
    /// If more is written than was announced.
    pub fn write(&mut self, payload: &[u8]) -> Result<(), StorageError> {
        self.written += payload.len() as u64;
        assert!(
            self.written <= self.header.payload_bytes,
            "{} of {} payload bytes",
            self.written,
            self.header.payload_bytes
        );
        for piece in payload.chunks(PIECE) {
            self.header.payload_crc = crc32c::crc32c_append(self.header.payload_crc, piece);
            self.file.write(piece)?;
        }
        Ok(())
    }

    /// Writes the header and makes the file durable.
    ///
    /// # Errors
    /// The system refused; no member is left.
    ///
    /// # Panics
    /// If less was written than was announced.
    pub fn finish(self) -> Result<MemberEntry, StorageError> {
        assert_eq!(self.written, self.header.payload_bytes, "payload bytes written");
        let mut start = vec![0; self.header.payload_offset as usize];
        start[..HEADER_BYTES].copy_from_slice(&self.header.encode());
        self.file.write_at(&start, 0)?;
        self.file.commit()?;
        let length = usize::try_from(self.written).expect("files fit the address space on 64-bit systems");
        Ok(MemberEntry {
            kind: self.kind,
            name: self.kind.file_name().into(),
            bytes: start.len() as u64 + self.written,
            crc32c: crc32c::crc32c_combine(crc32c::crc32c(&start), self.header.payload_crc, length),
        })
    }
}
