//! Opening the graph file past the page cache, decided by doing it: some file systems accept `O_DIRECT` at open
//! and refuse the first read, others accept both and read through the cache all the same.

use serde::{Deserialize, Serialize};
use std::alloc::Layout;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const PROBE_BYTES: usize = 4096;

/// Whether reads go past the page cache (`O_DIRECT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direct {
    /// Past the page cache, or opening fails.
    Require,
    /// Past the page cache where the file system can, else through it, with a warning.
    #[default]
    Prefer,
    /// Through the page cache.
    Off,
}

/// Where a file lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Medium {
    /// Name of the file system type.
    pub(crate) file_system: String,
    /// Whether its "direct" reads are reads of memory.
    pub(crate) in_memory: bool,
}

/// A file opened for reads.
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) direct: bool,
    pub(crate) medium: Medium,
    /// Why it is not direct although that was preferred.
    pub(crate) warning: Option<String>,
}

/// Opens a file for page reads. The file must have at least one page.
pub(crate) fn open_for_reads(path: &Path, direct: Direct) -> io::Result<OpenedFile> {
    let buffered = File::open(path)?;
    let medium = medium_of(&buffered);
    if direct == Direct::Off {
        return Ok(OpenedFile { file: buffered, direct: false, medium, warning: None });
    }
    match open_direct(path) {
        Ok(file) => {
            let warning = medium.in_memory.then(|| {
                format!(
                    "{} is on {}, which is memory: latencies are not those of a disk",
                    path.display(),
                    medium.file_system
                )
            });
            Ok(OpenedFile { file, direct: true, medium, warning })
        }
        Err(error) if direct == Direct::Prefer && is_refusal(&error) => {
            let warning = format!(
                "{} cannot be read with O_DIRECT on {} ({error}): reads go through the page cache, and latencies \
                 are those of the cache; put the index on ext4 or xfs to measure the disk",
                path.display(),
                medium.file_system
            );
            Ok(OpenedFile { file: buffered, direct: false, medium, warning: Some(warning) })
        }
        Err(error) => Err(error),
    }
}

/// Errors by which a file system says that it does not do direct reads.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

fn open_direct(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let layout = Layout::from_size_align(PROBE_BYTES, PROBE_BYTES).expect("a page is a valid layout");
    // SAFETY: the layout has a non-zero size; the buffer is freed below and used in between only.
    let buffer = unsafe { std::alloc::alloc(layout) };
    if buffer.is_null() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // SAFETY: the buffer holds PROBE_BYTES bytes.
    let read = unsafe { libc::pread64(file.as_raw_fd(), buffer.cast(), PROBE_BYTES, 0) };
    let outcome = if read < 0 { Err(io::Error::last_os_error()) } else { Ok(file) };
    // SAFETY: allocated above with this layout.
    unsafe { std::alloc::dealloc(buffer, layout) };
    outcome
}

fn medium_of(file: &File) -> Medium {
    // SAFETY: an all-zero statfs is a valid value, and fstatfs fills it or fails.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and the pointer is to a statfs.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &mut stat) } != 0 {
        return Medium { file_system: "unknown".into(), in_memory: false };
    }
    let kind = stat.f_type as u64 & 0xffff_ffff;
    let name =
        KNOWN_FILE_SYSTEMS.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| (*name).to_owned());
    let file_system = name.unwrap_or_else(|| format!("{kind:#x}"));
    let in_memory = matches!(file_system.as_str(), "tmpfs" | "ramfs");
    Medium { file_system, in_memory }
}

const KNOWN_FILE_SYSTEMS: [(u64, &str); 12] = [
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x794c_7630, "overlayfs"),
    (0x6969, "nfs"),
    (0x2fc1_2fc1, "zfs"),
    (0x6573_5546, "fuse"),
    (0xf2f5_2010, "f2fs"),
    (0x7371_7368, "squashfs"),
    (0xca45_1a4e, "bcachefs"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_file_systems_are_named() {
        let Ok(file) = tempfile::tempfile_in("/dev/shm") else { return };
        let medium = medium_of(&file);
        assert_eq!(medium, Medium { file_system: "tmpfs".into(), in_memory: true });
    }

    #[test]
    fn only_refusals_fall_back() {
        assert!(is_refusal(&io::Error::from_raw_os_error(libc::EINVAL)));
        assert!(is_refusal(&io::Error::from_raw_os_error(libc::EOPNOTSUPP)));
        assert!(!is_refusal(&io::Error::from_raw_os_error(libc::EACCES)));
        assert!(!is_refusal(&io::Error::from_raw_os_error(libc::EIO)));
    }

    #[test]
    fn a_file_system_that_refuses_is_read_through_the_cache_with_a_warning() {
        let path = Path::new("/proc/version");
        let refused = open_for_reads(path, Direct::Require).err().expect("procfs has no direct reads");
        assert!(is_refusal(&refused), "{refused}");
        let opened = open_for_reads(path, Direct::Prefer).unwrap();
        assert!(!opened.direct);
        let warning = opened.warning.unwrap();
        for part in ["/proc/version", "O_DIRECT", "page cache", "ext4 or xfs"] {
            assert!(warning.contains(part), "{warning}");
        }
        let off = open_for_reads(path, Direct::Off).unwrap();
        assert!(!off.direct && off.warning.is_none());
        assert_eq!(
            open_for_reads(Path::new("/absent"), Direct::Prefer).err().unwrap().kind(),
            io::ErrorKind::NotFound
        );
    }
}
