//! The files that a live index writes: the seam to them, and what stands behind it.

mod files;
mod os;
mod page_io;
mod sim;
mod sim_file;

pub use files::{Volume, VolumeFile};
pub use os::OsVolume;
pub use page_io::VolumeIo;
pub use sim::SimVolume;
