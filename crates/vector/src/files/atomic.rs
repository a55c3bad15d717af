//! Files that appear under their name only when they are complete.

use super::FileError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;

/// A file being written as `<path>.tmp`; [`AtomicFile::commit`] makes it durable and gives it its name.
/// Dropped before that, it leaves nothing behind. Two writers of one path at a time are not supported.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    out: BufWriter<File>,
    committed: bool,
}

impl AtomicFile {
    pub(crate) fn create(path: &Path) -> Result<Self, FileError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".tmp");
        let temporary = PathBuf::from(name);
        let file = File::create(&temporary).map_err(|e| FileError::io(&temporary, "creating", e))?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { path: path.to_owned(), temporary, out, committed: false })
    }

    /// The name the file will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.out.write_all(bytes).map_err(|e| FileError::io(&self.temporary, "writing", e))
    }

    /// Overwrites the start of the file with `header` (which may be empty), syncs file and directory and puts
    /// the file in its place.
    pub(crate) fn commit(mut self, header: &[u8]) -> Result<(), FileError> {
        let written = self.out.flush().and_then(|()| {
            let file = self.out.get_ref();
            file.write_all_at(header, 0)?;
            file.sync_all()
        });
        written.map_err(|e| FileError::io(&self.temporary, "writing", e))?;
        std::fs::rename(&self.temporary, &self.path).map_err(|e| FileError::io(&self.path, "renaming", e))?;
        self.committed = true;
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new("."));
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(|e| FileError::io(directory, "syncing the directory", e))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // Nobody can be told of a failure here; a left-over is overwritten by the next attempt.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}
