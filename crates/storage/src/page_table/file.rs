//! `table.gln`: the page table of a live index, and whatever else a checkpoint has to say.
//!
//! ```text
//! 0        64         72        80         84        88         92       96      100
//! | header | sequence | root    | page     | pages   | record   | code   | key   | places | root |
//! | "TABL" | u64      | bytes,  | size,    | a block | blocks r | blocks | blocks| u32    |      |
//! |        |          | u64     | u32      | u32     | u32      | c      | k     | each   |      |
//! ```
//! The header is that of every file (payload offset 64) and holds the checksum of all that follows. Places: the
//! physical block of each of the r record blocks, then of the c code blocks, then of the k key blocks. The root is the
//! caller's.

use super::table::{Area, PageTable};
use crate::block_layout::BlockLayout;
use crate::build_id::BuildId;
use crate::error::{FieldError, StorageError};
use crate::header::{HEADER_BYTES, Header, hex};
use crate::volume::VolumeFile;
use std::io;
use std::path::Path;

const KIND: [u8; 4] = *b"TABL";
/// Bytes read or written, and summed, at a time; a multiple of 4.
const PIECE: usize = 1 << 20;

const SEQUENCE: usize = 0;
const ROOT_BYTES: usize = SEQUENCE + 8;
const PAGE_SIZE: usize = ROOT_BYTES + 8;
const PAGES: usize = PAGE_SIZE + 4;
const COUNTS: usize = PAGES + 4;
const PLACES: usize = COUNTS + 3 * 4;
const _: () = assert!(HEADER_BYTES + PLACES == 100 && (HEADER_BYTES + COUNTS).is_multiple_of(4));

const REMEDY: &str =
    "bring table.gln and graph.gln back together from a copy of the index, or build it again";

/// The content of `table.gln`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPageTable {
    /// The index that the file belongs to.
    pub index: BuildId,
    /// Where the blocks of the block file lie.
    pub layout: BlockLayout,
    /// Where the blocks of the index lie.
    pub table: PageTable,
    /// What the checkpoint holds beside the blocks; its form is the caller's.
    pub root: Vec<u8>,
}

/// What a file is held against before it is believed.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedPageTable {
    /// The index.
    pub index: BuildId,
    /// Where the blocks of its block file lie.
    pub layout: BlockLayout,
    /// Blocks in the block file.
    pub file_blocks: u64,
}

impl StoredPageTable {
    /// Writes this into the empty `file`, which lies at `path`. It is not durable yet.
    ///
    /// # Errors
    /// A place is impossible, or the system refused.
    pub fn write(&self, file: &dyn VolumeFile, path: &Path) -> Result<(), StorageError> {
        let table = &self.table;
        table
            .validate(u64::from(table.file_blocks()))
            .map_err(|error| error.at(path, "this is a defect of the program: report it"))?;
        let payload_bytes = PLACES as u64 + 4 * table.blocks() + self.root.len() as u64;
        // All of the room first: a full disk shows before anything is written.
        file.set_len(HEADER_BYTES as u64 + payload_bytes)
            .map_err(StorageError::io("reserving room for", path))?;
        let mut stream = Stream { file, path, offset: HEADER_BYTES as u64, crc: 0 };
        stream.write(&self.prefix())?;
        for area in table.areas() {
            for piece in area.chunks(PIECE / 4) {
                let little: Vec<u32> = piece.iter().map(|place| place.to_le()).collect();
                stream.write(bytemuck::cast_slice(&little))?;
            }
        }
        stream.write(&self.root)?;
        let header = Header {
            kind: KIND,
            build_id: self.index,
            payload_bytes,
            payload_offset: HEADER_BYTES as u32,
            payload_crc: stream.crc,
        };
        file.write_at(&header.encode(), 0).map_err(StorageError::io("writing", path))
    }

