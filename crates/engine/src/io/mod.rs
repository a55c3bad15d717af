//! The disks behind [`gleann_storage::PageIo`]: io_uring, a pool of blocking threads, a memory map.

mod blocking_pool;
mod device;
mod direct;
mod mapped;
mod ring;

pub(crate) use blocking_pool::{BlockingPool, PoolIo};
pub(crate) use device::Device;
pub use direct::Direct;
pub(crate) use direct::{OpenedFile, open_for_reads};
pub(crate) use mapped::{MapIo, Mapped, map_file};
pub(crate) use ring::{RingIo, probe_ring};
