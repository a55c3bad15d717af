//! What a log holds when it is opened: reads every record, tells a torn tail from damage, and mends the tail.

use super::error::WalError;
use super::log::WalOptions;
use super::record::{self, ALIGNMENT, Lsn, Next};
use super::segment::{self, Header, RECORDS_AT, Segment};
use gleann_storage::Volume;

/// Called with every record.
pub type Replay<'a, E> = &'a mut dyn FnMut(Lsn, &[u8]) -> Result<(), E>;

/// A log after its replay; all of it is durable.
#[derive(Debug)]
pub(super) struct Recovered {
    /// The segments in order, each with the place where its records end. Empty for a log that is to begin.
    pub segments: Vec<(Segment, u64)>,
    /// The number of the next record.
    pub next: Lsn,
}

/// Replays the log and makes it ready for more.
pub(super) fn recover<E: From<WalError>>(
    volume: &dyn Volume,
    options: &WalOptions,
    replay: Replay<'_, E>,
) -> Result<Recovered, E> {
    let listing = Listing::read(volume, options)?;
    let opened: Result<Vec<_>, _> =
        listing.live.iter().map(|&number| Segment::open(volume, number, options.id)).collect();
    let mut walk = Walk::new(opened?);
    let kept = walk.run(replay)?;
    walk.mend()?;
    let Walk { segments, ends, next, .. } = walk;
    clean(volume, &listing, kept)?;
    let segments = segments.into_iter().zip(ends).take(kept).collect();
    Ok(Recovered { segments, next })
}

/// Calls `seen` with every record of the log, and changes nothing. A torn tail ends the records.
///
/// # Errors
/// What `seen` returned; a segment is missing, damaged, or of another index; the system refused.
pub fn inspect<E: From<WalError>>(
    volume: &dyn Volume,
    options: &WalOptions,
    seen: Replay<'_, E>,
) -> Result<(), E> {
    let listing = Listing::read(volume, options)?;
    let opened: Result<Vec<_>, _> =
        listing.live.iter().map(|&number| Segment::open(volume, number, options.id)).collect();
    Walk::new(opened?).run(seen)?;
    Ok(())
}

/// The files of the log.
#[derive(Debug, Default)]
struct Listing {
    /// Segments before the first, ascending.
    old: Vec<u64>,
    /// The others, ascending, without gaps.
    live: Vec<u64>,
    /// Files of segments that were never finished.
    unfinished: Vec<String>,
}

impl Listing {
    fn read(volume: &dyn Volume, options: &WalOptions) -> Result<Self, WalError> {
        let names = volume.list().map_err(WalError::io("listing", volume.path("")))?;
        let mut listing = Self::default();
        for name in names {
            match segment::number_of(&name) {
                Some(number) if number < options.first_segment => listing.old.push(number),
                Some(number) => listing.live.push(number),
                None if segment::is_unfinished(&name) => listing.unfinished.push(name),
                None => {}
            }
        }
        listing.old.sort_unstable();
        listing.live.sort_unstable();
        let missing = |number: u64, reason: String| {
            Err(WalError::MissingSegment { path: volume.path(&segment::name_of(number)), reason })
        };
        let first = options.first_segment;
        match listing.live.first() {
            None if first > 1 || !options.begins => {
                return missing(first, format!("the log of this index begins at segment {first}"));
            }
            Some(&found) if found > first => return missing(first, format!("segment {found} is there")),
            _ => {}
        }
        match listing.live.windows(2).find(|pair| pair[0] + 1 != pair[1]) {
            Some(pair) => missing(pair[0] + 1, format!("segments {} and {} are there", pair[0], pair[1])),
            None => Ok(listing),
        }
    }
}

/// Removes what is no part of the log; `kept` live segments are. From the highest down, so that what a crash leaves of
/// them still follows without a gap.
fn clean(volume: &dyn Volume, listing: &Listing, kept: usize) -> Result<(), WalError> {
    let dropped =
        listing.live[kept..].iter().rev().chain(&listing.old).map(|&number| segment::name_of(number));
    for name in dropped.chain(listing.unfinished.iter().cloned()) {
        volume.remove(&name).map_err(WalError::io("removing", volume.path(&name)))?;
    }
    // Also when nothing was removed: a process that was killed may have made the last segment and not synced its name.
    volume.sync_dir().map_err(WalError::io("fsync of the directory of", volume.path("")))
}

/// The way through all segments, in order.
struct Walk {
    segments: Vec<Segment>,
    /// Where the records of each segment end, as far as it was walked.
    ends: Vec<u64>,
    next: Lsn,
    last: Option<Last>,
}

/// What is to be written again: what the last segment that holds anything shall hold.
struct Last {
    /// Which segment.
    index: usize,
    /// Its bytes from the first record to where only zeros follow, the torn tail made zeros.
    bytes: Vec<u8>,
}