    fn prefix(&self) -> [u8; PLACES] {
        let mut bytes = [0; PLACES];
        bytes[SEQUENCE..ROOT_BYTES].copy_from_slice(&self.table.sequence().to_le_bytes());
        bytes[ROOT_BYTES..PAGE_SIZE].copy_from_slice(&(self.root.len() as u64).to_le_bytes());
        let [page_size, pages] = layout_numbers(self.layout);
        bytes[PAGE_SIZE..PAGES].copy_from_slice(&page_size.to_le_bytes());
        bytes[PAGES..COUNTS].copy_from_slice(&pages.to_le_bytes());
        for (at, area) in (COUNTS..).step_by(4).zip(self.table.areas()) {
            let count = u32::try_from(area.len()).expect("validated: at most 2^31 blocks an area");
            bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
        }
        bytes
    }

    /// Reads the file at `path`, and believes nothing that it does not bear out.
    ///
    /// # Errors
    /// The file is damaged, belongs to another index or does not fit the block file, there is not enough memory, or the
    /// system refused.
    pub fn read(
        file: &dyn VolumeFile,
        path: &Path,
        expected: &ExpectedPageTable,
    ) -> Result<Self, StorageError> {
        let length = file.len().map_err(StorageError::io("asking the length of", path))?;
        let header = read_header(file, path, expected, length)?;
        let mut stream = Stream { file, path, offset: HEADER_BYTES as u64, crc: 0 };
        let mut bytes = [0; PLACES];
        stream.read(&mut bytes)?;
        let prefix = Prefix::decode(&bytes, expected.layout, header.payload_bytes)
            .map_err(|error| error.at(path, REMEDY))?;
        let areas = [
            stream.read_places(prefix.counts[0])?,
            stream.read_places(prefix.counts[1])?,
            stream.read_places(prefix.counts[2])?,
        ];
        let mut root = stream.zeroed(prefix.root_bytes)?;
        stream.read(&mut root)?;
        if stream.crc != header.payload_crc {
            let error = FieldError::new("the payload checksum", hex(stream.crc), hex(header.payload_crc));
            return Err(error.at(path, REMEDY));
        }
        let table = PageTable::new(prefix.sequence, areas);
        table.validate(expected.file_blocks).map_err(|error| error.at(path, REMEDY))?;
        Ok(Self { index: header.build_id, layout: expected.layout, table, root })
    }
}

fn layout_numbers(layout: BlockLayout) -> [u32; 2] {
    let pages = layout.pages_per_block();
    [(layout.block_bytes() / pages) as u32, pages as u32]
}

/// Reads the header and holds it against the file's length and the index.
fn read_header(
    file: &dyn VolumeFile,
    path: &Path,
    expected: &ExpectedPageTable,
    length: u64,
) -> Result<Header, StorageError> {
    let least = (HEADER_BYTES + PLACES) as u64;
    if length < least {
        let error = FieldError::new("the length", bytes(length), format!("{least} bytes or more"));
        return Err(error.at(path, REMEDY));
    }
    let mut start = [0; HEADER_BYTES];
    file.read_at(&mut start, 0).map_err(StorageError::io("reading the header of", path))?;
    let header = Header::decode(&start, KIND, path)?;
    if header.build_id != expected.index {
        let error = FieldError::new("the index id", header.build_id, expected.index);
        return Err(error.at(path, "the file belongs to another index: bring the right one back"));
    }
    if header.payload_offset as usize != HEADER_BYTES {
        let error = FieldError::new("the payload offset", header.payload_offset, HEADER_BYTES);
        return Err(error.at(path, REMEDY));
    }
    if header.payload_bytes != length - HEADER_BYTES as u64 {
        let whole = header.payload_bytes.saturating_add(HEADER_BYTES as u64);
        let error = FieldError::new("the length", bytes(length), bytes(whole));
        return Err(error.at(path, REMEDY));
    }
    Ok(header)
}

