//! `pq.codebook` and `pq.codes`: the compressed vectors and what they mean.
//!
//! To this crate a codebook is bytes. Codes are one row a node, in id order, without padding.

use crate::build_id::BuildId;
use crate::error::StorageError;
use crate::manifest::{CodeFormat, Manifest};
use crate::member::{MemberEntry, MemberKind};
use crate::member_reader::MemberReader;
use crate::member_writer::MemberWriter;
use gleann_vector::Matrix;
use std::path::Path;

/// Writes the codebook, whose form is the quantiser's.
///
/// # Errors
/// The system refused.
pub fn write_codebook(dir: &Path, build_id: BuildId, codebook: &[u8]) -> Result<MemberEntry, StorageError> {
    let mut member = MemberWriter::create(dir, MemberKind::Codebook, build_id, codebook.len() as u64)?;
    member.write(codebook)?;
    member.finish()
}

/// Writes the codes of all nodes, in id order. Codes that are not all in memory go through a
/// [`MemberWriter`] of their own.
///
/// # Errors
/// The system refused.
pub fn write_codes(dir: &Path, build_id: BuildId, codes: &Matrix<u8>) -> Result<MemberEntry, StorageError> {
    let payload = codes.as_slice();
    let mut member = MemberWriter::create(dir, MemberKind::Codes, build_id, payload.len() as u64)?;
    member.write(payload)?;
    member.finish()
}

/// Loads the codebook, verified; `None` where the index has no codes.
///
/// # Errors
/// The file is missing or damaged, or the system refused.
pub fn load_codebook(dir: &Path, manifest: &Manifest) -> Result<Option<Vec<u8>>, StorageError> {
    let Some(member) = MemberReader::open(dir, manifest, MemberKind::Codebook)? else { return Ok(None) };
    // Bounded by the length of the file and by MAX_CODEBOOK_BYTES.
    let mut codebook = vec![0; member.payload_bytes() as usize];
    member.read_payload(&mut codebook)?;
    Ok(Some(codebook))
}

/// Loads the codes of all nodes (nodes × bytes of a code), verified; `None` where the index has none.
///
/// # Errors
/// The file is missing or damaged, or the system refused.
pub fn load_codes(dir: &Path, manifest: &Manifest) -> Result<Option<Matrix<u8>>, StorageError> {
    let CodeFormat::Pq { chunks } = manifest.codes else { return Ok(None) };
    let Some(member) = MemberReader::open(dir, manifest, MemberKind::Codes)? else { return Ok(None) };
    // The file is as long as this: the manifest's validation and the opening saw to it.
    let mut codes = Matrix::zeroed(manifest.nodes as usize, chunks as usize);
    member.read_payload(codes.as_mut_slice())?;
    Ok(Some(codes))
}
