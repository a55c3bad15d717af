//! `postings.gln`: the postings of an index, one block each. Written in order, read outside of searches by checks.

use crate::block_layout::BlockLayout;
use crate::build_id::BuildId;
use crate::error::{FieldError, StorageError};
use crate::header::{DAMAGED, Header};
use crate::layout::BlockId;
use crate::manifest::{IndexKind, Manifest};
use crate::manifest_file::MANIFEST_NAME;
use crate::member::{MemberEntry, MemberKind};
use crate::member_reader::MemberReader;
use crate::member_writer::MemberWriter;
use crate::posting::{PostingLayout, encode_posting};
use crate::reader::ReadTarget;
use gleann_vector::{Element, Matrix, Progress};
use std::path::Path;
use std::sync::Arc;

/// Bytes gathered before a write, and read at a time.
const BUFFER: usize = 2 << 20;

/// Writes the postings of the rows `members(0)`, `members(1)`, … of `vectors`, `postings` of them. Progress counts
/// postings.
///
/// # Errors
/// The system refused, or `progress` asked to stop.
///
/// # Panics
/// If a posting is too long.
pub fn write_postings<'a, T: Element>(
    (dir, build_id): (&Path, BuildId),
    layout: &PostingLayout,
    (postings, members): (u32, impl Fn(u32) -> &'a [u32]),
    vectors: &Matrix<T>,
    progress: &dyn Progress,
) -> Result<MemberEntry, StorageError> {
    let blocks = layout.blocks();
    let header = Header {
        kind: MemberKind::Postings.tag(),
        build_id,
        payload_bytes: u64::from(postings) * blocks.block_bytes() as u64,
        payload_offset: blocks.offset(BlockId(0)) as u32,
        payload_crc: 0,
    };
    let mut member = MemberWriter::with_header(dir, MemberKind::Postings, header)?;
    let most = (BUFFER / blocks.block_bytes()).max(1);
    let mut buffer = vec![0; most * blocks.block_bytes()];
    for first in (0..postings).step_by(most) {
        if progress.cancelled() {
            return Err(StorageError::Cancelled);
        }
        let count = most.min((postings - first) as usize);
        let used = &mut buffer[..count * blocks.block_bytes()];
        for (id, block) in (first..).zip(used.chunks_exact_mut(blocks.block_bytes())) {
            encode_posting(layout, (BlockId(id), members(id)), vectors, block);
        }
        member.write(used)?;
        progress.advance(count as u64);
    }
    member.finish()
}

/// An open postings file whose length and header agree with the manifest.
#[derive(Debug)]
pub struct PostingFile {
    member: MemberReader,
    layout: PostingLayout,
    postings: u32,
}

impl PostingFile {
    /// Opens the postings of the index that `manifest` describes in `dir`.
    ///
    /// # Errors
    /// The index holds a graph, or the file is missing, or its length or header is not what the manifest says.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<Self, StorageError> {
        let path = dir.join(MemberKind::Postings.file_name());
        let IndexKind::Postings { postings, pages } = manifest.kind else {
            return Err(FieldError::new("the kind of index", "a graph", "postings")
                .at(&dir.join(MANIFEST_NAME), "this takes an index that was built with --spann"));
        };
        let layout = PostingLayout::new(manifest.layout, pages as usize)
            .map_err(|error| FieldError::new("the posting", error, "a supported one").at(&path, DAMAGED))?;
        let member = MemberReader::open(dir, manifest, MemberKind::Postings)?
            .ok_or(StorageError::MissingMember { path })?;
        Ok(Self { member, layout, postings })
    }

    /// The file's path, for a reader that opens it by its own means.
    pub fn path(&self) -> &Path {
        self.member.path()
    }

    /// Geometry of a posting.
    pub fn layout(&self) -> &PostingLayout {
        &self.layout
    }

    /// Number of postings, which is that of blocks.
    pub fn postings(&self) -> u32 {
        self.postings
    }

    /// The file as a reader of blocks takes it.
    pub fn target(&self) -> ReadTarget {
        ReadTarget {
            file: Arc::from(self.path()),
            layout: self.layout.blocks(),
            blocks: u64::from(self.postings),
        }
    }

    /// Reads all postings in order, in large pieces, unverified, and holds the file against its checksums. Progress
    /// counts postings.
    pub(crate) fn scan(
        &self,
        progress: &dyn Progress,
        mut visit: impl FnMut(BlockId, &[u8]),
    ) -> Result<(), StorageError> {
        let blocks: BlockLayout = self.layout.blocks();
        let mut payload = self.member.payload()?;
        let most = (BUFFER / blocks.block_bytes()).max(1);
        // A matrix for its alignment: vectors of any element type are viewed in place.
        let mut chunk = Matrix::<u8>::zeroed(most, blocks.block_bytes());
        for first in (0..self.postings).step_by(most) {
            if progress.cancelled() {
                return Err(StorageError::Cancelled);
            }
            let count = most.min((self.postings - first) as usize);
            let piece = &mut chunk.as_mut_slice()[..count * blocks.block_bytes()];
            payload.fill(piece)?;
            for (id, block) in (first..).zip(piece.chunks_exact(blocks.block_bytes())) {
                visit(BlockId(id), block);
            }
            progress.advance(count as u64);
        }
        payload.finish()
    }
}
