//! One process at a time has a live index open.

use crate::error::OpenError;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

const LOCK_NAME: &str = "LOCK";

/// Held for as long as an index is open; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock(#[allow(dead_code)] File);

impl DirectoryLock {
    /// Locks a live index.
    pub(crate) fn take(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join(LOCK_NAME);
        let refused = |source| {
            OpenError::Storage(gleann_storage::StorageError::Io {
                action: "locking",
                path: path.clone(),
                source,
            })
        };
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked(dir.to_owned())),
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                Ok(Self(file))
            }
            Err(TryLockError::Error(error)) => Err(refused(error)),
        }
    }
}
