//! The file of a volume as a disk: for what runs on the simulated volume, and for work that need not be fast.

use crate::page_io::{InstantIo, InstantSource};
use crate::volume::VolumeFile;
use std::io;

/// Reads of one file of a volume.
pub type VolumeIo = InstantIo<Box<dyn VolumeFile>>;

impl InstantSource for Box<dyn VolumeFile> {
    fn read(&self, bytes: &mut [u8], offset: u64) -> i32 {
        match self.read_at(bytes, offset) {
            Ok(()) => bytes.len() as i32,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}