impl Walk {
    fn new(segments: Vec<Segment>) -> Self {
        let next = segments.first().map_or(Lsn(1), |segment| segment.header.first);
        Self { segments, ends: Vec::new(), next, last: None }
    }

    /// Replays all records. Returns how many segments are part of the log: behind a torn tail may be segments that
    /// were made for records that never came.
    fn run<E: From<WalError>>(&mut self, replay: Replay<'_, E>) -> Result<usize, E> {
        for index in 0..self.segments.len() {
            let mut bytes = self.segments[index].read()?;
            let (end, bad) = self.records(&bytes, replay)?;
            self.ends.push(end as u64);
            let following = self.segments.get(index + 1).map(|segment| segment.header.first);
            let complete = following == Some(self.next);
            let used = if complete { end } else { end + without_zeros(&bytes[end..]).len() };
            if !complete {
                self.check_torn(index, &bytes[end..], bad)?;
                bytes[end..].fill(0);
            }
            if used > RECORDS_AT as usize {
                bytes.truncate(used);
                bytes.drain(..RECORDS_AT as usize);
                self.last = Some(Last { index, bytes });
            }
            if !complete {
                return Ok(index + 1);
            }
        }
        Ok(0)
    }

    /// Replays the records of one segment. Returns where they end, and what stands there if it is not a plain end.
    fn records<E: From<WalError>>(
        &mut self,
        bytes: &[u8],
        replay: Replay<'_, E>,
    ) -> Result<(usize, Option<String>), E> {
        let mut at = RECORDS_AT as usize;
        loop {
            match record::first(&bytes[at..], self.next.0..=self.next.0) {
                Next::Record(record) => {
                    replay(record.lsn, record.payload)?;
                    at += record.bytes();
                    self.next = record.lsn.next();
                }
                Next::End => return Ok((at, None)),
                Next::Bad(what) => return Ok((at, Some(what))),
            }
        }
    }

    /// Makes sure that record `self.next`, which is not in segment `index`, had never been durable: then the records
    /// end here, and `rest`, what stands behind them in the segment, is a torn tail. `bad` says what is in its place.
    fn check_torn(&self, index: usize, rest: &[u8], bad: Option<String>) -> Result<(), WalError> {
        let damaged = |why: String| {
            let found = bad.unwrap_or_else(|| "the end of the records".to_owned());
            let expected = format!("record {}, which had been written before {why}", self.next);
            let (path, offset) = (self.segments[index].path.clone(), self.ends[index]);
            Err(WalError::Damaged { path, offset, found, expected })
        };
        if let Some(witness) = durable_before(rest, self.next) {
            return damaged(format!("record {witness} behind it"));
        }
        for following in &self.segments[index + 1..] {
            let Header { number, first, durable, .. } = following.header;
            if first < self.next {
                let (path, found) = (following.path.clone(), format!("a segment from record {first} on"));
                return Err(WalError::Damaged { path, offset: 0, found, expected: self.next.to_string() });
            }
            if durable >= self.next {
                return damaged(format!("segment {number} was made"));
            }
            if !without_zeros(&following.read()?[RECORDS_AT as usize..]).is_empty() {
                return damaged(format!("the records in segment {number}"));
            }
        }
        Ok(())
    }

    /// Writes the last segment again, without its torn tail, and syncs it: what was replayed is durable from here on.
    /// To sync alone is not enough. A record that can be read may be on no disk, and its page be taken for clean: that
    /// is what a failed fsync leaves behind.
    fn mend(&self) -> Result<(), WalError> {
        let Some(Last { index, bytes }) = &self.last else { return Ok(()) };
        let (segment, end) = (&self.segments[*index], self.ends[*index]);
        let torn = RECORDS_AT + bytes.len() as u64 - end;
        if torn > 0 {
            let (path, next) = (segment.path.display(), self.next);
            log::warn!("{path}: cut off {torn} bytes at byte {end}, the torn write of record {next}");
        }
        segment
            .file
            .write_at(bytes, RECORDS_AT)
            .map_err(WalError::io("writing again", segment.path.clone()))?;
        segment.file.sync().map_err(WalError::io("fsync of", segment.path.clone()))
    }
}

/// A record in `rest` that says that `lsn` was durable when it was written.
fn durable_before(rest: &[u8], lsn: Lsn) -> Option<Lsn> {
    // No more records fit in here, so a greater number cannot follow.
    let numbers = lsn.0 + 1..=lsn.0.saturating_add(rest.len() as u64 / ALIGNMENT as u64);
    (0..without_zeros(rest).len()).step_by(ALIGNMENT).find_map(|at| {
        match record::first(&rest[at..], numbers.clone()) {
            Next::Record(record) if record.durable >= lsn => Some(record.lsn),
            _ => None,
        }
    })
}

/// `bytes` without the zeros at their end.
fn without_zeros(bytes: &[u8]) -> &[u8] {
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..used]
}
