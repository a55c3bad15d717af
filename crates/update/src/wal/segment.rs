//! One file of the log: its name, its header, how it is made.

use super::error::WalError;
use super::record::Lsn;
use gleann_storage::{Volume, VolumeFile, masked_crc32c};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The usual length of a segment.
pub const SEGMENT_BYTES: u64 = 16 << 20;

/// Where records begin. The header has the first block to itself: no write of records touches it.
pub(super) const RECORDS_AT: u64 = 4096;
/// The shortest segment.
const MIN_SEGMENT_BYTES: u64 = 2 * RECORDS_AT;

const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"\x89gleann\n";
const KIND: [u8; 4] = *b"wlog";

const KIND_AT: usize = MAGIC.len();
const VERSION_AT: usize = KIND_AT + 4;
const ID_AT: usize = VERSION_AT + 4;
const NUMBER_AT: usize = ID_AT + 16;
const FIRST_AT: usize = NUMBER_AT + 8;
const DURABLE_AT: usize = FIRST_AT + 8;
const LENGTH_AT: usize = DURABLE_AT + 8;
const CRC_AT: usize = LENGTH_AT + 8 + 4;
pub(super) const HEADER_BYTES: usize = CRC_AT + 4;
const _: () = assert!(HEADER_BYTES == 72 && NUMBER_AT == 32);

/// The file name of segment `number`.
pub(super) fn name_of(number: u64) -> String {
    format!("wal-{number:016x}.gln")
}

/// The number of the segment of that name; `None` for any other file.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("wal-")?.strip_suffix(".gln")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (name_of(number) == name).then_some(number)
}

/// Whether this is what a crash left of a segment that was being made.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some_and(|name| number_of(name).is_some())
}

/// The length of a segment that is to take a record of `record` bytes, where `usual` were asked for.
pub(super) fn length_for(usual: u64, record: u64) -> u64 {
    usual.clamp(MIN_SEGMENT_BYTES, 1 << 40).max(RECORDS_AT + record).next_multiple_of(RECORDS_AT)
}

/// What the header of a segment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The index the log belongs to.
    pub id: [u8; 16],
    pub number: u64,
    /// The first record it will hold.
    pub first: Lsn,
    /// The last record that was durable when the segment was made.
    pub durable: Lsn,
    /// Bytes in the file.
    pub length: u64,
}

impl Header {
    /// The header as it stands in a file.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        assert!(self.durable < self.first && self.length >= MIN_SEGMENT_BYTES, "not a segment to be written");
        let mut bytes = [0; HEADER_BYTES];
        bytes[..KIND_AT].copy_from_slice(&MAGIC);
        bytes[KIND_AT..VERSION_AT].copy_from_slice(&KIND);
        bytes[VERSION_AT..ID_AT].copy_from_slice(&VERSION.to_le_bytes());
        bytes[ID_AT..NUMBER_AT].copy_from_slice(&self.id);
        let numbers = [self.number, self.first.0, self.durable.0, self.length];
        for (number, place) in numbers.iter().zip(bytes[NUMBER_AT..].chunks_exact_mut(8)) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let crc = masked_crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the header of the segment at `path`.
    pub fn decode(bytes: &[u8; HEADER_BYTES], expected: Expected, path: PathBuf) -> Result<Self, WalError> {
        recognise(bytes, &path)?;
        let [number, first, durable, length] =
            [NUMBER_AT, FIRST_AT, DURABLE_AT, LENGTH_AT].map(|at| long(bytes, at));
        let id: [u8; 16] = bytes[ID_AT..NUMBER_AT].try_into().expect("16 bytes");
        let foreign = |field, found: String, expected: String, remedy| {
            Err(WalError::Foreign { path: path.clone(), field, found, expected, remedy })
        };
        if id != expected.id {
            let remedy = "the segment belongs to another index: copy the right file, or remove this one";
            return foreign("the index id", hex(&id), hex(&expected.id), remedy);
        }
        if number != expected.number {
            let remedy = "the file was renamed: give it its name again";
            return foreign("the segment number", number.to_string(), expected.number.to_string(), remedy);
        }
        if length != expected.length {
            let found = format!("a file of {} bytes", expected.length);
            let expected = format!("{length} bytes, as its header says");
            return Err(WalError::Damaged { path, offset: 0, found, expected });
        }
        if durable >= first {
            let found = format!("record {durable} durable before the segment was made");
            let expected = format!("a record before {first}, its first");
            return Err(WalError::Damaged { path, offset: DURABLE_AT as u64, found, expected });
        }
        Ok(Self { id, number, first: Lsn(first), durable: Lsn(durable), length })
    }
}

