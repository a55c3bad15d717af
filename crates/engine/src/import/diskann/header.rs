//! The first sector of `_disk.index`: what the index is.
//!
//! It is an array of u64: count, dimension, medoid, bytes a node, nodes a sector; then what differs between programs,
//! told apart by the number of values.

use super::super::ImportError;
use super::array::ArrayFile;
use gleann_vector::MAX_DIM;

/// Bytes of a sector, the unit of their reads.
pub(crate) const SECTOR: usize = 4096;
/// Values of a header that can be told apart: five every program writes, and at most so many in a sector.
const VALUES: std::ops::RangeInclusive<u32> = 5..=511;

/// The fields that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub nodes: u32,
    pub dim: usize,
    pub medoid: u32,
    /// Bytes a node: vector, degree, ids.
    pub node_bytes: usize,
    /// 0 where a node takes several sectors.
    pub nodes_per_sector: usize,
}

impl Header {
    pub(crate) fn read(file: &ArrayFile) -> Result<Self, ImportError> {
        let shape = file.shape(0, 8)?;
        if shape.columns != 1 || !VALUES.contains(&shape.rows) {
            let found = format!("an array of {} × {}", shape.rows, shape.columns);
            return Err(ImportError::field(
                &file.path,
                "the header",
                found,
                "5 to 511 × 1 values of 64 bits",
            ));
        }
        let values: Vec<u64> = file.values(shape)?;
        let [nodes, dim, medoid, node_bytes, per_sector] = [0, 1, 2, 3, 4].map(|index| values[index]);
        check_common(file, [nodes, dim, medoid, node_bytes, per_sector])?;
        check_variant(file, &values, nodes)?;
        Ok(Self {
            nodes: nodes as u32,
            dim: dim as usize,
            medoid: medoid as u32,
            node_bytes: node_bytes as usize,
            nodes_per_sector: per_sector as usize,
        })
    }

    /// Bytes that hold a whole number of nodes: a sector, or as many as a node takes.
    pub(crate) fn block_bytes(&self) -> usize {
        if self.nodes_per_sector > 0 { SECTOR } else { self.node_bytes.next_multiple_of(SECTOR) }
    }

    /// Nodes a block.
    pub(crate) fn nodes_per_block(&self) -> usize {
        self.nodes_per_sector.max(1)
    }
}

/// Holds the fields that every program writes against what is possible.
fn check_common(
    file: &ArrayFile,
    [nodes, dim, medoid, node_bytes, per_sector]: [u64; 5],
) -> Result<(), ImportError> {
    // Vector of at most 8193 × 4 bytes, at most 1024 ids: 36 KiB.
    let fit = SECTOR as u64 / node_bytes.max(1);
    let checks = [
        ("the number of points", nodes, 1..=u64::from(u32::MAX) - 1, "so many can have ids"),
        ("the dimension", dim, 1..=MAX_DIM as u64 + 1, "so many are supported"),
        ("the medoid", medoid, 0..=nodes.saturating_sub(1), "the points"),
        ("the bytes of a node", node_bytes, 8..=1 << 17, "a vector and a list"),
        ("the nodes of a sector", per_sector, fit..=fit, "as many as fit"),
    ];
    match checks.into_iter().find(|(_, found, range, _)| !range.contains(found)) {
        None => Ok(()),
        Some((field, found, range, why)) => {
            let (least, most) = range.into_inner();
            let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
            Err(ImportError::field(&file.path, field, found, format!("{range}, {why}")))
        }
    }
}

/// Refuses what a program may add to nodes or graph and that has no counterpart here.
fn check_variant(file: &ArrayFile, values: &[u64], nodes: u64) -> Result<(), ImportError> {
    let zero = |index: usize, field, reason: &str| match values.get(index) {
        None | Some(0) => Ok(()),
        Some(&found) => Err(ImportError::field(&file.path, field, found, format!("0: {reason}"))),
    };
    let length = |index: usize| match values.get(index) {
        Some(&found) if found != file.length => Err(ImportError::field(
            &file.path,
            "the file size in the header",
            found,
            format!("{}, the length of the file (truncated copy?)", file.length),
        )),
        _ => Ok(()),
    };
    match values.len() {
        // Newer PipeANN: points of this shard, bytes of labels a node.
        7 if values[5] != nodes => {
            let expected = format!("{nodes}: shards are not read");
            Err(ImportError::field(&file.path, "the points of the shard", values[5], expected))
        }
        7 => zero(6, "the bytes of labels a node", "labels are not read"),
        count => {
            zero(5, "the number of frozen points", "they would be found as results")?;
            match count {
                8 => length(7),
                12 => {
                    zero(7, "the flag of reorder data", "vectors in other sectors are not read")?;
                    length(11)
                }
                9.. => {
                    zero(7, "the flag of reorder data", "vectors in other sectors are not read")?;
                    length(8)?;
                    zero(9, "the bytes of data a node", "data beside the vectors are not read")
                }
                _ => Ok(()),
            }
        }
    }
}
