//! Reading `graph.gln` outside of searches: single blocks, and everything in order for checks and statistics.

use crate::block::{BlockError, record_bytes, verify_block};
use crate::error::{FieldError, StorageError};
use crate::layout::{BlockId, Layout};
use crate::manifest::{IndexKind, Manifest};
use crate::manifest_file::MANIFEST_NAME;
use crate::member::MemberKind;
use crate::member_reader::{MemberReader, PayloadReader};
use crate::reader::ReadTarget;
use crate::record::Record;
use gleann_vector::{Matrix, NodeId, Progress};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes read at a time by a scan.
const CHUNK: usize = 4 << 20;

/// An open graph file whose length and header agree with the manifest.
#[derive(Debug)]
pub struct GraphFile {
    member: MemberReader,
    layout: Layout,
    nodes: u32,
}

impl GraphFile {
    /// Opens the graph of the index that `manifest` describes in `dir`.
    ///
    /// # Errors
    /// The index holds postings, or the file is missing, or its length or header is not what the manifest says.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<Self, StorageError> {
        if manifest.kind != IndexKind::Graph {
            return Err(FieldError::new("the kind of index", "postings", "a graph")
                .at(&dir.join(MANIFEST_NAME), "this takes an index that was built without --spann"));
        }
        let member = MemberReader::open(dir, manifest, MemberKind::Graph)?
            .ok_or_else(|| StorageError::MissingMember { path: dir.join(MemberKind::Graph.file_name()) })?;
        Ok(Self { member, layout: manifest.layout, nodes: manifest.nodes })
    }

    /// The file's path, for a reader that opens it by its own means.
    pub fn path(&self) -> &Path {
        self.member.path()
    }

    /// The open file.
    pub fn file(&self) -> &File {
        self.member.file()
    }

    /// Record geometry.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of records.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        u32::try_from(self.layout.blocks(self.nodes.into())).expect("at most one block a node")
    }

    /// The file as a reader of blocks takes it.
    pub fn target(&self) -> ReadTarget {
        ReadTarget {
            file: Arc::from(self.path()),
            layout: self.layout.block_layout(),
            blocks: u64::from(self.blocks()),
        }
    }

    /// The nodes whose records lie in a block.
    pub fn nodes_of(&self, block: BlockId) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        self.layout.nodes_of(block, self.nodes).map(NodeId)
    }

    /// Reads one block and verifies it.
    ///
    /// # Errors
    /// The system refused, or the block is damaged.
    ///
    /// # Panics
    /// If `into` is not one block long.
    pub fn read_block(&self, id: BlockId, into: &mut [u8]) -> Result<(), StorageError> {
        assert_eq!(into.len(), self.layout.block_bytes(), "block buffer");
        let offset = self.layout.offset(id);
        self.file().read_exact_at(into, offset).map_err(StorageError::io("reading", self.path()))?;
        verify_block(into, id).map_err(self.at(id))
    }

    /// The bytes of the record of `node` in its block.
    pub fn record_bytes<'a>(&self, block: &'a [u8], node: NodeId) -> &'a [u8] {
        record_bytes(&self.layout, block, self.layout.slot_of(node))
    }

    /// The record of `node` in its block.
    ///
    /// # Errors
    /// Its degree or a neighbour is impossible.
    pub fn record<'a>(&self, block: &'a [u8], node: NodeId) -> Result<Record<'a>, StorageError> {
        let bytes = self.record_bytes(block, node);
        Record::decode(&self.layout, bytes, self.nodes).map_err(|source| StorageError::Record {
            path: self.path().to_owned(),
            node: node.0,
            source,
        })
    }

    /// Reads all blocks in order, in large pieces, unverified. Progress counts bytes.
    pub(crate) fn scan(
        &self,
        progress: &dyn Progress,
        mut visit: impl FnMut(BlockId, &[u8]) -> Result<(), StorageError>,
    ) -> Result<PayloadReader<'_>, StorageError> {
        let mut payload = self.member.payload()?;
        let size = self.layout.block_bytes();
        let most = (CHUNK / size).clamp(1, self.blocks().max(1) as usize);
        // A matrix for its alignment: vectors of any element type are viewed in place.
        let mut chunk = Matrix::<u8>::zeroed(most, size);
        let mut next = 0;
        while payload.left() > 0 {
            if progress.cancelled() {
                return Err(StorageError::Cancelled);
            }
            let length = payload.left().min((most * size) as u64) as usize;
            let piece = &mut chunk.as_mut_slice()[..length];
            payload.fill(piece)?;
            for block in piece.chunks_exact(size) {
                visit(BlockId(next), block)?;
                next += 1;
            }
            progress.advance(length as u64);
        }
        Ok(payload)
    }

    /// Visits all records in the order of ids, verified. Progress counts bytes of the blocks.
    ///
    /// # Errors
    /// The system refused, a block or record is damaged, or `progress` asked to stop.
    pub fn for_each_record(
        &self,
        progress: &dyn Progress,
        mut visit: impl FnMut(NodeId, Record<'_>),
    ) -> Result<(), StorageError> {
        let payload = self.scan(progress, |id, block| {
            verify_block(block, id).map_err(self.at(id))?;
            for node in self.nodes_of(id) {
                visit(node, self.record(block, node)?);
            }
            Ok(())
        })?;
        payload.finish()
    }

    fn at(&self, id: BlockId) -> impl FnOnce(BlockError) -> StorageError {
        let offset = self.layout.offset(id);
        move |source| StorageError::Block { path: self.path().to_owned(), block: id.0, offset, source }
    }
}
