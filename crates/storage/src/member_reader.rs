//! Reading a member: cheap checks when it is opened, checksums while its payload streams by.

use crate::error::{FieldError, StorageError};
use crate::header::{DAMAGED, HEADER_BYTES, Header, hex};
use crate::manifest::Manifest;
use crate::member::{MemberEntry, MemberKind};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes read and summed at a time.
pub(crate) const PIECE: usize = 1 << 20;

const LENGTH_REMEDY: &str = "a truncated copy? Copy it again or build the index again";

/// An open member whose length and header agree with the manifest.
#[derive(Debug)]
pub(crate) struct MemberReader {
    file: File,
    path: PathBuf,
    header: Header,
    file_crc: u32,
}

impl MemberReader {
    /// Opens the member of `kind`, if the index has one.
    pub(crate) fn open(
        dir: &Path,
        manifest: &Manifest,
        kind: MemberKind,
    ) -> Result<Option<Self>, StorageError> {
        manifest.member(kind).map(|entry| Self::open_entry(dir, manifest, entry)).transpose()
    }

    fn open_entry(dir: &Path, manifest: &Manifest, entry: &MemberEntry) -> Result<Self, StorageError> {
        let path = dir.join(&entry.name);
        let file = File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StorageError::MissingMember { path: path.clone() },
            _ => StorageError::io("opening", &path)(source),
        })?;
        let metadata = file.metadata().map_err(StorageError::io("asking the length of", &path))?;
        if !metadata.is_file() {
            let error = FieldError::new("the entry", "not a regular file", "a file");
            return Err(error.at(&path, "copy it again or build the index again"));
        }
        let length = metadata.len();
        if length != entry.bytes {
            let error = FieldError::new("the length", bytes(length), bytes(entry.bytes));
            return Err(error.at(&path, LENGTH_REMEDY));
        }
        let mut start = [0; HEADER_BYTES];
        file.read_exact_at(&mut start, 0).map_err(StorageError::io("reading the header of", &path))?;
        let header = Header::decode(&start, entry.kind.tag(), &path)?;
        agree(&header, manifest, entry)
            .map_err(|error| error.at(&path, "the file is not from the build that wrote the MANIFEST"))?;
        Ok(Self { file, path, header, file_crc: entry.crc32c })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn payload_bytes(&self) -> u64 {
        self.header.payload_bytes
    }

    /// The payload from its beginning, to be read to its end.
    pub(crate) fn payload(&self) -> Result<PayloadReader<'_>, StorageError> {
        let mut start = vec![0; self.header.payload_offset as usize];
        self.read_at(&mut start, 0)?;
        let start_crc = crc32c::crc32c(&start);
        Ok(PayloadReader { member: self, start_crc, payload_crc: 0, position: 0 })
    }

    /// Reads the whole payload into `into` and holds it against both checksums.
    pub(crate) fn read_payload(&self, into: &mut [u8]) -> Result<(), StorageError> {
        assert_eq!(into.len() as u64, self.payload_bytes(), "destination of the payload");
        let mut payload = self.payload()?;
        into.chunks_mut(PIECE).try_for_each(|piece| payload.fill(piece))?;
        payload.finish()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<(), StorageError> {
        self.file.read_exact_at(into, offset).map_err(StorageError::io("reading", &self.path))
    }
}

fn agree(header: &Header, manifest: &Manifest, entry: &MemberEntry) -> Result<(), FieldError> {
    if header.build_id != manifest.build_id {
        return Err(FieldError::new("the build id", header.build_id, manifest.build_id));
    }
    let offset = manifest.payload_offset(entry.kind);
    if header.payload_offset != offset {
        return Err(FieldError::new("the payload offset", header.payload_offset, offset));
    }
    let payload = entry.bytes.saturating_sub(offset.into());
    if header.payload_bytes != payload {
        return Err(FieldError::new("the payload length", bytes(header.payload_bytes), bytes(payload)));
    }
    Ok(())
}

fn bytes(count: u64) -> String {
    format!("{count} bytes")
}

/// Sequential reading of a payload with running checksums.
#[derive(Debug)]
pub(crate) struct PayloadReader<'a> {
    member: &'a MemberReader,
    start_crc: u32,
    payload_crc: u32,
    position: u64,
}

impl PayloadReader<'_> {
    /// Bytes not yet read.
    pub(crate) fn left(&self) -> u64 {
        self.member.payload_bytes() - self.position
    }

    /// Reads the next `into.len()` bytes.
    pub(crate) fn fill(&mut self, into: &mut [u8]) -> Result<(), StorageError> {
        let offset = u64::from(self.member.header.payload_offset) + self.position;
        self.member.read_at(into, offset)?;
        self.payload_crc = crc32c::crc32c_append(self.payload_crc, into);
        self.position += into.len() as u64;
        Ok(())
    }

    /// Holds what was read against the checksums of header and manifest.
    pub(crate) fn finish(self) -> Result<(), StorageError> {
        assert_eq!(self.left(), 0, "payload bytes left unread");
        let MemberReader { path, header, file_crc, .. } = self.member;
        let fail = |field, found, stored| {
            Err(FieldError::new(field, hex(found), format!("{} as stored", hex(stored))).at(path, DAMAGED))
        };
        if self.payload_crc != header.payload_crc {
            return fail("the checksum of the payload", self.payload_crc, header.payload_crc);
        }
        let length = usize::try_from(self.position).expect("files fit the address space on 64-bit systems");
        let found = crc32c::crc32c_combine(self.start_crc, self.payload_crc, length);
        if found != *file_crc {
            return fail("the checksum of the file", found, *file_crc);
        }
        Ok(())
    }
}