/// Refuses what is no undamaged header of this version.
fn recognise(bytes: &[u8; HEADER_BYTES], path: &Path) -> Result<(), WalError> {
    let text = |bytes: &[u8]| format!("\"{}\"", bytes.escape_ascii());
    let damaged = |offset, found: String, expected: String| {
        Err(WalError::Damaged { path: path.to_owned(), offset, found, expected })
    };
    let foreign = |field, found: String, expected: String, remedy| {
        Err(WalError::Foreign { path: path.to_owned(), field, found, expected, remedy })
    };
    if bytes[..KIND_AT] != MAGIC {
        return damaged(0, text(&bytes[..KIND_AT]), text(&MAGIC));
    }
    let (version, found, crc) =
        (word(bytes, VERSION_AT), word(bytes, CRC_AT), masked_crc32c(&bytes[..CRC_AT]));
    if version != VERSION {
        let remedy = "open the index with the program that wrote the log, and let it make a checkpoint";
        return foreign("the log version", version.to_string(), VERSION.to_string(), remedy);
    }
    if found != crc {
        return damaged(CRC_AT as u64, format!("header checksum {found:#010x}"), format!("{crc:#010x}"));
    }
    if bytes[KIND_AT..VERSION_AT] != KIND {
        let remedy = "another file has taken its name: copy the file again";
        return foreign("the kind of file", text(&bytes[KIND_AT..VERSION_AT]), text(&KIND), remedy);
    }
    Ok(())
}

/// What a header is held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub id: [u8; 16],
    pub number: u64,
    /// Bytes in the file.
    pub length: u64,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An open segment.
pub(super) struct Segment {
    pub header: Header,
    pub path: PathBuf,
    pub file: Box<dyn VolumeFile>,
}

impl fmt::Debug for Segment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Segment").field("path", &self.path).field("header", &self.header).finish()
    }
}

/// Why a segment was not made.
#[derive(Debug)]
pub(super) struct NotMade {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
    /// Whether nothing at all has happened, surely.
    pub undone: bool,
}

impl Segment {
    /// Makes a segment, durable with its name: of zeros, so that later syncs have no room to find and no length to
    /// write, and a full disk shows here and not when records come.
    pub fn make(volume: &dyn Volume, header: Header) -> Result<Self, NotMade> {
        let name = name_of(header.number);
        let path = volume.path(&name);
        let temporary = format!("{name}.tmp");
        let fail = |action, undone| {
            let path = path.clone();
            move |source| NotMade { action, path, source, undone }
        };
        let made = fill(volume, &temporary, &header).map_err(fail("making", true)).and_then(|file| {
            volume.rename(&temporary, &name).map_err(fail("naming", true))?;
            Ok(file)
        });
        let file = made.inspect_err(|_| {
            // Whatever stays is overwritten by the next segment of this name, or removed when the log is opened.
            let _ = volume.remove(&temporary);
        })?;
        // From here on a crash may leave the segment or not.
        volume.sync_dir().map_err(fail("fsync of the directory of", false))?;
        Ok(Self { header, path, file })
    }

    /// Opens segment `number` of the index `id`.
    pub fn open(volume: &dyn Volume, number: u64, id: [u8; 16]) -> Result<Self, WalError> {
        let name = name_of(number);
        let path = volume.path(&name);
        let file = volume.open(&name).map_err(WalError::io("opening", path.clone()))?;
        let Some(file) = file else {
            return Err(WalError::MissingSegment { path, reason: "it was there a moment ago".to_owned() });
        };
        let length = file.len().map_err(WalError::io("asking the length of", path.clone()))?;
        if length < MIN_SEGMENT_BYTES {
            let (found, expected) =
                (format!("a file of {length} bytes"), format!("at least {MIN_SEGMENT_BYTES}"));
            return Err(WalError::Damaged { path, offset: 0, found, expected });
        }
        let mut bytes = [0; HEADER_BYTES];
        file.read_at(&mut bytes, 0).map_err(WalError::io("reading", path.clone()))?;
        let header = Header::decode(&bytes, Expected { id, number, length }, path.clone())?;
        Ok(Self { header, path, file })
    }

