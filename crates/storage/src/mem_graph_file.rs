//! `mem.graph`: the navigation graph over a sample of the nodes (MemGraph), whole.
//!
//! ```text
//! 0          4           8          12         16            16+4m             then, on a multiple of 4
//! | nodes m  | degree    | entry    | what     | m node ids  | m points        | m lists            |
//! | of the   | bound R', | place    | points   | u32 each,   | p bytes each,   | degree, R' places, |
//! | sample   | u32       | u32      | are, u32 | ascending   | zeros after all | u32 each           |
//! ```
//! Nodes of the sample are numbered by their *place* in it; entry and lists are places. To this crate a point is
//! bytes: a code, or a vector of the index.

use crate::build_id::BuildId;
use crate::error::{FieldError, StorageError};
use crate::header::{DAMAGED, HEADER_BYTES};
use crate::layout::MAX_DEGREE;
use crate::manifest::{CodeFormat, Manifest};
use crate::member::{MemberEntry, MemberKind};
use crate::member_reader::{MemberReader, PIECE, PayloadReader};
use crate::member_writer::MemberWriter;
use gleann_vector::Matrix;
use std::ops::RangeInclusive;
use std::path::Path;

/// Bytes before the node ids.
pub(crate) const START: u64 = 16;
const CODES: u32 = 0;
const VECTORS: u32 = 1;

/// What the points of a navigation graph are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointFormat {
    /// The codes of the nodes, in the form of the index's codes: wherever the index has codes.
    Codes,
    /// The vectors of the nodes, in the element type of the index: where it has no codes.
    Vectors,
}

/// The navigation graph of an index as it is stored.
#[derive(Debug)]
pub struct StoredMemGraph {
    /// Nodes of the sample, ascending ids of the index. A node's place here is its number in the graph.
    pub nodes: Vec<u32>,
    /// What a point is.
    pub format: PointFormat,
    /// One point a node of the sample, as bytes.
    pub points: Matrix<u8>,
    /// The place where searches of the graph begin; `None` in an empty sample only.
    pub entry: Option<u32>,
    /// The most neighbours a node has, 1 to [`MAX_DEGREE`].
    pub degree: usize,
    /// A row a node of the sample: its degree, then `degree` words, of which the first ones are places of its
    /// neighbours and the others zeros.
    pub lists: Vec<u32>,
}

impl StoredMemGraph {
    /// The neighbours of the node at `place`, as places.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn list(&self, place: usize) -> &[u32] {
        let row = &self.lists[place * (self.degree + 1)..][..=self.degree];
        &row[1..=row[0] as usize]
    }

    /// The first thing that cannot be, in a sample of an index of `index_nodes` nodes.
    fn validate(&self, index_nodes: u32) -> Result<(), FieldError> {
        let sample = self.nodes.len() as u32;
        if let Some(pair) = self.nodes.windows(2).find(|pair| pair[0] >= pair[1]) {
            let found = format!("node {} after node {}", pair[1], pair[0]);
            return Err(FieldError::new("the sample", found, "ascending ids"));
        }
        if let Some(last) = self.nodes.last().filter(|&&last| last >= index_nodes) {
            let expected = format!("nodes below {index_nodes}");
            return Err(FieldError::new("the sample", format!("node {last}"), expected));
        }
        if let Some(entry) = self.entry.filter(|&entry| entry >= sample) {
            return Err(FieldError::new("the entry", entry, format!("below {sample}")));
        }
        self.lists.chunks_exact(self.degree + 1).try_for_each(|row| self.validate_row(row))
    }

    fn validate_row(&self, row: &[u32]) -> Result<(), FieldError> {
        let (degree, sample) = (row[0] as usize, self.nodes.len());
        if degree > self.degree {
            return Err(FieldError::new("a degree", degree, format!("at most {}", self.degree)));
        }
        let (list, rest) = row[1..].split_at(degree);
        if let Some(place) = list.iter().find(|&&place| place as usize >= sample) {
            return Err(FieldError::new("a neighbour", place, format!("below {sample}")));
        }
        if rest.iter().any(|&word| word != 0) {
            return Err(FieldError::new("the words after a list", "not zero", "zeros"));
        }
        Ok(())
    }
}

/// Sizes that follow from the start of the file.
struct Shape {
    nodes: u32,
    degree: u32,
    entry: u32,
    format: PointFormat,
    point_bytes: usize,
}

impl Shape {
    fn decode(start: [u8; START as usize], manifest: &Manifest) -> Result<Self, FieldError> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| start[4 * at + i]));
        let (nodes, degree, entry) = (word(0), word(1), word(2));
        let format = match word(3) {
            CODES if manifest.codes != CodeFormat::None => PointFormat::Codes,
            VECTORS if manifest.codes == CodeFormat::None => PointFormat::Vectors,
            other => {
                let expected = "0 (codes) where the index has codes, 1 (vectors) where it has none";
                return Err(FieldError::new("what points are", other, expected));
            }
        };
        if nodes > manifest.nodes || (nodes == 0) != (manifest.nodes == 0) {
            let expected = format!("1 to {}, 0 in an empty index only", manifest.nodes);
            return Err(FieldError::new("the number of nodes", nodes, expected));
        }
        if !(1..=MAX_DEGREE as u32).contains(&degree) {
            return Err(FieldError::new("the degree bound", degree, format!("1 to {MAX_DEGREE}")));
        }
        Ok(Self { nodes, degree, entry, format, point_bytes: point_bytes(manifest, format) })
    }

    fn payload_bytes(&self) -> u64 {
        payload_bytes(self.nodes, self.point_bytes, self.degree as usize)
    }
}

