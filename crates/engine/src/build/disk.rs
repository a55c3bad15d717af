//! How much disk a build takes, and how much there is.

use super::BuildError;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes that this user may still write to the file system `path` lies (or will lie) on.
///
/// # Errors
/// The system refused.
pub(crate) fn free_bytes(path: &Path) -> Result<u64, BuildError> {
    let existing = existing_ancestor(path);
    let fail = BuildError::io("asking for the free space of", &existing);
    let Ok(name) = CString::new(existing.as_os_str().as_bytes()) else {
        return Err(fail(std::io::ErrorKind::InvalidInput.into()));
    };
    // SAFETY: all zeros is a value of this plain structure.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends in a zero byte, and `found` outlives the call.
    if unsafe { libc::statvfs(name.as_ptr(), &raw mut found) } != 0 {
        return Err(fail(std::io::Error::last_os_error()));
    }
    #[allow(clippy::unnecessary_cast)] // Narrower on some systems.
    Ok((found.f_bavail as u64).saturating_mul(found.f_frsize as u64))
}

fn existing_ancestor(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find(|ancestor| ancestor.exists());
    found.map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

/// Bytes that the files directly in `dir` take; 0 where there is no such directory.
pub(crate) fn used_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(|data| data.is_file())
        .map(|data| data.len())
        .sum()
}

/// Forces the names in `dir` to disk.
///
/// # Errors
/// The system refused.
pub(crate) fn sync_directory(dir: &Path) -> Result<(), BuildError> {
    let synced = std::fs::File::open(dir).and_then(|handle| handle.sync_all());
    synced.map_err(BuildError::io("fsync of directory", dir))
}
