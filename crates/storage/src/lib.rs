//! The on-disk format, its verification, and the page I/O seam.
//!
//! Invariant: this crate does not know what a graph means or how it is searched, and starts no thread; it
//! turns records into checked bytes and back.

mod block;
mod clock;
mod layout;
mod page_io;
mod reader;
mod record;
mod sim;

pub use block::{BlockError, record_bytes, seal_block, verify_block};
pub use clock::Clock;
pub use layout::{BLOCK_TRAILER, BlockId, Layout, LayoutError, MAX_DEGREE, MAX_DIM};
pub use page_io::{PageIo, RawCompletion, RawRead};
pub use reader::{BlockRead, BlockReader, ReadCause, ReadError, ReadTarget};
pub use record::{Record, RecordError, encode_record};
pub use sim::{Fault, SimDisk, SimOptions, VirtualClock};
