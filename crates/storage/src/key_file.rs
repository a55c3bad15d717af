//! `keys.u64`: the key of every node, in id order, little-endian.

use crate::build_id::BuildId;
use crate::error::StorageError;
use crate::manifest::Manifest;
use crate::member::{MemberEntry, MemberKind};
use crate::member_reader::MemberReader;
use crate::member_writer::MemberWriter;
use gleann_vector::Key;
use std::io;
use std::path::Path;

/// Keys turned into bytes at a time.
const PIECE: usize = 1 << 16;

/// Writes the keys of all nodes, in id order.
///
/// # Errors
/// The system refused.
pub fn write_keys(dir: &Path, build_id: BuildId, keys: &[Key]) -> Result<MemberEntry, StorageError> {
    let bytes = keys.len() as u64 * 8;
    let mut member = MemberWriter::create(dir, MemberKind::Keys, build_id, bytes)?;
    for piece in keys.chunks(PIECE) {
        let little: Vec<u64> = piece.iter().map(|key| key.to_le()).collect();
        member.write(bytemuck::cast_slice(&little))?;
    }
    member.finish()
}

/// Loads the keys of all nodes, verified; `None` where keys are internal ids. Whether they are unique is a
/// matter of [`check_index`](crate::check_index).
///
/// # Errors
/// The file is missing or damaged, there is not enough memory, or the system refused.
pub fn load_keys(dir: &Path, manifest: &Manifest) -> Result<Option<Vec<Key>>, StorageError> {
    let Some(member) = MemberReader::open(dir, manifest, MemberKind::Keys)? else { return Ok(None) };
    let mut keys: Vec<Key> = Vec::new();
    keys.try_reserve_exact(manifest.nodes as usize)
        .map_err(|_| StorageError::io("loading", member.path())(io::ErrorKind::OutOfMemory.into()))?;
    keys.resize(manifest.nodes as usize, 0);
    member.read_payload(bytemuck::cast_slice_mut(&mut keys))?;
    keys.iter_mut().for_each(|key| *key = u64::from_le(*key));
    Ok(Some(keys))
}
