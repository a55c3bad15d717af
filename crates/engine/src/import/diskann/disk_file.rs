//! `_disk.index`: vectors and lists, in sectors.

use super::super::ImportError;
use super::array::ArrayFile;
use super::header::{Header, SECTOR};
use gleann_storage::MAX_DEGREE;
use gleann_vector::ElementType;
use std::path::Path;

/// An open disk file of a known element type.
#[derive(Debug)]
pub(crate) struct DiskFile {
    file: ArrayFile,
    pub header: Header,
    element: ElementType,
    degree: usize,
    /// The place of every node, counted from the first of the first sector of nodes; `None` where that is its id.
    places: Option<Vec<u32>>,
    blocks: u64,
    /// What the stored components are multiplied by, and that the last one is none of the vector's.
    pub augmented: Option<f32>,
}

/// A node as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiskNode<'a> {
    vector: &'a [u8],
    list: &'a [u8],
    augmented: Option<f32>,
}

impl DiskFile {
    /// Takes the file as one of nodes lying at `places`, on so many pages. Until [`DiskFile::set_element`] has been
    /// called, elements are bytes.
    ///
    /// # Errors
    /// Its length is not that of the nodes its header names.
    pub(crate) fn new(
        file: ArrayFile,
        header: Header,
        places: Option<(Vec<u32>, u64)>,
    ) -> Result<Self, ImportError> {
        let by_id = u64::from(header.nodes).div_ceil(header.nodes_per_block() as u64);
        let (places, blocks) = places.map_or((None, by_id), |(places, blocks)| (Some(places), blocks));
        let disk =
            Self { file, header, element: ElementType::U8, degree: 0, places, blocks, augmented: None };
        disk.expect_length(blocks)?;
        Ok(disk)
    }

    fn expect_length(&self, blocks: u64) -> Result<(), ImportError> {
        let expected = u128::from(blocks) * self.block_bytes() as u128 + SECTOR as u128;
        if u128::from(self.file.length) == expected {
            return Ok(());
        }
        let Header { nodes, node_bytes, .. } = self.header;
        let expected = format!("{expected} for {nodes} nodes of {node_bytes} bytes");
        Err(ImportError::field(&self.file.path, "the length in bytes", self.file.length, expected))
    }

    /// Takes elements as of this type.
    ///
    /// # Errors
    /// A node of this length cannot hold such a vector.
    pub(crate) fn set_element(&mut self, element: ElementType) -> Result<(), ImportError> {
        self.degree = degree(&self.file.path, &self.header, element)?;
        self.element = element;
        Ok(())
    }

    /// Does `work` with nodes taken to lie by their ids (or as they are, if not `by_id`).
    pub(crate) fn read_by_id<R>(&mut self, by_id: bool, work: impl FnOnce(&Self) -> R) -> R {
        let places = if by_id { self.places.take() } else { None };
        let result = work(self);
        if by_id {
            self.places = places;
        }
        result
    }

    /// From now on nodes lie by their ids.
    ///
    /// # Errors
    /// The file is longer than that.
    pub(crate) fn lie_by_id(&mut self) -> Result<(), ImportError> {
        self.places = None;
        self.blocks = u64::from(self.header.nodes).div_ceil(self.header.nodes_per_block() as u64);
        self.expect_length(self.blocks)
    }

    /// Bytes of memory that grow with the index.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.places.as_ref().map_or(0, |places| 4 * places.len() as u64)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.header.nodes
    }

    pub(crate) fn element(&self) -> ElementType {
        self.element
    }

    /// Ids a list may hold.
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    pub(crate) fn block_bytes(&self) -> usize {
        self.header.block_bytes()
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    fn place(&self, node: u32) -> u32 {
        self.places.as_ref().map_or(node, |places| places[node as usize])
    }

    pub(crate) fn block_of(&self, node: u32) -> u64 {
        u64::from(self.place(node)) / self.header.nodes_per_block() as u64
    }

    pub(crate) fn read_block(&self, block: u64, into: &mut [u8]) -> Result<(), ImportError> {
        assert!(into.len() == self.block_bytes() && block < self.blocks, "block {block} of {}", self.blocks);
        self.file.read(SECTOR as u64 + block * into.len() as u64, into)
    }

    /// The checked node in its block.
    pub(crate) fn node<'a>(&self, block: &'a [u8], node: u32) -> Result<DiskNode<'a>, ImportError> {
        let slot = self.place(node) as usize % self.header.nodes_per_block();
        let bytes = &block[slot * self.header.node_bytes..][..self.header.node_bytes];
        let (vector, rest) = bytes.split_at(self.header.dim * self.element.size());
        let degree = word(rest);
        let wrong = |field, found: u32, expected: String| {
            let found = format!("{found} in node {node}");
            Err(ImportError::field(self.path(), field, found, expected))
        };
        if degree as usize > self.degree {
            return wrong("a degree", degree, format!("at most {}", self.degree));
        }
        let list = &rest[4..4 + 4 * degree as usize];
        match list.chunks_exact(4).map(word).find(|&id| id >= self.header.nodes) {
            Some(id) => wrong("a neighbour", id, format!("a point below {}", self.header.nodes)),
            None => Ok(DiskNode { vector, list, augmented: self.augmented }),
        }
    }
}

impl DiskNode<'_> {
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = u32> {
        self.list.chunks_exact(4).map(word)
    }

    /// Writes the bytes of the vector's elements.
    pub(crate) fn copy_vector(&self, into: &mut [u8]) {
        let Some(scale) = self.augmented else { return into.copy_from_slice(self.vector) };
        assert_eq!(into.len() + 4, self.vector.len(), "a vector without its last component");
        for (into, stored) in into.chunks_exact_mut(4).zip(self.vector.chunks_exact(4)) {
            into.copy_from_slice(&(f32::from_bits(word(stored)) * scale).to_le_bytes());
        }
    }
}

/// The degree bound of nodes of `element`, which follows from their length.
pub(crate) fn degree(path: &Path, header: &Header, element: ElementType) -> Result<usize, ImportError> {
    let vector = header.dim * element.size();
    let ids =
        header.node_bytes.checked_sub(vector + 4).filter(|ids| ids.is_multiple_of(4)).map(|ids| ids / 4);
    match ids.filter(|ids| (1..=MAX_DEGREE).contains(ids)) {
        Some(degree) => Ok(degree),
        None => {
            let expected = format!(
                "{vector} for {} components of {element}, 4, and 4 for each of 1 to {MAX_DEGREE} neighbours",
                header.dim
            );
            Err(ImportError::field(path, "the bytes of a node", header.node_bytes, expected))
        }
    }
}

/// The first four bytes as a number.
fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
