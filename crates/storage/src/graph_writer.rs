//! Writing `graph.gln`: records in the order of internal ids, packed into sealed blocks.

use crate::block::seal_block;
use crate::build_id::BuildId;
use crate::error::StorageError;
use crate::header::Header;
use crate::layout::{BLOCK_TRAILER, BlockId, Layout};
use crate::member::{MemberEntry, MemberKind};
use crate::member_writer::MemberWriter;
use crate::record::{NewRecord, encode_record};
use gleann_vector::{Element, NodeId};
use std::path::Path;

/// Bytes gathered before a write.
const BUFFER: usize = 2 << 20;

/// A graph file being written. Dropped before [`GraphWriter::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct GraphWriter {
    member: MemberWriter,
    layout: Layout,
    nodes: u32,
    pushed: u32,
    buffer: Vec<u8>,
    /// Bytes of sealed blocks at the start of the buffer.
    sealed: usize,
}

impl GraphWriter {
    /// Begins the graph file of `nodes` records in `dir`. Its disk space is taken now.
    ///
    /// # Errors
    /// The file cannot be made, or the disk is too full.
    pub fn create(dir: &Path, layout: Layout, nodes: u32, build_id: BuildId) -> Result<Self, StorageError> {
        let header = Header {
            kind: MemberKind::Graph.tag(),
            build_id,
            payload_bytes: layout.file_bytes(nodes.into()) - layout.page_size() as u64,
            payload_offset: layout.page_size() as u32,
            payload_crc: 0,
        };
        let member = MemberWriter::with_header(dir, MemberKind::Graph, header)?;
        let blocks = (BUFFER / layout.block_bytes()).max(1);
        let buffer = vec![0; blocks * layout.block_bytes()];
        Ok(Self { member, layout, nodes, pushed: 0, buffer, sealed: 0 })
    }

    /// Appends the record of the next internal id, counted from 0.
    ///
    /// # Errors
    /// The system refused.
    ///
    /// # Panics
    /// If the vector, the list or the codes do not fit the layout, a neighbour is the node itself or not a node of this
    /// index, or there are more records than announced.
    pub fn push<T: Element>(&mut self, record: &NewRecord<'_, T>) -> Result<(), StorageError> {
        let neighbours = record.neighbours;
        assert_eq!(T::TYPE, self.layout.element(), "element type of the layout");
        assert!(self.pushed < self.nodes, "more than {} records", self.nodes);
        assert!(
            neighbours.iter().all(|&id| id < self.nodes && id != self.pushed),
            "node {} of {} has neighbours {neighbours:?}",
            self.pushed,
            self.nodes
        );
        let slot = self.layout.slot_of(NodeId(self.pushed));
        let length = self.layout.record_bytes();
        let place = self.sealed + slot * length;
        encode_record(&self.layout, record, &mut self.buffer[place..place + length]);
        self.pushed += 1;
        if slot + 1 == self.layout.records_per_block() || self.pushed == self.nodes {
            self.seal(slot + 1)?;
        }
        Ok(())
    }

    /// Closes the block under way, of which `records` records are taken.
    fn seal(&mut self, records: usize) -> Result<(), StorageError> {
        let block = &mut self.buffer[self.sealed..self.sealed + self.layout.block_bytes()];
        let end = block.len() - BLOCK_TRAILER;
        block[records * self.layout.record_bytes()..end].fill(0);
        let id: BlockId = self.layout.block_of(NodeId(self.pushed - 1));
        seal_block(block, id);
        self.sealed += self.layout.block_bytes();
        if self.sealed == self.buffer.len() { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<(), StorageError> {
        self.member.write(&self.buffer[..self.sealed])?;
        self.sealed = 0;
        Ok(())
    }

    /// Writes what is left and makes the file durable.
    ///
    /// # Errors
    /// The system refused; no graph file is left.
    ///
    /// # Panics
    /// If there are fewer records than announced.
    pub fn finish(mut self) -> Result<MemberEntry, StorageError> {
        assert_eq!(self.pushed, self.nodes, "records pushed");
        self.write_out()?;
        self.member.finish()
    }
}