/// What stands before the places.
struct Prefix {
    sequence: u64,
    root_bytes: usize,
    counts: [usize; 3],
}

impl Prefix {
    fn decode(stored: &[u8; PLACES], layout: BlockLayout, payload_bytes: u64) -> Result<Self, FieldError> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| stored[at + i]));
        let double = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| stored[at + i]));
        let (found, expected) = ([word(PAGE_SIZE), word(PAGES)], layout_numbers(layout));
        if found != expected {
            let show = |[size, pages]: [u32; 2]| format!("{pages} pages of {size} bytes");
            return Err(FieldError::new("the size of a block", show(found), show(expected)));
        }
        let counts: [u32; 3] = std::array::from_fn(|area| word(COUNTS + 4 * area));
        for (area, count) in Area::ALL.into_iter().zip(counts) {
            if count > area.most_blocks() {
                let expected = format!("{} at most", area.most_blocks());
                return Err(FieldError::new("the number of blocks of an area", count, expected));
            }
        }
        // At most 2³⁴ bytes of places: no overflow before the root.
        let places = PLACES as u64 + counts.iter().map(|&count| 4 * u64::from(count)).sum::<u64>();
        let root_bytes = double(ROOT_BYTES);
        if places.checked_add(root_bytes) != Some(payload_bytes) {
            let expected = format!("{places} bytes of counts and places, and {root_bytes} of root");
            return Err(FieldError::new("the length of the payload", bytes(payload_bytes), expected));
        }
        Ok(Self {
            sequence: double(SEQUENCE),
            root_bytes: usize::try_from(root_bytes).unwrap_or(usize::MAX),
            counts: counts.map(|count| count as usize),
        })
    }
}

fn bytes(count: u64) -> String {
    format!("{count} bytes")
}

/// A file from front to back, summed on the way.
struct Stream<'a> {
    file: &'a dyn VolumeFile,
    path: &'a Path,
    offset: u64,
    crc: u32,
}

