//! Snapshots: a copy of a live index in a directory of its own.

use gleann_storage::{IndexDirectory, MANIFEST_NAME, MemberKind, OsVolume, REPORT_NAME, StorageError};
use gleann_update::UpdateError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes a copy of the live index in `from`, of which `blocks` writes table, blocks and log. The directory appears whole
/// or not at all.
pub(crate) fn snapshot(
    from: &Path,
    to: &Path,
    blocks: impl FnOnce(Arc<OsVolume>) -> Result<(), UpdateError>,
) -> Result<(), UpdateError> {
    let made = expect_absent(to).and_then(|()| unfinished_name(to))?;
    remove_directory(&made)?;
    fs::create_dir_all(&made).map_err(refused("making the directory", &made))?;
    let copied = copy_members(from, &made).and_then(|()| {
        let volume = OsVolume::open(&made).map_err(refused("opening", &made))?;
        blocks(Arc::new(volume))?;
        sync_directory(&made)?;
        expect_absent(to)?;
        fs::rename(&made, to).map_err(refused("renaming to", to))?;
        sync_directory(to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
    });
    if copied.is_err() {
        // The first error is the one to report; what is left is removed by the next snapshot to this place.
        let _ = remove_directory(&made);
    }
    copied
}

/// What a live index keeps of the build it began with.
fn copy_members(from: &Path, to: &Path) -> Result<(), UpdateError> {
    let directory = IndexDirectory::open_live(from)?;
    let members = [MemberKind::Codebook, MemberKind::MemGraph]
        .into_iter()
        .filter_map(|kind| directory.manifest().member(kind).map(|entry| entry.name.as_str()));
    for name in members.chain([REPORT_NAME, MANIFEST_NAME]) {
        let (source, copy) = (from.join(name), to.join(name));
        match fs::copy(&source, &copy) {
            // Nothing but people reads the report.
            Err(error) if name == REPORT_NAME && error.kind() == io::ErrorKind::NotFound => continue,
            copied => copied.map_err(refused("copying to", &copy))?,
        };
        File::open(&copy).and_then(|file| file.sync_all()).map_err(refused("fsync of", &copy))?;
    }
    Ok(())
}

fn expect_absent(dir: &Path) -> Result<(), UpdateError> {
    match fs::symlink_metadata(dir) {
        Ok(_) => Err(UpdateError::Exists(dir.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused("looking for", dir)(error)),
    }
}

/// Where a snapshot grows: beside its place, under a name that only snapshots have.
fn unfinished_name(to: &Path) -> Result<PathBuf, UpdateError> {
    let name = to.file_name().ok_or_else(|| UpdateError::Exists(to.to_owned()))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".gleann-snapshot");
    Ok(to.with_file_name(hidden))
}

/// Removes a directory and what is in it, if it is there.
pub(crate) fn remove_directory(dir: &Path) -> Result<(), UpdateError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused("removing", dir)(error)),
        _ => Ok(()),
    }
}

/// Makes names in a directory durable.
pub(crate) fn sync_directory(dir: &Path) -> Result<(), UpdateError> {
    File::open(dir).and_then(|handle| handle.sync_all()).map_err(refused("fsync of the directory", dir))
}

/// For `map_err` on system calls.
pub(crate) fn refused(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> UpdateError {
    move |source| StorageError::Io { action, path: path.to_owned(), source }.into()
}
