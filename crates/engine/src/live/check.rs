//! Checking a live index.

use crate::check::IndexCheck;
use crate::error::OpenError;
use crate::live::lock::DirectoryLock;
use crate::load::load_codebook;
use gleann_quant::Codebook;
use gleann_storage::{
    Generation, IndexDirectory, MANIFEST_NAME, Manifest, MemberKind, OsVolume, StorageError,
};
use gleann_update::{CheckParts, LiveCheck, UpdateError, check_live};
use gleann_vector::{ElementType, Progress};
use half::f16;
use std::path::Path;
use std::sync::Arc;

/// Checks the live index in `dir`, locked meanwhile.
///
/// # Errors
/// It is open, there is no manifest that could be believed, or `progress` asked to stop.
pub(crate) fn check_live_index(dir: &Path, progress: &dyn Progress) -> Result<IndexCheck, StorageError> {
    let _lock = match DirectoryLock::take(dir) {
        Err(OpenError::Storage(error)) => return Err(error),
        Err(_) => {
            let found = "it is a live index that is open; close it, or check a snapshot of it";
            return Err(StorageError::NotAnIndex { path: dir.to_owned(), found });
        }
        Ok(lock) => lock,
    };
    let own = Generation::current(dir)?.directory(dir);
    let mut check = IndexCheck::of_live(&Manifest::read(&own)?);
    let directory = match IndexDirectory::open_live(dir) {
        Ok(directory) => directory,
        Err(error) => {
            check.problem(MANIFEST_NAME, None, error);
            return Ok(check);
        }
    };
    if let Err(error) = directory.mem_graph() {
        check.problem(MemberKind::MemGraph.file_name(), None, error);
    }
    match load_codebook(&directory) {
        Ok(codebook) => check.take_live(check_files(&directory, &codebook, progress)?),
        Err(error) => check.problem(MemberKind::Codebook.file_name(), None, error),
    }
    Ok(check)
}

fn check_files(
    directory: &IndexDirectory,
    codebook: &Codebook,
    progress: &dyn Progress,
) -> Result<LiveCheck, StorageError> {
    let (dir, manifest) = (directory.path(), directory.manifest());
    let volume = OsVolume::open(dir).map_err(|source| StorageError::Io {
        action: "opening",
        path: dir.to_owned(),
        source,
    })?;
    let parts =
        CheckParts { volume: Arc::new(volume), index: manifest.build_id, layout: manifest.layout, codebook };
    let checked = match manifest.layout.element() {
        ElementType::F32 => check_live::<f32>(&parts, progress),
        ElementType::F16 => check_live::<f16>(&parts, progress),
        ElementType::U8 => check_live::<u8>(&parts, progress),
        ElementType::I8 => check_live::<i8>(&parts, progress),
    };
    checked.map_err(|error| match error {
        UpdateError::Storage(error) if matches!(*error, StorageError::Cancelled) => StorageError::Cancelled,
        other => StorageError::Io {
            action: "checking",
            path: dir.to_owned(),
            source: std::io::Error::other(other),
        },
    })
}
