//! The codebook and small arrays as DiskANN stores them.

use super::transform::Transform;
use crate::build::BuildError;
use gleann_quant::Codebook;
use gleann_storage::replace_file;
use std::path::Path;

/// Centroids a chunk always has there.
const CENTROIDS: usize = 256;
/// Where the first array lies.
const FIRST: usize = 4096;

/// The two words an array begins with.
pub(super) fn array_head(rows: u32, columns: u32) -> [u8; 8] {
    bytemuck::cast([rows.to_le(), columns.to_le()])
}

/// Writes one array of one column as a file.
pub(super) fn write_array(path: &Path, values: &[f32]) -> Result<(), BuildError> {
    let mut bytes = Vec::new();
    push(&mut bytes, 1, values.iter().map(|value| value.to_le_bytes()));
    Ok(replace_file(path, &bytes)?)
}

/// Writes the codebook of the stored vectors, in the older form with a permutation (none), which all programs read.
pub(super) fn write(path: &Path, codebook: &Codebook, transform: &Transform) -> Result<(), BuildError> {
    let parts = codebook.to_parts();
    let dim = transform.dim(codebook.dim());
    let scale = match transform {
        Transform::Augmented { norm } => 1.0 / norm,
        _ => 1.0,
    };
    let mut table = vec![0.0f32; CENTROIDS * dim];
    let mut rest = &parts.centroids[..];
    for (bounds, &count) in parts.bounds.windows(2).zip(&parts.counts) {
        let width = bounds[1] - bounds[0];
        let (rows, after) = rest.split_at(count * width);
        for id in 0..CENTROIDS {
            // Codes never name the repeated ones.
            let row = &rows[id.min(count - 1) * width..][..width];
            let into = &mut table[id * dim + bounds[0]..][..width];
            into.iter_mut().zip(row).for_each(|(into, value)| *into = value * scale);
        }
        rest = after;
    }
    let mut mean: Vec<f32> = parts.mean.iter().map(|value| value * scale).collect();
    let mut bounds: Vec<u32> = parts.bounds.iter().map(|&bound| bound as u32).collect();
    if dim > codebook.dim() {
        (0..CENTROIDS).for_each(|id| table[id * dim + dim - 1] = id as f32 / 255.0);
        mean.push(0.0);
        bounds.push(dim as u32);
    }
    Ok(replace_file(path, &file(dim, &table, &mean, &bounds))?)
}

fn file(dim: usize, table: &[f32], mean: &[f32], bounds: &[u32]) -> Vec<u8> {
    let mut bytes = vec![0; FIRST];
    let mut offsets = vec![FIRST as u64];
    push(&mut bytes, dim as u32, table.iter().map(|value| value.to_le_bytes()));
    offsets.push(bytes.len() as u64);
    push(&mut bytes, 1, mean.iter().map(|value| value.to_le_bytes()));
    offsets.push(bytes.len() as u64);
    push(&mut bytes, 1, (0..dim as u32).map(u32::to_le_bytes));
    offsets.push(bytes.len() as u64);
    push(&mut bytes, 1, bounds.iter().map(|bound| bound.to_le_bytes()));
    offsets.push(bytes.len() as u64);
    let mut head = Vec::new();
    head.extend(array_head(offsets.len() as u32, 1));
    head.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
    bytes[..head.len()].copy_from_slice(&head);
    bytes
}

fn push(bytes: &mut Vec<u8>, columns: u32, values: impl ExactSizeIterator<Item = [u8; 4]>) {
    bytes.extend(array_head(values.len() as u32 / columns, columns));
    bytes.extend(values.flatten());
}
