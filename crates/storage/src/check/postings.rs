//! The part of a check that walks over postings.

use crate::block::verify_block;
use crate::check::{CheckReport, file_name};
use crate::error::StorageError;
use crate::layout::BlockId;
use crate::manifest::Manifest;
use crate::posting::{Posting, PostingLayout};
use crate::posting_file::PostingFile;
use gleann_vector::{Element, ElementType, NotFinite, Progress, check_finite};
use half::f16;
use std::path::Path;

/// Checks every posting: its block, count and ids (different within a posting), that vectors are finite, that all
/// copies of a vector are the same, and that every vector is in some posting. Memory: 5 bytes a vector.
///
/// # Errors
/// The file cannot be opened or read, its checksums do not match, or `progress` asked to stop.
pub(crate) fn check_postings(
    dir: &Path,
    manifest: &Manifest,
    progress: &dyn Progress,
    report: &mut CheckReport,
) -> Result<(), StorageError> {
    let file = PostingFile::open(dir, manifest)?;
    progress.phase("check postings", file.postings().into());
    let nodes = manifest.nodes;
    let mut walk = Walk {
        layout: *file.layout(),
        element: manifest.layout.element(),
        nodes,
        name: file_name(file.path()),
        report,
        copies: vec![0; nodes as usize],
        sums: vec![0; nodes as usize],
        sorted: Vec::new(),
    };
    let scanned = file.scan(progress, |id, block| walk.posting(id, block));
    walk.finish();
    scanned
}

struct Walk<'a> {
    layout: PostingLayout,
    element: ElementType,
    nodes: u32,
    name: String,
    report: &'a mut CheckReport,
    /// Postings that hold each vector, up to 255.
    copies: Vec<u8>,
    /// A checksum of the first copy of each vector.
    sums: Vec<u32>,
    /// Scratch: the ids under check.
    sorted: Vec<u32>,
}

impl Walk<'_> {
    fn posting(&mut self, id: BlockId, block: &[u8]) {
        let offset = self.layout.blocks().offset(id);
        let checked = verify_block(block, id).map_err(|error| error.to_string()).and_then(|()| {
            Posting::decode(&self.layout, block, self.nodes).map_err(|error| error.to_string())
        });
        let posting = match checked {
            Ok(posting) => posting,
            Err(message) => {
                self.report.problem(&self.name, offset, format!("posting {}: {message}", id.0));
                return;
            }
        };
        if !posting.rest_is_zero(&self.layout, block) {
            let message = format!("posting {}: bytes beside the vectors, expected zeros", id.0);
            self.report.problem(&self.name, offset, message);
        }
        if let Err(error) = finite(self.element, self.layout.dim(), &posting) {
            let message = format!(
                "posting {}: component {} of vector {} is {}",
                id.0, error.component, error.row, error.value
            );
            self.report.problem(&self.name, offset, message);
        }
        self.members(id, offset, &posting);
    }

    fn members(&mut self, id: BlockId, offset: u64, posting: &Posting<'_>) {
        self.report.records += posting.len() as u64;
        self.sorted.clear();
        self.sorted.extend(posting.ids());
        self.sorted.sort_unstable();
        for run in self.sorted.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
            let message = format!("posting {}: vector {} is in it {} times", id.0, run[0], run.len());
            self.report.problem(&self.name, offset, message);
        }
        let bytes = posting.vectors::<u8>().chunks_exact(self.layout.dim() * self.element.size());
        for (node, vector) in posting.ids().zip(bytes) {
            let (sum, copies) = (crc32c::crc32c(vector), &mut self.copies[node as usize]);
            if *copies > 0 && self.sums[node as usize] != sum {
                let message = format!("posting {}: vector {node} differs from its other copies", id.0);
                self.report.problem(&self.name, offset, message);
            }
            *copies = copies.saturating_add(1);
            self.sums[node as usize] = sum;
        }
    }

    fn finish(self) {
        let most = self.copies.iter().copied().max().unwrap_or(0);
        self.report.copies = vec![0; usize::from(most) + 1];
        for (node, &copies) in self.copies.iter().enumerate() {
            self.report.copies[usize::from(copies)] += 1;
            if copies == 0 {
                self.report.problem(&self.name, None, format!("vector {node} is in no posting"));
            }
        }
    }
}

fn finite(element: ElementType, dim: usize, posting: &Posting<'_>) -> Result<(), NotFinite> {
    fn all<T: Element>(dim: usize, posting: &Posting<'_>) -> Result<(), NotFinite> {
        check_finite(posting.vectors::<T>(), dim, 0)
    }
    match element {
        ElementType::F32 => all::<f32>(dim, posting),
        ElementType::F16 => all::<f16>(dim, posting),
        ElementType::U8 | ElementType::I8 => Ok(()),
    }
}
