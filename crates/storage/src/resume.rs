//! What an interrupted build has already finished.

use crate::build_id::BuildId;
use crate::error::StorageError;
use crate::header::{HEADER_BYTES, Header};
use crate::member::{MemberEntry, MemberKind};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

const PIECE: usize = 1 << 20;

/// The member of `kind` that an earlier run of the build `build_id` finished in `dir`, its whole content
/// verified; `None` where there is none, it belongs to another build, or it is damaged, so that it has to be
/// written again.
///
/// # Errors
/// The system refused to read a file that is there.
pub fn finished_member(
    dir: &Path,
    kind: MemberKind,
    build_id: BuildId,
) -> Result<Option<MemberEntry>, StorageError> {
    let path = dir.join(kind.file_name());
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StorageError::io("opening", &path)(error)),
    };
    let length = file.metadata().map_err(StorageError::io("asking the length of", &path))?.len();
    if length < HEADER_BYTES as u64 {
        return Ok(None);
    }
    let mut start = [0; HEADER_BYTES];
    file.read_exact(&mut start).map_err(StorageError::io("reading", &path))?;
    let Ok(header) = Header::decode(&start, kind.tag(), &path) else { return Ok(None) };
    let offset = u64::from(header.payload_offset);
    if header.build_id != build_id || offset.checked_add(header.payload_bytes) != Some(length) {
        return Ok(None);
    }
    let read = |error| StorageError::io("reading", &path)(error);
    let before = sum(&mut file, offset - HEADER_BYTES as u64, crc32c::crc32c(&start)).map_err(read)?;
    let payload = sum(&mut file, header.payload_bytes, 0).map_err(read)?;
    if payload != header.payload_crc {
        return Ok(None);
    }
    let payload_bytes =
        usize::try_from(header.payload_bytes).expect("files fit the address space on 64-bit systems");
    let crc32c = crc32c::crc32c_combine(before, payload, payload_bytes);
    Ok(Some(MemberEntry { kind, name: kind.file_name().into(), bytes: length, crc32c }))
}

/// Continues the checksum `crc` over the next `left` bytes.
fn sum(file: &mut File, mut left: u64, mut crc: u32) -> io::Result<u32> {
    let mut piece = vec![0; left.min(PIECE as u64) as usize];
    while left > 0 {
        let now = left.min(piece.len() as u64) as usize;
        file.read_exact(&mut piece[..now])?;
        crc = crc32c::crc32c_append(crc, &piece[..now]);
        left -= now as u64;
    }
    Ok(crc)
}
