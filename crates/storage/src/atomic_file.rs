//! A file that appears whole or not at all: write a temporary file, fsync it, rename it, fsync the directory.
//!
//! Every file of this project that must survive is written this way. The temporary file of `NAME` is
//! `NAME.tmp`, always: what a killed process left behind is overwritten by the next, not piled up. It is
//! locked while it is written, so two writers of one file do not mix their bytes; the second is refused.

use crate::error::StorageError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file being written. Dropped before [`AtomicFile::commit`], it leaves no trace and the old file stands.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    path: PathBuf,
    temporary: PathBuf,
    committed: bool,
}

impl AtomicFile {
    /// Begins to write what will become `path`.
    ///
    /// # Errors
    /// The temporary file cannot be made, or another process is writing it ([`io::ErrorKind::WouldBlock`]).
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        let temporary = temporary_of(path);
        let file = open_locked(&temporary).map_err(StorageError::io("creating", &temporary))?;
        let new = Self { file, path: path.to_owned(), temporary, committed: false };
        new.file.set_len(0).map_err(StorageError::io("emptying", &new.temporary))?;
        Ok(new)
    }

    /// The path the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes `bytes` bytes of disk now, so that a full disk shows before hours of work, not after. The file
    /// is that long afterwards. Does nothing where the file system cannot.
    ///
    /// # Errors
    /// There is not enough room.
    pub fn reserve(&self, bytes: u64) -> Result<(), StorageError> {
        if bytes == 0 {
            return Ok(());
        }
        let fail = StorageError::io("reserving room for", &self.path);
        let Ok(length) = libc::off_t::try_from(bytes) else {
            return Err(fail(io::ErrorKind::FileTooLarge.into()));
        };
        loop {
            // SAFETY: the descriptor is open; fallocate touches no memory of ours.
            if unsafe { libc::fallocate(self.file.as_raw_fd(), 0, 0, length) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EOPNOTSUPP | libc::ENOSYS) => return Ok(()),
                _ => return Err(fail(error)),
            }
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The system refused.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.file.write_all(bytes).map_err(StorageError::io("writing", &self.path))
    }

    /// Writes bytes at an offset, without moving the place where [`AtomicFile::write`] appends.
    ///
    /// # Errors
    /// The system refused.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        self.file.write_all_at(bytes, offset).map_err(StorageError::io("writing", &self.path))
    }

    /// Makes the file durable under its name, in place of the old one.
    ///
    /// # Errors
    /// The system refused. The old file stands, unless the very last step failed (fsync of the directory):
    /// then the new one is there, whole, but may be the old one again after a power loss.
    pub fn commit(mut self) -> Result<(), StorageError> {
        // A failed fsync may have dropped dirty pages: it is never retried.
        self.file.sync_all().map_err(StorageError::io("fsync of", &self.temporary))?;
        fs::rename(&self.temporary, &self.path).map_err(StorageError::io("renaming to", &self.path))?;
        self.committed = true;
        let directory = directory_of(&self.path);
        File::open(directory)
            .and_then(|handle| handle.sync_all())
            .map_err(StorageError::io("fsync of directory", directory))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing can be done about a failure here; the next writer overwrites what is left.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes `bytes` as the whole content of `path`, atomically and durably.
///
/// # Errors
/// As [`AtomicFile::commit`].
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let mut file = AtomicFile::create(path)?;
    file.reserve(bytes.len() as u64)?;
    file.write(bytes)?;
    file.commit()
}

fn temporary_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens the temporary file and locks it. Its content is not touched before the lock is held.
fn open_locked(temporary: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(libc::O_NOFOLLOW)
            .open(temporary)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is writing it"));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Between open and lock another writer may have renamed this very file into place: then it is no
        // longer ours to write.
        let ours = file.metadata()?;
        match fs::symlink_metadata(temporary) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}
