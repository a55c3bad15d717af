//! How one table replaces another.

use super::error::io_error;
use super::store::{TABLE_NAME, TABLE_TEMPORARY};
use gleann_storage::{StorageError, StoredPageTable, Volume};

/// A table could not be made the one in force.
pub(super) enum SwitchError {
    /// The old table stands.
    Before(StorageError),
    /// The old table stands, or the new one, and a crash may bring the other.
    Unsure(StorageError),
}

/// Writes `stored` beside the table file and, once it is durable, renames it into its place.
pub(super) fn switch_table(volume: &dyn Volume, stored: &StoredPageTable) -> Result<(), SwitchError> {
    if let Err(error) = write_temporary(volume, stored) {
        // The next writer overwrites what cannot be removed; nobody reads it.
        let _ = volume.remove(TABLE_TEMPORARY);
        return Err(SwitchError::Before(error));
    }
    let path = volume.path(TABLE_NAME);
    volume
        .rename(TABLE_TEMPORARY, TABLE_NAME)
        .map_err(io_error("renaming to", &path))
        .and_then(|()| volume.sync_dir().map_err(io_error("fsync of the directory of", &path)))
        .map_err(SwitchError::Unsure)
}

fn write_temporary(volume: &dyn Volume, stored: &StoredPageTable) -> Result<(), StorageError> {
    let path = volume.path(TABLE_TEMPORARY);
    let file = volume.create(TABLE_TEMPORARY).map_err(io_error("creating", &path))?;
    stored.write(&*file, &path)?;
    file.sync().map_err(io_error("fsync of", &path))
}
