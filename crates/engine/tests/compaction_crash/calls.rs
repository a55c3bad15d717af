//! The system calls by which this process changes files, which the linker finds here before it finds them in the C library.
//! Each does what it should and tells the recorder. One at a time, while something is recorded: what is told is in order.

use crate::recorder::{Event, recording};
use libc::{AT_FDCWD, c_char, c_int, c_long, mode_t, off_t, size_t, ssize_t};
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A plain call of the system. Where it fails, errno says why, and nothing here comes after it.
macro_rules! system {
    ($number:ident $(, $argument:expr)*) => {
        // SAFETY: the arguments are those of the call that stands here, for which its caller answers.
        unsafe { libc::syscall(libc::$number $(, $argument)*) }
    };
}

/// Where an open descriptor leads to, or an absolute path itself.
fn path_at(directory: c_int, path: *const c_char) -> PathBuf {
    // SAFETY: the caller of the call gave it a path.
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    if directory == AT_FDCWD || path.is_absolute() { path } else { path_of(directory).join(path) }
}

fn path_of(descriptor: c_int) -> PathBuf {
    let link = format!("/proc/self/fd/{descriptor}\0");
    let mut target = [0u8; 4096];
    let length = system!(SYS_readlinkat, AT_FDCWD, link.as_ptr(), target.as_mut_ptr(), target.len());
    PathBuf::from(std::ffi::OsStr::from_bytes(&target[..length.max(0) as usize]))
}

/// The number of the file behind a descriptor; none if it is no plain file.
fn file_of(descriptor: c_int) -> Option<u64> {
    // SAFETY: the structure is plain numbers, which the call fills.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let failed = unsafe { libc::fstat(descriptor, &raw mut found) } != 0;
    (!failed && found.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(found.st_ino)
}

#[unsafe(no_mangle)]
extern "C" fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let mut recorder = recording();
    let opened = system!(SYS_openat, directory, path, flags | libc::O_LARGEFILE, mode) as c_int;
    if let Some(recorder) = &mut *recorder
        && opened >= 0
        && flags & (libc::O_CREAT | libc::O_TRUNC) != 0
        && let Some(file) = file_of(opened)
    {
        recorder.opened(path_at(directory, path), file, flags & libc::O_TRUNC != 0);
    }
    opened
}

#[unsafe(no_mangle)]
extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    openat64(AT_FDCWD, path, flags, mode)
}

#[unsafe(no_mangle)]
extern "C" fn write(descriptor: c_int, bytes: *const u8, length: size_t) -> ssize_t {
    let mut recorder = recording();
    let offset = match &*recorder {
        Some(_) if file_of(descriptor).is_some() => system!(SYS_lseek, descriptor, 0, libc::SEEK_CUR),
        _ => -1,
    };
    let written = system!(SYS_write, descriptor, bytes, length) as ssize_t;
    if let Some(recorder) = &mut *recorder
        && offset >= 0
    {
        recorder.wrote(file_of(descriptor), offset as u64, bytes, written);
    }
    written
}

#[unsafe(no_mangle)]
extern "C" fn pwrite64(descriptor: c_int, bytes: *const u8, length: size_t, offset: off_t) -> ssize_t {
    let mut recorder = recording();
    let written = system!(SYS_pwrite64, descriptor, bytes, length, offset) as ssize_t;
    if let Some(recorder) = &mut *recorder {
        recorder.wrote(file_of(descriptor), offset as u64, bytes, written);
    }
    written
}

/// Makes a call, and tells what it has done unless it failed. The recorder is held from before the call.
fn told(call: impl FnOnce() -> c_long, event: impl FnOnce() -> Option<Event>) -> c_int {
    let mut recorder = recording();
    let result = call();
    if result == 0
        && let Some(recorder) = &mut *recorder
        && let Some(event) = event()
    {
        recorder.add(event);
    }
    result as c_int
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(descriptor: c_int, length: off_t) -> c_int {
    let event = || file_of(descriptor).map(|file| Event::Length { file, length: length as u64, cuts: true });
    told(|| system!(SYS_ftruncate, descriptor, length), event)
}

#[unsafe(no_mangle)]
extern "C" fn fallocate(descriptor: c_int, mode: c_int, offset: off_t, length: off_t) -> c_int {
    assert_eq!(mode, 0, "room is taken, and nothing else done");
    let end = (offset + length) as u64;
    let event = || file_of(descriptor).map(|file| Event::Length { file, length: end, cuts: false });
    told(|| system!(SYS_fallocate, descriptor, mode, offset, length), event)
}

fn synced(descriptor: c_int, call: impl FnOnce() -> c_long) -> c_int {
    let event = || match file_of(descriptor) {
        Some(file) => Some(Event::Synced { file }),
        None => Some(Event::NamesSynced { directory: path_of(descriptor) }),
    };
    told(call, event)
}

#[unsafe(no_mangle)]
extern "C" fn fsync(descriptor: c_int) -> c_int {
    synced(descriptor, || system!(SYS_fsync, descriptor))
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    synced(descriptor, || system!(SYS_fdatasync, descriptor))
}

#[unsafe(no_mangle)]
extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let event = || Some(Event::Renamed { from: path_at(AT_FDCWD, from), to: path_at(AT_FDCWD, to) });
    told(|| system!(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to), event)
}

#[unsafe(no_mangle)]
extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    let event = || Some(Event::Directory { path: path_at(AT_FDCWD, path) });
    told(|| system!(SYS_mkdirat, AT_FDCWD, path, mode), event)
}

#[unsafe(no_mangle)]
extern "C" fn unlinkat(directory: c_int, path: *const c_char, flags: c_int) -> c_int {
    let event = || Some(Event::Removed { path: path_at(directory, path) });
    told(|| system!(SYS_unlinkat, directory, path, flags), event)
}

#[unsafe(no_mangle)]
extern "C" fn unlink(path: *const c_char) -> c_int {
    unlinkat(AT_FDCWD, path, 0)
}

#[unsafe(no_mangle)]
extern "C" fn rmdir(path: *const c_char) -> c_int {
    unlinkat(AT_FDCWD, path, libc::AT_REMOVEDIR)
}
