//! One record as bytes. The layout is drawn in the documentation of the folder.

use super::error::WalError;
use gleann_storage::masked_crc32c;
use std::fmt;

/// The number of a record of the log, from 1 on, without gaps. 0 stands before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The one before, for those that are not 0.
    pub(super) fn before(self) -> Self {
        assert!(self.0 > 0, "nothing comes before record 0");
        Self(self.0 - 1)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The longest payload of a record, in bytes.
pub const MAX_PAYLOAD: usize = 1 << 30;

/// Bytes before the payload.
pub(super) const RECORD_HEADER: usize = 24;
/// Records begin at multiples of this.
pub(super) const ALIGNMENT: usize = 8;

const LENGTH: usize = 4;
const NUMBER: usize = LENGTH + 4;
const DURABLE: usize = NUMBER + 8;
const _: () = assert!(DURABLE + 8 == RECORD_HEADER && RECORD_HEADER.is_multiple_of(ALIGNMENT));
const _: () = assert!(MAX_PAYLOAD + RECORD_HEADER + ALIGNMENT < u32::MAX as usize);

/// The bytes that a record with a payload of `payload` bytes takes, padding included.
pub(super) fn record_bytes(payload: usize) -> Result<u64, WalError> {
    if payload > MAX_PAYLOAD {
        return Err(WalError::TooLong { found: payload });
    }
    Ok((RECORD_HEADER + payload).next_multiple_of(ALIGNMENT) as u64)
}

/// Puts a record behind the others in `records`; [`seal`] completes it.
pub(super) fn push(records: &mut Vec<u8>, lsn: Lsn, payload: &[u8]) {
    assert!(records.len().is_multiple_of(ALIGNMENT), "the record before has no padding");
    let length = (RECORD_HEADER + payload.len()) as u32;
    records.extend_from_slice(&[0; LENGTH]);
    records.extend_from_slice(&length.to_le_bytes());
    records.extend_from_slice(&lsn.0.to_le_bytes());
    records.extend_from_slice(&[0; RECORD_HEADER - DURABLE]);
    records.extend_from_slice(payload);
    records.resize(records.len().next_multiple_of(ALIGNMENT), 0);
}

/// Completes `records`, which are about to be written: says what is durable by now, and checksums each.
pub(super) fn seal(mut records: &mut [u8], durable: Lsn) {
    while !records.is_empty() {
        let length = u32_at(records, LENGTH) as usize;
        assert!(length >= RECORD_HEADER && u64_at(records, NUMBER) > durable.0, "not a record to be written");
        let (record, rest) = records.split_at_mut(length.next_multiple_of(ALIGNMENT));
        record[DURABLE..RECORD_HEADER].copy_from_slice(&durable.0.to_le_bytes());
        let crc = masked_crc32c(&record[LENGTH..]);
        record[..LENGTH].copy_from_slice(&crc.to_le_bytes());
        records = rest;
    }
}

/// A record that is what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub lsn: Lsn,
    /// The last record that was durable when this one was written.
    pub durable: Lsn,
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// The bytes it takes, padding included.
    pub fn bytes(&self) -> usize {
        (RECORD_HEADER + self.payload.len()).next_multiple_of(ALIGNMENT)
    }
}

/// What stands at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    Record(Record<'a>),
    /// A length of zero, or too few bytes for any record.
    End,
    /// No record; in words, for messages.
    Bad(String),
}

/// The record that `bytes` begin with. Its number has to be in `expected`: that is held against it before anything is
/// checksummed, so that looking for a record anywhere costs little.
pub(super) fn first(bytes: &[u8], expected: std::ops::RangeInclusive<u64>) -> Next<'_> {
    if bytes.len() < RECORD_HEADER {
        return Next::End;
    }
    let length = u32_at(bytes, LENGTH) as usize;
    if length == 0 {
        return Next::End;
    }
    let padded = length.next_multiple_of(ALIGNMENT);
    if length < RECORD_HEADER || padded > bytes.len() {
        return Next::Bad(format!(
            "a record of {length} bytes where {RECORD_HEADER} to {} can be",
            bytes.len()
        ));
    }
    let (lsn, durable) = (Lsn(u64_at(bytes, NUMBER)), Lsn(u64_at(bytes, DURABLE)));
    if !expected.contains(&lsn.0) {
        return Next::Bad(format!("record number {lsn}"));
    }
    let (found, crc) = (u32_at(bytes, 0), masked_crc32c(&bytes[LENGTH..padded]));
    if found != crc {
        return Next::Bad(format!("checksum {found:#010x} over bytes that have {crc:#010x}"));
    }
    if durable >= lsn {
        return Next::Bad(format!("record {lsn}, written when record {durable} was durable"));
    }
    Next::Record(Record { lsn, durable, payload: &bytes[RECORD_HEADER..length] })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_bytes() {
        let mut bytes = Vec::new();
        push(&mut bytes, Lsn(7), b"payload!+");
        seal(&mut bytes, Lsn(5));
        let mut expected = vec![0, 0, 0, 0, 33, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
        expected.extend_from_slice(b"payload!+\0\0\0\0\0\0\0");
        let crc = crc32c::crc32c(&expected[4..]).rotate_right(15).wrapping_add(0xa282_ead8);
        expected[..4].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(bytes, expected);
        assert_eq!(bytes.len() as u64, record_bytes(9).unwrap());
    }

    #[test]
    fn records_come_back_and_a_flipped_bit_is_found() {
        let mut bytes = Vec::new();
        push(&mut bytes, Lsn(1), b"");
        push(&mut bytes, Lsn(2), b"two");
        seal(&mut bytes, Lsn(0));
        let one = Record { lsn: Lsn(1), durable: Lsn(0), payload: b"" };
        assert_eq!(first(&bytes, 1..=1), Next::Record(one));
        let two = Record { lsn: Lsn(2), durable: Lsn(0), payload: b"two" };
        assert_eq!(first(&bytes[one.bytes()..], 1..=9), Next::Record(two));
        assert_eq!(bytes.len(), one.bytes() + two.bytes());
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let rest = if bit / 8 < one.bytes() { &flipped[..] } else { &flipped[one.bytes()..] };
            assert!(matches!(first(rest, 1..=2), Next::Bad(_)), "bit {bit}");
        }
        for length in RECORD_HEADER..two.bytes() {
            assert!(matches!(first(&bytes[one.bytes()..][..length], 2..=2), Next::Bad(_)));
        }
    }

    #[test]
    fn the_end_is_no_record() {
        for length in [0, 1, 23, 24, 4096] {
            assert_eq!(first(&vec![0; length], 1..=1), Next::End);
        }
        assert!(matches!(record_bytes(MAX_PAYLOAD + 1), Err(WalError::TooLong { .. })));
        assert!(record_bytes(usize::MAX).is_err());
    }
}