    /// All bytes of the file.
    pub fn read(&self) -> Result<Vec<u8>, WalError> {
        let mut bytes = vec![0; self.header.length as usize];
        self.file.read_at(&mut bytes, 0).map_err(WalError::io("reading", self.path.clone()))?;
        Ok(bytes)
    }
}

fn fill(volume: &dyn Volume, name: &str, header: &Header) -> io::Result<Box<dyn VolumeFile>> {
    const PIECE: u64 = 1 << 20;
    let file = volume.create(name)?;
    file.set_len(header.length)?;
    let mut first = vec![0; header.length.min(PIECE) as usize];
    first[..HEADER_BYTES].copy_from_slice(&header.encode());
    file.write_at(&first, 0)?;
    first[..HEADER_BYTES].fill(0);
    for offset in (PIECE..header.length).step_by(PIECE as usize) {
        let piece = PIECE.min(header.length - offset) as usize;
        file.write_at(&first[..piece], offset)?;
    }
    file.sync()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header =
        Header { id: *b"an index's id 16", number: 0x1f, first: Lsn(9), durable: Lsn(7), length: 8192 };
    const EXPECTED: Expected = Expected { id: HEADER.id, number: HEADER.number, length: HEADER.length };

    #[test]
    fn the_documented_bytes() {
        let mut bytes = b"\x89gleann\nwlog\x01\0\0\0an index's id 16".to_vec();
        for number in [0x1f_u64, 9, 7, 8192] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&[0; 4]);
        let crc = crc32c::crc32c(&bytes).rotate_right(15).wrapping_add(0xa282_ead8);
        bytes.extend_from_slice(&crc.to_le_bytes());
        assert_eq!(HEADER.encode().to_vec(), bytes);
        assert_eq!(Header::decode(&HEADER.encode(), EXPECTED, PathBuf::new()).unwrap(), HEADER);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_found() {
        for bit in 0..8 * HEADER_BYTES {
            let mut bytes = HEADER.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&bytes, EXPECTED, PathBuf::new()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_segment_of_another_place_is_refused() {
        let told = |expected| {
            Header::decode(&HEADER.encode(), expected, PathBuf::from("x")).unwrap_err().to_string()
        };
        assert!(told(Expected { id: [0; 16], ..EXPECTED }).contains("another index"));
        assert!(told(Expected { number: 1, ..EXPECTED }).contains("the segment number is 31, expected 1"));
        assert!(
            told(Expected { length: 4096, ..EXPECTED }).contains("found a file of 4096 bytes, expected 8192")
        );
    }

    #[test]
    fn names_and_numbers() {
        assert_eq!(name_of(1), "wal-0000000000000001.gln");
        for number in [1, 0xabc, u64::MAX] {
            assert_eq!(number_of(&name_of(number)), Some(number));
            assert!(is_unfinished(&format!("{}.tmp", name_of(number))));
        }
        for name in
            ["wal-1.gln", "wal-000000000000000A.gln", "wal-+000000000000001.gln", "graph.gln", "wal-.gln"]
        {
            assert_eq!(number_of(name), None, "{name}");
        }
        assert!(!is_unfinished("wal-1.gln.tmp") && !is_unfinished(&name_of(1)));
    }

    #[test]
    fn lengths() {
        assert_eq!(length_for(SEGMENT_BYTES, 100), SEGMENT_BYTES);
        assert_eq!(length_for(0, 0), 8192);
        assert_eq!(length_for(10_000, 0), 12_288);
        assert_eq!(length_for(8192, 4096), 8192);
        assert_eq!(length_for(8192, 4104), 12_288);
    }
}