fn point_bytes(manifest: &Manifest, format: PointFormat) -> usize {
    match format {
        PointFormat::Codes => manifest.codes.bytes_per_node(),
        PointFormat::Vectors => manifest.layout.dim() * manifest.layout.element().size(),
    }
}

/// Length of the payload. At most 2³² nodes of 4 + 2¹⁵ + 4 · 1025 bytes: no overflow.
fn payload_bytes(nodes: u32, point_bytes: usize, degree: usize) -> u64 {
    let nodes = u64::from(nodes);
    let points = (nodes * point_bytes as u64).next_multiple_of(4);
    START + 4 * nodes + points + nodes * 4 * (degree as u64 + 1)
}

/// Lengths that the file may have in an index of this manifest.
pub(crate) fn plausible_bytes(manifest: &Manifest) -> RangeInclusive<u64> {
    let longest = point_bytes(manifest, PointFormat::Vectors).max(manifest.codes.bytes_per_node());
    let header = HEADER_BYTES as u64;
    header + START..=header + payload_bytes(manifest.nodes, longest, MAX_DEGREE)
}

/// Length of the file of a navigation graph of `nodes` points of `point_bytes` bytes with at most `degree`
/// neighbours each.
pub fn mem_graph_bytes(nodes: u32, point_bytes: usize, degree: usize) -> u64 {
    HEADER_BYTES as u64 + payload_bytes(nodes, point_bytes, degree)
}

/// Writes the navigation graph.
///
/// # Errors
/// The system refused.
///
/// # Panics
/// If the parts differ in length or point outside the sample.
pub fn write_mem_graph(
    dir: &Path,
    build_id: BuildId,
    graph: &StoredMemGraph,
) -> Result<MemberEntry, StorageError> {
    let nodes = graph.nodes.len();
    assert_eq!(graph.points.rows(), nodes, "one point a node");
    assert_eq!(graph.lists.len(), nodes * (graph.degree + 1), "one list a node");
    assert_eq!(graph.entry.is_none(), nodes == 0, "an entry exactly where there is a node");
    assert!((1..=MAX_DEGREE).contains(&graph.degree), "degree bound {}", graph.degree);
    assert_eq!(graph.validate(u32::MAX), Ok(()), "a navigation graph to write");
    let format = match graph.format {
        PointFormat::Codes => CODES,
        PointFormat::Vectors => VECTORS,
    };
    let bytes = payload_bytes(nodes as u32, graph.points.dim(), graph.degree);
    let mut member = MemberWriter::create(dir, MemberKind::MemGraph, build_id, bytes)?;
    let start = [nodes as u32, graph.degree as u32, graph.entry.unwrap_or(0), format];
    write_words(&mut member, &start)?;
    write_words(&mut member, &graph.nodes)?;
    let points = graph.points.as_slice();
    member.write(points)?;
    member.write(&[0; 3][..points.len().next_multiple_of(4) - points.len()])?;
    write_words(&mut member, &graph.lists)?;
    member.finish()
}

fn write_words(member: &mut MemberWriter, words: &[u32]) -> Result<(), StorageError> {
    for piece in words.chunks(PIECE / 4) {
        let little: Vec<u32> = piece.iter().map(|word| word.to_le()).collect();
        member.write(bytemuck::cast_slice(&little))?;
    }
    Ok(())
}

/// Loads the navigation graph, verified and held against the manifest; `None` where the index has none.
///
/// # Errors
/// The file is missing or damaged, says what cannot be, or the system refused.
pub fn load_mem_graph(dir: &Path, manifest: &Manifest) -> Result<Option<StoredMemGraph>, StorageError> {
    let Some(member) = MemberReader::open(dir, manifest, MemberKind::MemGraph)? else { return Ok(None) };
    let at = |error: FieldError| error.at(member.path(), DAMAGED);
    let mut payload = member.payload()?;
    let mut start = [0; START as usize];
    payload.fill(&mut start)?;
    let shape = Shape::decode(start, manifest).map_err(at)?;
    // From here on the file bears out every size that memory is asked for.
    if shape.payload_bytes() != member.payload_bytes() {
        let (found, expected) = (member.payload_bytes(), shape.payload_bytes());
        let expected = format!("{expected} bytes for {} nodes of degree {}", shape.nodes, shape.degree);
        return Err(at(FieldError::new("the payload length", format!("{found} bytes"), expected)));
    }
    let sample = shape.nodes as usize;
    let nodes = read_words(&mut payload, sample)?;
    let mut points = Matrix::zeroed(sample, shape.point_bytes);
    points.as_mut_slice().chunks_mut(PIECE).try_for_each(|piece| payload.fill(piece))?;
    let mut padding = [0; 3];
    let padding = &mut padding[..points.as_slice().len().next_multiple_of(4) - points.as_slice().len()];
    payload.fill(padding)?;
    let lists = read_words(&mut payload, sample * (shape.degree as usize + 1))?;
    payload.finish()?;
    if padding.iter().any(|&byte| byte != 0) {
        return Err(at(FieldError::new("the bytes after the points", "not zero", "zeros")));
    }
    let entry = (sample > 0).then_some(shape.entry);
    let degree = shape.degree as usize;
    let graph = StoredMemGraph { nodes, format: shape.format, points, entry, degree, lists };
    graph.validate(manifest.nodes).map_err(at)?;
    Ok(Some(graph))
}

fn read_words(payload: &mut PayloadReader<'_>, count: usize) -> Result<Vec<u32>, StorageError> {
    let mut words = vec![0u32; count];
    for piece in words.chunks_mut(PIECE / 4) {
        payload.fill(bytemuck::cast_slice_mut(piece))?;
    }
    words.iter_mut().for_each(|word| *word = u32::from_le(*word));
    Ok(words)
}
