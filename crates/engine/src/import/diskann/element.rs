//! Of which element type the vectors are, and whether nodes lie by a partition: nothing in the files says so.
//!
//! The length of a node and the plausibility of degrees and ids tell bytes from floats. Whether bytes have a sign, and
//! where nodes lie, show in the codes: only the right reading gives those that are stored.

use super::super::ImportError;
use super::disk_file::{DiskFile, degree};
use super::pivots::CodeFile;
use gleann_quant::Codebook;
use gleann_vector::{Element, ElementType, Matrix};

/// Nodes that are looked at.
const SAMPLE: u32 = 1024;
/// Share of code bytes that must be as stored: rounding between equally near centroids makes a few others.
const AGREEMENT: f64 = 0.98;
/// The types that these programs have, the more common of equal ones first.
const ELEMENTS: [ElementType; 3] = [ElementType::F32, ElementType::U8, ElementType::I8];

/// Nodes of a sample, spread over all.
pub(crate) fn sample(nodes: u32) -> impl Iterator<Item = u32> {
    let count = nodes.min(SAMPLE);
    (0..count).map(move |index| (u64::from(index) * u64::from(nodes) / u64::from(count)) as u32)
}

/// The vectors of a sample as they are stored.
///
/// # Errors
/// The file cannot be read, or a node is impossible.
pub(crate) fn sampled<T: Element>(file: &DiskFile) -> Result<Matrix<T>, ImportError> {
    assert_eq!(T::TYPE, file.element(), "element type of the file");
    let nodes: Vec<u32> = sample(file.nodes()).collect();
    let mut rows = Matrix::<T>::zeroed(nodes.len(), file.header.dim);
    let mut block = Matrix::<u8>::zeroed(1, file.block_bytes());
    for (row, &node) in nodes.iter().enumerate() {
        file.read_block(file.block_of(node), block.as_mut_slice())?;
        file.node(block.as_slice(), node)?.copy_vector(bytemuck::cast_slice_mut(rows.row_mut(row)));
    }
    Ok(rows)
}

/// Element types under which the sampled nodes are possible.
///
/// # Errors
/// There is none: the message is that of the first type whose nodes would have this length.
pub(crate) fn possible(file: &mut DiskFile) -> Result<Vec<ElementType>, ImportError> {
    let (mut found, mut first) = (Vec::new(), None);
    for element in ELEMENTS {
        if degree(file.path(), &file.header, element).is_err() {
            continue;
        }
        file.set_element(element)?;
        let looked = match element {
            ElementType::F32 => {
                sampled::<f32>(file).map(|rows| rows.as_slice().iter().all(|x| x.is_finite()))
            }
            _ => look(file).map(|()| true),
        };
        match looked {
            Ok(true) => found.push(element),
            Ok(false) => {}
            Err(error @ ImportError::Field { .. }) => first = first.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Decodes the sampled nodes.
fn look(file: &DiskFile) -> Result<(), ImportError> {
    let mut block = Matrix::<u8>::zeroed(1, file.block_bytes());
    sample(file.nodes()).try_for_each(|node| {
        file.read_block(file.block_of(node), block.as_mut_slice())?;
        file.node(block.as_slice(), node).map(|_| ())
    })
}

/// The share of code bytes that come out as they are stored.
///
/// # Errors
/// A file cannot be read, or a node is impossible.
pub(crate) fn agreement(file: &DiskFile, codebook: &Codebook, codes: &CodeFile) -> Result<f64, ImportError> {
    let computed = match file.element() {
        ElementType::F32 => encoded::<f32>(file, codebook)?,
        ElementType::U8 => encoded::<u8>(file, codebook)?,
        ElementType::I8 => encoded::<i8>(file, codebook)?,
        ElementType::F16 => unreachable!("these programs have no such type"),
    };
    let mut stored = vec![0; codebook.chunks()];
    let mut equal = 0;
    for (node, computed) in sample(file.nodes()).zip(computed.chunks_exact(codebook.chunks())) {
        codes.read(node, &mut stored)?;
        equal += stored.iter().zip(computed).filter(|(a, b)| a == b).count();
    }
    Ok(equal as f64 / computed.len().max(1) as f64)
}

fn encoded<T: Element>(file: &DiskFile, codebook: &Codebook) -> Result<Vec<u8>, ImportError> {
    let rows = sampled::<T>(file)?;
    let mut codes = vec![0; rows.rows() * codebook.chunks()];
    codebook.encode_rows(rows.as_slice(), &mut codes);
    Ok(codes)
}

/// Whether codes that agree so far are those of the vectors.
pub(crate) fn agrees(share: f64) -> bool {
    share >= AGREEMENT
}
