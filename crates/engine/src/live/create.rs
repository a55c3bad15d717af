//! Makes live indexes: of a static one, or of nothing.

use crate::build::{BuildError, BuildOptions, CodePlacement, build_from_rows};
use crate::error::OpenError;
use crate::live::lock::DirectoryLock;
use crate::load::load_codebook;
use gleann_quant::Codes;
use gleann_storage::{Generation, IndexDirectory, IndexKind, OsVolume, StorageError};
use gleann_update::{Adopted, Backend, adopt};
use gleann_vector::{Element, ElementType, Matrix, Silent};
use half::f16;
use std::path::Path;
use std::sync::Arc;

/// An empty live index could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The options cannot be, or the system refused.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It could not be made live.
    #[error(transparent)]
    Live(#[from] OpenError),
}

/// Makes an empty live index in `dir`, as [`Index::create`](crate::Index::create) says.
pub(crate) fn create(
    dir: &Path,
    (element, dim): (ElementType, usize),
    options: &BuildOptions,
    backend: Backend,
) -> Result<(), CreateError> {
    if options.codes != CodePlacement::Memory {
        let found = "a live index has its codes in memory; create it with CodePlacement::Memory".to_owned();
        return Err(OpenError::NotLive { path: dir.to_owned(), found }.into());
    }
    let options = BuildOptions { keys: None, ..options.clone() };
    match element {
        ElementType::F32 => build_empty::<f32>(dir, dim, &options)?,
        ElementType::F16 => build_empty::<f16>(dir, dim, &options)?,
        ElementType::U8 => build_empty::<u8>(dir, dim, &options)?,
        ElementType::I8 => build_empty::<i8>(dir, dim, &options)?,
    }
    Ok(make_live(dir, backend)?)
}

fn build_empty<T: Element>(dir: &Path, dim: usize, options: &BuildOptions) -> Result<(), BuildError> {
    build_from_rows(&Matrix::<T>::zeroed(0, dim), dir, options, &Silent).map(drop)
}

/// Makes the graph index in `dir`, as a build has made it, one that takes updates by `backend`. In place and at once: the
/// records stay where they are. Interrupted, it is done again by calling it again.
///
/// # Errors
/// `dir` is no graph index with its codes in memory, it is open elsewhere, or the system refused.
pub fn make_live(dir: &Path, backend: Backend) -> Result<(), OpenError> {
    let not = |found: &str| OpenError::NotLive { path: dir.to_owned(), found: found.to_owned() };
    if Generation::current(dir)? > Generation(0) {
        return Err(not("it is a live index already; open it"));
    }
    let _lock = DirectoryLock::take(dir)?;
    let directory = match IndexDirectory::open(dir) {
        // What an interruption has left is a static index still.
        Err(StorageError::NotAnIndex { .. }) if IndexDirectory::is_live(dir) => {
            IndexDirectory::open_live(dir)?
        }
        opened => opened?,
    };
    let manifest = directory.manifest();
    if manifest.kind != IndexKind::Graph {
        return Err(not("an index of postings cannot be updated; build a graph"));
    }
    if manifest.layout.code_bytes() > 0 {
        return Err(not(
            "an index with its codes in the records cannot be updated; build it with codes in memory",
        ));
    }
    let codes = directory
        .codes()?
        .ok_or_else(|| not("an index without codes cannot be updated; build it with PQ codes"))?;
    let codebook = load_codebook(&directory)?;
    let codes = Codes::new(codes, &codebook)
        .map_err(|error| OpenError::Codes { path: dir.to_owned(), message: error.to_string() })?;
    let keys = directory.keys()?;
    let volume = OsVolume::open(dir).map_err(|source| StorageError::Io {
        action: "opening",
        path: dir.to_owned(),
        source,
    })?;
    let adopted = Adopted {
        volume: Arc::new(volume),
        index: manifest.build_id,
        layout: manifest.layout,
        metric: manifest.metric,
        nodes: manifest.nodes,
        entry: manifest.entry.map(|node| node.0),
        codes: &codes,
        keys: keys.as_deref(),
    };
    match manifest.layout.element() {
        ElementType::F32 => adopt::<f32>(&adopted, backend)?,
        ElementType::F16 => adopt::<f16>(&adopted, backend)?,
        ElementType::U8 => adopt::<u8>(&adopted, backend)?,
        ElementType::I8 => adopt::<i8>(&adopted, backend)?,
    }
    Ok(())
}
