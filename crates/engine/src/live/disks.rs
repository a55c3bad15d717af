//! The disks of the threads of updates: an io_uring each, or a pool of blocking threads where that is forbidden.

use crate::io::{BlockingPool, Device, RingIo, probe_ring};
use crate::live::block_cache::{BlockCache, CachedIo};
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
    cache: Arc<BlockCache>,
}

impl Disks {
    /// Disks that read `file` through `cache`.
    pub(crate) fn new(file: File, cache: Arc<BlockCache>) -> io::Result<Self> {
        let file = Arc::new(file);
        let pool = match probe_ring() {
            Ok(()) => None,
            Err(_) => Some(BlockingPool::start(file.clone(), POOL_THREADS)?),
        };
        Ok(Self { file, pool, cache })
    }

    /// A disk for the calling thread, behind the cache that all of them share.
    pub(crate) fn open(&self) -> io::Result<CachedIo<Device>> {
        let disk = match &self.pool {
            Some(pool) => Device::Pool(pool.core(READS)),
            None => Device::Ring(RingIo::new(self.file.try_clone()?, READS)?),
        };
        Ok(CachedIo::new(disk, self.cache.clone()))
    }
}

impl Drop for Disks {
    /// Ends the pool: whoever holds a disk holds these as well, and lets them go last.
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.join();
        }
    }
}
