//! A [`Volume`] that is a directory of the operating system.
//!
//! Files are written through the page cache, so that others may read them with O_DIRECT at the same time: the kernel
//! writes dirty pages back before a direct read of them.

use crate::volume::{Volume, VolumeFile};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A directory of the operating system. Only plain files count; directories within are not seen.
#[derive(Debug)]
pub struct OsVolume {
    path: PathBuf,
    /// The directory itself, held open for fsync: it stays the same if somebody moves it.
    directory: File,
}

impl OsVolume {
    /// The volume of an existing directory.
    ///
    /// # Errors
    /// The directory is not there, is not a directory, or cannot be read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let handle = File::open(directory)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: directory.to_owned(), directory: handle })
    }

    fn plain(&self, name: &str) -> io::Result<PathBuf> {
        check_name(name)?;
        Ok(self.path.join(name))
    }
}

/// Refuses a name that would lead out of the directory.
pub(crate) fn check_name(name: &str) -> io::Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        let message = format!("{name:?} is not a plain file name; give one without a slash");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

impl Volume for OsVolume {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        match OpenOptions::new().read(true).write(true).open(self.plain(name)?) {
            Ok(file) => Ok(Some(Box::new(OsFile(file)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let path = self.plain(name)?;
        // The old file is unlinked, not emptied: whoever has it open keeps its bytes.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Box::new(OsFile(OpenOptions::new().read(true).write(true).create_new(true).open(&path)?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.plain(from)?, self.plain(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.plain(name)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                continue;
            }
            // A name that is not UTF-8 cannot be one of ours.
            names.extend(entry.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// A file of an [`OsVolume`].
#[derive(Debug)]
struct OsFile(File);

impl OsFile {
    /// Takes room for the first `length` bytes. `false` where the file system cannot.
    fn allocate(&self, length: u64) -> io::Result<bool> {
        let length =
            libc::off_t::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        loop {
            // SAFETY: the descriptor is open; fallocate touches no memory of ours.
            if unsafe { libc::fallocate(self.0.as_raw_fd(), 0, 0, length) } == 0 {
                return Ok(true);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EOPNOTSUPP | libc::ENOSYS) => return Ok(false),
                _ => return Err(error),
            }
        }
    }
}

impl VolumeFile for OsFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let old = self.len()?;
        if length <= old {
            return self.0.set_len(length);
        }
        match self.allocate(length) {
            Ok(true) => Ok(()),
            Ok(false) => self.0.set_len(length),
            Err(error) => {
                // A full disk may have given some of the room and moved the end with it. The first error is the
                // one to report.
                let _ = self.0.set_len(old);
                Err(error)
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_from_birth_to_removal() {
        let directory = tempfile::tempdir().unwrap();
        let volume = OsVolume::open(directory.path()).unwrap();
        assert!(volume.open("a").unwrap().is_none());
        let file = volume.create("a").unwrap();
        assert!(file.is_empty().unwrap());
        file.set_len(10_000).unwrap();
        file.write_at(b"tail", 9_998).unwrap();
        assert_eq!(file.len().unwrap(), 10_002);
        let mut bytes = [7; 4];
        file.read_at(&mut bytes, 9_996).unwrap();
        assert_eq!(&bytes, b"\0\0ta");
        assert_eq!(file.read_at(&mut bytes, 9_999).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        file.set_len(9_999).unwrap();
        file.set_len(20_000).unwrap();
        file.read_at(&mut bytes, 9_998).unwrap();
        assert_eq!(&bytes, b"t\0\0\0", "what is new reads as zeros");
        file.sync().unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        volume.create("b").unwrap();
        volume.rename("a", "c").unwrap();
        volume.sync_dir().unwrap();
        assert_eq!(volume.list().unwrap(), ["b", "c"]);
        volume.remove("b").unwrap();
        assert_eq!(volume.list().unwrap(), ["c"]);
        assert_eq!(volume.path("c"), directory.path().join("c"));
    }

    #[test]
    fn a_created_file_leaves_the_old_one_to_its_readers() {
        let directory = tempfile::tempdir().unwrap();
        let volume = OsVolume::open(directory.path()).unwrap();
        let old = volume.create("a").unwrap();
        old.write_at(b"old", 0).unwrap();
        let new = volume.create("a").unwrap();
        assert!(new.is_empty().unwrap());
        let mut bytes = [0; 3];
        old.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"old");
    }

    #[test]
    fn names_do_not_lead_out() {
        let directory = tempfile::tempdir().unwrap();
        let volume = OsVolume::open(directory.path()).unwrap();
        volume.create("a").unwrap();
        for name in ["", ".", "..", "../a", "a/b", "/a", "a\0"] {
            let refused = |result: io::Result<()>| {
                assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
            };
            refused(volume.open(name).map(drop));
            refused(volume.create(name).map(drop));
            refused(volume.rename("a", name));
            refused(volume.rename(name, "b"));
            refused(volume.remove(name));
        }
        assert_eq!(
            OsVolume::open(&directory.path().join("a")).unwrap_err().kind(),
            io::ErrorKind::NotADirectory
        );
        assert!(OsVolume::open(&directory.path().join("none")).is_err());
    }

    #[test]
    fn an_impossible_length_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let volume = OsVolume::open(directory.path()).unwrap();
        let file = volume.create("a").unwrap();
        file.set_len(100).unwrap();
        assert!(file.set_len(u64::MAX).is_err());
        assert!(file.set_len(1 << 60).is_err(), "no disk has that much");
        assert_eq!(file.len().unwrap(), 100);
    }
}
