//! `centroids.gln`: the centroid of every posting and the graph over them, which searches hold in memory.
//!
//! ```text
//! 64                             64 + C·V                                    64 + C·(V + 4 + 4·R)
//! | vector 0 | vector 1 | …      | degree 0, u32 | R places, u32 | degree 1 … |
//! ```
//! C centroids in the order of their postings; V = dim · element size, padded to 4; R the degree bound.

use crate::build_id::BuildId;
use crate::error::{FieldError, StorageError};
use crate::header::DAMAGED;
use crate::layout::Layout;
use crate::manifest::{IndexKind, Manifest};
use crate::member::{MemberEntry, MemberKind};
use crate::member_reader::{MemberReader, PIECE};
use crate::member_writer::MemberWriter;
use gleann_vector::{Element, Matrix};
use std::path::Path;

/// The centroids of an index and the lists of the graph over them.
#[derive(Debug)]
pub struct Centroids<T: Element> {
    /// One row a posting.
    pub vectors: Matrix<T>,
    /// One list a posting: numbers of other postings, at most as many as the degree bound.
    pub lists: Vec<Vec<u32>>,
}

/// Bytes of one centroid and its list.
pub(crate) fn centroid_bytes(layout: &Layout) -> u64 {
    layout.vector_bytes() as u64 + 4 + 4 * layout.degree() as u64
}

/// Writes the centroids `vectors` and the list of each.
///
/// # Errors
/// The system refused.
///
/// # Panics
/// If a list is longer than the degree bound or names no centroid, or the vectors are not of the layout.
pub fn write_centroids<'a, T: Element>(
    (dir, build_id): (&Path, BuildId),
    layout: &Layout,
    vectors: &Matrix<T>,
    list: impl Fn(u32) -> &'a [u32],
) -> Result<MemberEntry, StorageError> {
    assert_eq!((T::TYPE, vectors.dim()), (layout.element(), layout.dim()), "vectors of the layout");
    let count = vectors.rows() as u32;
    let bytes = u64::from(count) * centroid_bytes(layout);
    let mut member = MemberWriter::create(dir, MemberKind::Centroids, build_id, bytes)?;
    let mut buffer = Vec::with_capacity(2 * PIECE);
    for row in 0..vectors.rows() {
        let raw: &[u8] = bytemuck::cast_slice(vectors.row(row));
        buffer.extend_from_slice(raw);
        buffer.resize(buffer.len() + layout.vector_bytes() - raw.len(), 0);
        flush(&mut member, &mut buffer, PIECE)?;
    }
    for centroid in 0..count {
        let list = list(centroid);
        assert!(list.len() <= layout.degree(), "{} ids, {} allowed", list.len(), layout.degree());
        assert!(list.iter().all(|&id| id < count && id != centroid), "centroid {centroid} has list {list:?}");
        let words = [list.len() as u32].into_iter().chain(list.iter().copied());
        let zeros = std::iter::repeat_n(0, layout.degree() - list.len());
        buffer.extend(words.chain(zeros).flat_map(u32::to_le_bytes));
        flush(&mut member, &mut buffer, PIECE)?;
    }
    flush(&mut member, &mut buffer, 1)?;
    member.finish()
}

fn flush(member: &mut MemberWriter, buffer: &mut Vec<u8>, least: usize) -> Result<(), StorageError> {
    if buffer.len() >= least {
        member.write(buffer)?;
        buffer.clear();
    }
    Ok(())
}

/// Loads the centroids, verified; `None` where the index is a graph.
///
/// # Errors
/// The file is missing or damaged, a list is impossible, or the system refused.
pub fn load_centroids<T: Element>(
    dir: &Path,
    manifest: &Manifest,
) -> Result<Option<Centroids<T>>, StorageError> {
    let IndexKind::Postings { postings, .. } = manifest.kind else { return Ok(None) };
    let Some(member) = MemberReader::open(dir, manifest, MemberKind::Centroids)? else { return Ok(None) };
    let layout = &manifest.layout;
    assert_eq!(T::TYPE, layout.element(), "element type of the layout");
    let mut payload = member.payload()?;
    let mut vectors = Matrix::<T>::zeroed(postings as usize, layout.dim());
    let mut padded = vec![0; layout.vector_bytes()];
    for row in vectors.as_mut_slice().chunks_exact_mut(layout.dim()) {
        payload.fill(&mut padded)?;
        let raw: &mut [u8] = bytemuck::cast_slice_mut(row);
        raw.copy_from_slice(&padded[..raw.len()]);
    }
    let mut lists = Vec::with_capacity(postings as usize);
    let mut row = vec![0; 4 + 4 * layout.degree()];
    let mut impossible = None;
    for centroid in 0..postings {
        payload.fill(&mut row)?;
        let words: Vec<u32> = row
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        match checked_list(&words, centroid, postings) {
            Ok(list) => lists.push(list),
            Err(error) => impossible = impossible.or(Some(error)),
        }
    }
    // Damage is told first: it explains an impossible list.
    payload.finish()?;
    match impossible {
        Some(error) => Err(error.at(member.path(), DAMAGED)),
        None => Ok(Some(Centroids { vectors, lists })),
    }
}

fn checked_list(words: &[u32], centroid: u32, postings: u32) -> Result<Vec<u32>, FieldError> {
    let (degree, places) = (words[0] as usize, &words[1..]);
    let Some(list) = places.get(..degree) else {
        let expected = format!("at most {}", places.len());
        return Err(FieldError::new("the degree of a centroid", format!("{degree} of {centroid}"), expected));
    };
    match list.iter().find(|&&id| id >= postings || id == centroid) {
        Some(id) => {
            let expected = format!("another one below {postings}");
            Err(FieldError::new("a neighbour of a centroid", format!("{id} of {centroid}"), expected))
        }
        None => Ok(list.to_vec()),
    }
}
