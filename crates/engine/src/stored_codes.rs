//! Codes as an index holds them, one by one: in a file of their own, or beside the ids in records.

use gleann_storage::{GraphFile, HEADER_BYTES, IndexDirectory, MemberKind, NodeReader, StorageError};
use gleann_vector::NodeId;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A code that an index holds.
pub(crate) struct StoredCode {
    /// Whose it should be.
    pub(crate) node: u32,
    /// Where it lies in its file.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Where an index holds its codes.
pub(crate) enum StoredCodes<'a> {
    Member { file: File, path: PathBuf, length: usize },
    Records(NodeReader<'a>),
}

impl<'a> StoredCodes<'a> {
    pub(crate) fn open(
        index: &IndexDirectory,
        graph: &'a GraphFile,
        length: usize,
    ) -> Result<Self, StorageError> {
        if graph.layout().code_bytes() > 0 {
            return Ok(StoredCodes::Records(NodeReader::new(graph)));
        }
        let path = index.path().join(MemberKind::Codes.file_name());
        match File::open(&path) {
            Ok(file) => Ok(StoredCodes::Member { file, path, length }),
            Err(source) => Err(StorageError::Io { action: "reading", path, source }),
        }
    }

    /// The file they are in.
    pub(crate) fn file(&self) -> &'static str {
        match self {
            StoredCodes::Member { .. } => MemberKind::Codes.file_name(),
            StoredCodes::Records(_) => MemberKind::Graph.file_name(),
        }
    }

    /// The code of `node`; or, of those in its record, that of a neighbour, another one for every node. `None` where
    /// it has no neighbours.
    pub(crate) fn next(&mut self, node: u32) -> Result<Option<StoredCode>, StorageError> {
        match self {
            StoredCodes::Member { file, path, length } => {
                let offset = HEADER_BYTES as u64 + u64::from(node) * *length as u64;
                let mut bytes = vec![0; *length];
                let io = |source| StorageError::Io { action: "reading", path: path.clone(), source };
                file.read_exact_at(&mut bytes, offset).map_err(io)?;
                Ok(Some(StoredCode { node, offset, bytes }))
            }
            StoredCodes::Records(reader) => {
                let (layout, node) = (*reader.file().layout(), NodeId(node));
                let (id, slot) = (layout.block_of(node), layout.slot_of(node));
                let record = reader.record(node)?;
                let place = node.0 as usize % record.degree().max(1);
                let Some(neighbour) = record.neighbours().nth(place) else { return Ok(None) };
                let codes_start = layout.vector_bytes() + 4 + 4 * layout.degree();
                let within = slot * layout.record_bytes() + codes_start + place * layout.code_bytes();
                let bytes = record.codes()[place * layout.code_bytes()..][..layout.code_bytes()].to_vec();
                Ok(Some(StoredCode { node: neighbour, offset: layout.offset(id) + within as u64, bytes }))
            }
        }
    }
}
