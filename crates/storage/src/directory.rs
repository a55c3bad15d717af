//! An index directory: its manifest, and the members the manifest names.

use crate::centroid_file::{Centroids, load_centroids};
use crate::code_file::{load_codebook, load_codes};
use crate::error::StorageError;
use crate::generation::{CURRENT_NAME, Generation};
use crate::graph_file::GraphFile;
use crate::key_file::load_keys;
use crate::manifest::Manifest;
use crate::manifest_file::MANIFEST_NAME;
use crate::mem_graph_file::{StoredMemGraph, load_mem_graph};
use crate::member::MemberKind;
use crate::member_reader::MemberReader;
use crate::page_table::PAGE_TABLE_NAME;
use crate::posting_file::PostingFile;
use crate::report_file::read_report;
use gleann_vector::{Element, Key, Matrix};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// A directory whose manifest is valid and whose members all exist, with the right length, in headers of the
/// right build. Payloads are verified when they are loaded, blocks when they are read.
#[derive(Debug, Clone)]
pub struct IndexDirectory {
    path: PathBuf,
    manifest: Manifest,
}

impl IndexDirectory {
    /// Opens the index in `dir`. Reads the manifest and one header a member.
    ///
    /// # Errors
    /// `dir` is no index, or a file is missing, cut, damaged, or from another build.
    pub fn open(dir: &Path) -> Result<Self, StorageError> {
        // Of a later generation the manifest is elsewhere.
        let manifest = if dir.join(CURRENT_NAME).exists() { None } else { Some(Manifest::read(dir)?) };
        let Some(manifest) = manifest.filter(|_| !Self::is_live(dir)) else {
            let found = "it is a live index, and this is for static ones; `Index::open`, `update`, `check-index` and \
                         `run-bench` take live ones";
            return Err(StorageError::NotAnIndex { path: dir.to_owned(), found });
        };
        for entry in &manifest.members {
            MemberReader::open(dir, &manifest, entry.kind)?;
        }
        Ok(Self { path: dir.to_owned(), manifest })
    }

    /// Opens what a live index in `dir` keeps of the build it began with: the manifest, the codebook and the navigation
    /// graph. Its blocks, codes and keys are those of the page table. The path is that of its generation.
    ///
    /// # Errors
    /// As [`IndexDirectory::open`].
    pub fn open_live(dir: &Path) -> Result<Self, StorageError> {
        let path = Generation::current(dir)?.directory(dir);
        let manifest = Manifest::read(&path)?;
        for kind in [MemberKind::Codebook, MemberKind::MemGraph] {
            MemberReader::open(&path, &manifest, kind)?;
        }
        Ok(Self { path, manifest })
    }

    /// Opens what there is of an index, static or live, that does not change.
    ///
    /// # Errors
    /// As [`IndexDirectory::open`].
    pub fn open_any(dir: &Path) -> Result<Self, StorageError> {
        if Self::is_live(dir) { Self::open_live(dir) } else { Self::open(dir) }
    }

    /// Whether `dir` holds a live index: one with a page table, or with generations.
    pub fn is_live(dir: &Path) -> bool {
        dir.join(PAGE_TABLE_NAME).exists() || dir.join(CURRENT_NAME).exists()
    }

    /// Whether `dir` holds a manifest, so that a new build must not touch it.
    pub fn is_index(dir: &Path) -> bool {
        dir.join(MANIFEST_NAME).exists() || dir.join(CURRENT_NAME).exists()
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the index is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Opens the graph.
    ///
    /// # Errors
    /// As [`GraphFile::open`].
    pub fn graph(&self) -> Result<GraphFile, StorageError> {
        GraphFile::open(&self.path, &self.manifest)
    }

    /// Opens the postings.
    ///
    /// # Errors
    /// As [`PostingFile::open`].
    pub fn postings(&self) -> Result<PostingFile, StorageError> {
        PostingFile::open(&self.path, &self.manifest)
    }

    /// Loads the centroids of the postings; `None` where the index is a graph.
    ///
    /// # Errors
    /// As [`load_centroids`].
    pub fn centroids<T: Element>(&self) -> Result<Option<Centroids<T>>, StorageError> {
        load_centroids(&self.path, &self.manifest)
    }

    /// Loads the codebook; `None` where the index has no codes.
    ///
    /// # Errors
    /// As [`load_codebook`].
    pub fn codebook(&self) -> Result<Option<Vec<u8>>, StorageError> {
        load_codebook(&self.path, &self.manifest)
    }

    /// Loads the codes, nodes × bytes of a code; `None` where the index has none.
    ///
    /// # Errors
    /// As [`load_codes`].
    pub fn codes(&self) -> Result<Option<Matrix<u8>>, StorageError> {
        load_codes(&self.path, &self.manifest)
    }

    /// Loads the keys; `None` where keys are internal ids.
    ///
    /// # Errors
    /// As [`load_keys`].
    pub fn keys(&self) -> Result<Option<Vec<Key>>, StorageError> {
        load_keys(&self.path, &self.manifest)
    }

    /// Loads the navigation graph; `None` where the index has none.
    ///
    /// # Errors
    /// As [`load_mem_graph`].
    pub fn mem_graph(&self) -> Result<Option<StoredMemGraph>, StorageError> {
        load_mem_graph(&self.path, &self.manifest)
    }

    /// Reads what the build measured.
    ///
    /// # Errors
    /// As [`read_report`].
    pub fn report(&self) -> Result<Map<String, Value>, StorageError> {
        read_report(&self.path, self.manifest.build_id)
    }
}
