//! The write-ahead log: what was promised between two checkpoints.
//!
//! A log is a row of *segments*, files `wal-0000000000000001.gln` and so on (the number in 16 hexadecimal digits). All
//! integers are little-endian.
//!
//! ```text
//! segment   0        72       4096                                                     length
//!           | header | zeros  | record | record | …                           | zeros |
//!
//! header    0            8      12        16         32       40      48       56       64      68      72
//!           | magic      | kind | version | index id | number | first | durable| length | zeros | crc32c |
//!           | 89 "gleann"| wlog | u32     | 16 bytes | u64    | u64   | u64    | u64    |       | masked |
//!           | 0a         |      |         |          |        |       |        |        |       |        |
//!
//! record    0        4        8        16        24        length       (multiple of 8)
//!           | crc32c | length | number | durable | payload | zeros      |
//!           | masked | u32    | u64    | u64     |         |            |
//! ```
//!
//! *first* is the number of the first record the segment will hold. *length* of a segment is that of the file, all of
//! which is zeros before records come; *length* of a record is that of its 24 bytes and its payload, so a zero length
//! ends the records. The checksum of a record covers everything behind it, padding included; that of a header
//! everything before it.
//!
//! *durable* is the number of the last record that was durable when these bytes were written. That is what tells a torn
//! tail from damage: bytes that are no record may be cut off, unless something behind them says that they had been
//! durable.

mod batch;
mod durability;
mod error;
mod log;
mod record;
mod replay;
mod segment;

pub use durability::{Durability, UnknownDurability};
pub use error::WalError;
pub use log::{Wal, WalOptions};
pub use record::{Lsn, MAX_PAYLOAD};
pub use replay::inspect;
pub use segment::SEGMENT_BYTES;