impl Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        for piece in bytes.chunks(PIECE) {
            self.file.write_at(piece, self.offset).map_err(StorageError::io("writing", self.path))?;
            self.pass(piece);
        }
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), StorageError> {
        for piece in bytes.chunks_mut(PIECE) {
            self.file.read_at(piece, self.offset).map_err(StorageError::io("reading", self.path))?;
            self.pass(piece);
        }
        Ok(())
    }

    fn read_places(&mut self, count: usize) -> Result<Vec<u32>, StorageError> {
        let mut places: Vec<u32> = self.zeroed(count)?;
        self.read(bytemuck::cast_slice_mut(&mut places))?;
        places.iter_mut().for_each(|place| *place = u32::from_le(*place));
        Ok(places)
    }

    /// `count` zeros, a number that the length of the file bears out.
    fn zeroed<T: Default + Clone>(&self, count: usize) -> Result<Vec<T>, StorageError> {
        let mut values = Vec::new();
        values
            .try_reserve_exact(count)
            .map_err(|_| StorageError::io("loading", self.path)(io::ErrorKind::OutOfMemory.into()))?;
        values.resize(count, T::default());
        Ok(values)
    }

    fn pass(&mut self, piece: &[u8]) {
        self.crc = crc32c::crc32c_append(self.crc, piece);
        self.offset += piece.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::volume::{SimVolume, Volume};
    use gleann_vector::ElementType;

    fn stored() -> StoredPageTable {
        StoredPageTable {
            index: BuildId([0xab; 16]),
            layout: Layout::new(ElementType::F32, 2000, 8, 4096).unwrap().block_layout(),
            table: PageTable::new(0x0102, [vec![3, 0x0001_0203], vec![1], vec![]]),
            root: b"root!".to_vec(),
        }
    }

    fn bytes() -> Vec<u8> {
        let volume = SimVolume::new();
        let file = volume.create("t").unwrap();
        stored().write(&*file, Path::new("t")).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<StoredPageTable, StorageError> {
        let StoredPageTable { index, layout, .. } = stored();
        let file = SimVolume::new().create("t").unwrap();
        file.write_at(bytes, 0).unwrap();
        let expected = ExpectedPageTable { index, layout, file_blocks: 0x0001_0204 };
        StoredPageTable::read(&*file, Path::new("table.gln"), &expected)
    }

    /// The message about a file whose checksums are right, after `change`.
    fn lie(change: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut bytes = bytes();
        change(&mut bytes);
        let header = Header {
            kind: KIND,
            build_id: stored().index,
            payload_bytes: (bytes.len() - HEADER_BYTES) as u64,
            payload_offset: HEADER_BYTES as u32,
            payload_crc: crc32c::crc32c(&bytes[HEADER_BYTES..]),
        };
        bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
        let message = read(&bytes).unwrap_err().to_string();
        assert!(message.starts_with("table.gln: ") && message.ends_with(REMEDY), "{message}");
        message
    }

    #[test]
    fn bytes_are_where_they_are_drawn() {
        let bytes = bytes();
        assert_eq!(bytes[8..12], *b"TABL");
        assert_eq!(bytes[16..32], [0xab; 16]);
        assert_eq!(bytes[64..72], [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[72..80], [5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[80..88], [0, 16, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[88..100], [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[100..112], [3, 0, 0, 0, 3, 2, 1, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[112..], *b"root!");
        assert_eq!(read(&bytes).unwrap(), stored());
    }

    #[test]
    fn a_file_that_lies_with_right_checksums_is_not_believed() {
        let message = lie(|bytes| bytes[100..104].copy_from_slice(&0x0001_0204u32.to_le_bytes()));
        assert!(message.contains("66052 for record block 0, expected a number below 66052"), "{message}");
        assert!(lie(|bytes| bytes[100] = 1).contains("1 for code block 0 and another block"));
        assert!(lie(|bytes| bytes[84] = 3).contains("3 pages of 4096 bytes, expected 2 pages of 4096 bytes"));
        // Counts that only a file of gigabytes would bear out: nothing is allocated for them.
        for at in [88, 92, 96] {
            assert!(lie(|bytes| bytes[at + 3] = 0x3f).contains("the length of the payload is 53 bytes"));
            assert!(lie(|bytes| bytes[at + 3] = 0x81).contains("the number of blocks of an area is 21"));
        }
        assert!(lie(|bytes| bytes[72..80].fill(0xff)).contains("18446744073709551615 of root"));
        assert!(lie(|bytes| bytes.push(0)).contains("48 bytes of counts and places, and 5 of root"));
        assert!(lie(|bytes| bytes.truncate(99)).contains("the length is 99 bytes"));
    }

    #[test]
    fn a_table_that_cannot_be_is_not_written() {
        let mut stored = stored();
        stored.table = PageTable::new(0, [vec![1, 1], vec![], vec![]]);
        let volume = SimVolume::new();
        let file = volume.create("t").unwrap();
        let message = stored.write(&*file, Path::new("t")).unwrap_err().to_string();
        assert!(message.contains("1 for record block 1 and another block"), "{message}");
        assert!(file.is_empty().unwrap());
    }

    #[test]
    fn large_tables_go_in_pieces() {
        let mut stored = stored();
        let places = (0..PIECE as u32).rev().collect();
        stored.table = PageTable::new(1, [vec![], places, vec![PIECE as u32]]);
        stored.root = vec![7; 2 * PIECE + 1];
        let volume = SimVolume::new();
        let file = volume.create("t").unwrap();
        stored.write(&*file, Path::new("t")).unwrap();
        let StoredPageTable { index, layout, .. } = stored;
        let expected = ExpectedPageTable { index, layout, file_blocks: 1 + PIECE as u64 };
        assert_eq!(StoredPageTable::read(&*file, Path::new("t"), &expected).unwrap(), stored);
    }
}
