//! The disks of the threads of updates: an io_uring each, or a pool of blocking threads where that is forbidden.

use crate::io::{BlockingPool, Device, RingIo, probe_ring};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Reads a thread may have in flight.
const READS: usize = 256;
/// Threads that read where io_uring is forbidden.
const POOL_THREADS: usize = 16;

/// Gives every thread that asks a disk of its own.
pub(crate) struct Disks {
    file: Arc<File>,
    pool: Option<BlockingPool>,
}

impl Disks {
    /// Disks that read `file`.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let file = Arc::new(file);
        let pool = match probe_ring() {
            Ok(()) => None,
            Err(_) => Some(BlockingPool::start(file.clone(), POOL_THREADS)?),
        };
        Ok(Self { file, pool })
    }

    /// A disk for the calling thread.
    pub(crate) fn open(&self) -> io::Result<Device> {
        match &self.pool {
            Some(pool) => Ok(Device::Pool(pool.core(READS))),
            None => Ok(Device::Ring(RingIo::new(self.file.try_clone()?, READS)?)),
        }
    }

    /// Ends the pool; all disks are gone.
    pub(crate) fn close(self) {
        if let Some(pool) = self.pool {
            pool.join();
        }
    }
}
