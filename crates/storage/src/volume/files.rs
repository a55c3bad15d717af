//! The seam to the files that a live index writes: a flat directory. Two implementations: a directory of the operating
//! system, and a simulated one that can crash and fail at any operation.

use std::io;
use std::path::PathBuf;

/// A flat directory of files. What a call has changed is durable only after [`VolumeFile::sync`] (bytes and length of a
/// file) and [`Volume::sync_dir`] (names) have returned.
pub trait Volume: Send + Sync {
    /// Opens a file for reading and writing; `None` where there is none.
    ///
    /// # Errors
    /// The system refused.
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>>;

    /// Makes an empty file, in place of one of that name.
    ///
    /// # Errors
    /// The system refused.
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>>;

    /// Gives a file another name, in place of one of that name. Atomic.
    ///
    /// # Errors
    /// The system refused.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system refused.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, ascending.
    ///
    /// # Errors
    /// The system refused.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes what was created, renamed and removed durable.
    ///
    /// # Errors
    /// The system refused.
    fn sync_dir(&self) -> io::Result<()>;

    /// Where a file lies, for messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// An open file of a [`Volume`]. Any thread may call it.
pub trait VolumeFile: Send + Sync {
    /// Bytes in the file.
    ///
    /// # Errors
    /// The system refused.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file is empty.
    ///
    /// # Errors
    /// The system refused.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// The system refused, or the file ends before ([`io::ErrorKind::UnexpectedEof`]).
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`; the file grows where it must.
    ///
    /// # Errors
    /// The system refused; some of the bytes may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the file `length` bytes long, with room on the disk for all of them: what is new reads as zeros.
    ///
    /// # Errors
    /// The disk is too full ([`io::ErrorKind::StorageFull`]); the length is as before.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Makes bytes and length durable.
    ///
    /// # Errors
    /// The system refused. Whatever was written since the last success may be lost, also if a later call succeeds.
    fn sync(&self) -> io::Result<()>;
}
