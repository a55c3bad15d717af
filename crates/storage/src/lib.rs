//! The on-disk format, its verification, and the page I/O seam.
//!
//! Invariant: this crate does not know what a graph means or how it is searched, and starts no thread; it
//! turns records into checked bytes and back. The layout of every file is drawn in `docs/design/format.md`.

mod atomic_file;
mod block;
mod block_layout;
mod buffers;
mod build_id;
mod centroid_file;
mod check;
mod checksum;
mod clock;
mod code_file;
mod codec;
mod directory;
mod error;
mod generation;
mod graph_file;
mod graph_writer;
mod header;
mod key_file;
mod layout;
mod manifest;
mod manifest_file;
mod mem_graph_file;
mod member;
mod member_reader;
mod member_writer;
mod node_reader;
mod packing;
mod page_io;
mod page_table;
mod posting;
mod posting_file;
mod reader;
mod record;
mod report_file;
mod resume;
mod sim;
mod volume;

pub use atomic_file::{AtomicFile, replace_file};
pub use block::{BlockError, record_bytes, seal_block, verify_block};
pub use block_layout::BlockLayout;
pub use buffers::ReadBuffers;
pub use build_id::BuildId;
pub use centroid_file::{Centroids, load_centroids, write_centroids};
pub use check::{CentroidCounts, CheckReport, LISTED_PROBLEMS, Problem, check_index};
pub use checksum::masked_crc32c;
pub use clock::Clock;
pub use code_file::{load_codebook, load_codes, write_codebook, write_codes};
pub use directory::IndexDirectory;
pub use error::{FieldError, StorageError};
pub use generation::{CURRENT_NAME, Generation};
pub use graph_file::GraphFile;
pub use graph_writer::GraphWriter;
pub use header::{FORMAT_VERSION, HEADER_BYTES};
pub use key_file::{load_keys, write_keys};
pub use layout::{BLOCK_TRAILER, BlockId, Layout, LayoutError, MAX_DEGREE};
pub use manifest::{BuildParameters, CodeFormat, IndexKind, MAX_CODEBOOK_BYTES, Manifest};
pub use manifest_file::MANIFEST_NAME;
pub use mem_graph_file::{PointFormat, StoredMemGraph, load_mem_graph, mem_graph_bytes, write_mem_graph};
pub use member::{MemberEntry, MemberKind};
pub use member_writer::MemberWriter;
pub use node_reader::NodeReader;
pub use packing::{Packing, UnknownPacking};
pub use page_io::{PageIo, RawCompletion, RawRead};
pub use page_table::{
    Area, BlockSet, ExpectedPageTable, LogicalBlock, PAGE_TABLE_NAME, PageTable, StoredPageTable,
};
pub use posting::{
    MAX_POSTING_PAGES, Posting, PostingError, PostingLayout, PostingLayoutError, encode_posting,
};
pub use posting_file::{PostingFile, write_postings};
pub use reader::{BlockRead, BlockReader, Deliver, ReadCause, ReadError, ReadTarget};
pub use record::{NewRecord, Record, RecordError, encode_record, is_vacant, replace_list, vacate_record};
pub use report_file::{REPORT_NAME, read_report, write_report};
pub use resume::finished_member;
pub use sim::{Fault, SimDisk, SimOptions, VirtualClock};
pub use volume::{OsVolume, SimVolume, Volume, VolumeFile, VolumeIo};
