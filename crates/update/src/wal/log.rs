//! The log as its callers see it: append, commit, rotate.
//!
//! An append puts its record into the buffer, under the lock. A thread that wants records on the disk takes the whole
//! buffer and writes it without the lock, so that others append meanwhile; those whose records it took wait for it, and
//! one of those that came later is the next. Only one thread at a time does so (`State::writing`), which is what keeps
//! the order. In the same way one thread at a time makes the next segment (`State::growing`); appends wait for that one,
//! because a full disk has to show in the append.

use super::batch::{Batch, Progress};
use super::durability::Durability;
use super::error::{Poison, WalError};
use super::record::{self, Lsn};
use super::replay::{self, Recovered, Replay};
use super::segment::{self, Header, NotMade, RECORDS_AT, Segment};
use crate::sync::{Condvar, Mutex, MutexGuard};
use gleann_storage::Volume;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Buffered bytes from which an append writes them itself.
const SPILL_BYTES: u64 = 256 << 10;
/// Buffered bytes from which an append waits for the thread that writes.
const BACKLOG_BYTES: u64 = 8 << 20;

/// How a log is opened.
#[derive(Debug, Clone)]
pub struct WalOptions {
    /// The index the log belongs to: the segments of another are refused.
    pub id: [u8; 16],
    /// The first segment that counts; those before are removed. 1 for a log that has not been rotated yet, later what
    /// [`Wal::rotate`] returned for the checkpoint that is opened.
    pub first_segment: u64,
    /// Whether this is where the log begins: segment 1 is made if there is no segment. A log that has begun and has none is
    /// one that was lost.
    pub begins: bool,
    /// Length of a segment, usually [`SEGMENT_BYTES`](super::SEGMENT_BYTES); 8 KiB at least. A record that needs more
    /// gets a longer one.
    pub segment_bytes: u64,
    /// When a commit returns.
    pub durability: Durability,
}

/// A write-ahead log. Every method may be called by any thread.
pub struct Wal {
    volume: Arc<dyn Volume>,
    options: WalOptions,
    state: Mutex<State>,
    /// Something was written, synced, made, or has failed.
    changed: Condvar,
    /// Ends the wait of the thread that collects commits.
    collected: Condvar,
}

#[derive(Debug)]
struct State {
    /// The number of the next record.
    next: Lsn,
    /// Records that are not written yet.
    batches: Vec<Batch>,
    /// Bytes in them.
    buffered: u64,
    /// The segments of the log; the last takes the next record.
    segments: VecDeque<Place>,
    current: Arc<Segment>,
    progress: Progress,
    /// A thread is writing, and `progress` is in its hands.
    writing: bool,
    /// A thread is making the next segment.
    growing: bool,
    /// A thread waits for other commits before it writes.
    collecting: bool,
    /// Threads that wait for their commits in groups.
    committing: usize,
    /// How many of them the last fsync had: as many are expected for the next.
    group: usize,
    poison: Option<Poison>,
}

/// A segment and where its records end.
#[derive(Debug, Clone, Copy)]
struct Place {
    number: u64,
    end: u64,
}

type Guard<'a> = MutexGuard<'a, State>;

impl Wal {
    /// Opens the log in `volume` and calls `replay` with every record in it, in order. A new log is begun where
    /// `options` say so and there is no segment. A torn tail, which a crash leaves, is cut off; whatever was
    /// replayed is durable when this returns.
    ///
    /// # Errors
    /// What `replay` returned; a segment is missing, damaged, or of another index; the system refused.
    pub fn open<E: From<WalError>>(
        volume: Arc<dyn Volume>,
        mut options: WalOptions,
        replay: Replay<'_, E>,
    ) -> Result<Self, E> {
        options.first_segment = options.first_segment.max(1);
        let Recovered { mut segments, next } = replay::recover(&*volume, &options, replay)?;
        if segments.is_empty() {
            let length = segment::length_for(options.segment_bytes, 0);
            let (number, first, durable) = (options.first_segment, next, next.before());
            let header = Header { id: options.id, number, first, durable, length };
            segments.push((
                Segment::make(&*volume, header).map_err(|error| not_made(error, length))?,
                RECORDS_AT,
            ));
        }
        let places = segments.iter().map(|(segment, end)| Place { number: segment.header.number, end: *end });
        let places: VecDeque<_> = places.collect();
        let (current, _) = segments.pop().expect("a log has a segment");
        let progress = Progress { written: next.before(), durable: next.before(), unsynced: None };
        let state = State {
            next,
            batches: Vec::new(),
            buffered: 0,
            segments: places,
            current: Arc::new(current),
            progress,
            writing: false,
            growing: false,
            collecting: false,
            committing: 0,
            group: 0,
            poison: None,
        };
        let (changed, collected) = (Condvar::new(), Condvar::new());
        Ok(Self { volume, options, state: Mutex::new(state), changed, collected })
    }

    /// Puts a record into the log and returns its number. It is durable after [`Wal::commit`] of that or any later
    /// number. Room for it is taken now: where the disk is full, this says so.
    ///
    /// # Errors
    /// [`WalError::Full`] and [`WalError::TooLong`]: the record is not in the log, which goes on. [`WalError::Poisoned`]:
    /// whether it is shows when the log is opened again.
    pub fn append(&self, payload: &[u8]) -> Result<Lsn, WalError> {
        let bytes = record::record_bytes(payload.len())?;
        let mut state = self.state.lock();
        self.make_room(&mut state, bytes)?;
        let lsn = state.push(payload, bytes);
        if state.buffered >= SPILL_BYTES && !state.writing {
            self.write(&mut state, false)?;
        }
        Ok(lsn)
    }

    /// Returns when record `lsn` and all before it are as durable as [`Durability`] asks.
    ///
    /// # Errors
    /// [`WalError::Poisoned`], unless the record had been durable before; [`WalError::NeverAppended`].
    pub fn commit(&self, lsn: Lsn) -> Result<(), WalError> {
        match self.options.durability {
            Durability::Each => self.make_durable(lsn, None),
            Durability::Group(window) => self.make_durable(lsn, Some(window)),
            Durability::None => self.state.lock().check(lsn),
        }
    }

    /// Makes everything that was appended durable, whatever [`Durability`] asks.
    ///
    /// # Errors
    /// [`WalError::Poisoned`].
    pub fn flush(&self) -> Result<(), WalError> {
        let last = {
            let state = self.state.lock();
            let last = state.next.before();
            state.check(last)?;
            last
        };
        self.make_durable(last, None)
    }

    /// Begins a new segment and returns its number: everything appended before lies in lower segments. A segment
    /// without records is not followed by another; then its own number is returned.
    ///
    /// # Errors
    /// [`WalError::Full`]: the log goes on in the old segment. [`WalError::Poisoned`].
    pub fn rotate(&self) -> Result<u64, WalError> {
        let mut state = self.state.lock();
        self.make_room(&mut state, 0)?;
        if state.place().end > RECORDS_AT {
            self.grow(&mut state, 0)?;
        }
        let number = state.place().number;
        if !state.writing {
            self.write(&mut state, false)?;
        }
        Ok(number)
    }

    /// Removes all segments before `segment`, those that a checkpoint made superfluous. The last segment stays.
    ///
    /// # Errors
    /// The system refused. What is left of them is removed by the next call, or when the log is opened.
    pub fn remove_before(&self, segment: u64) -> Result<(), WalError> {
        let old: Vec<_> = {
            let state = self.state.lock();
            let last = state.place().number;
            state
                .segments
                .iter()
                .map(|place| place.number)
                .filter(|&number| number < segment.min(last))
                .collect()
        };
        for number in old {
            let name = segment::name_of(number);
            match self.volume.remove(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(WalError::io("removing", self.volume.path(&name))(error));
                }
                _ => self.state.lock().segments.retain(|place| place.number != number),
            }
        }
        self.volume.sync_dir().map_err(WalError::io("fsync of the directory of", self.volume.path("")))
    }

    /// Bytes of records in all segments, those included that are not written yet.
    pub fn bytes(&self) -> u64 {
        self.state.lock().segments.iter().map(|place| place.end - RECORDS_AT).sum()
    }

    /// The numbers of the first and the last segment.
    pub fn segments(&self) -> std::ops::RangeInclusive<u64> {
        let state = self.state.lock();
        let first = state.segments.front().expect("a log has a segment").number;
        first..=state.place().number
    }

    /// The last record that is surely on the disk; 0 where there is none.
    pub fn durable_lsn(&self) -> Lsn {
        self.state.lock().progress.durable
    }

    /// The last record that was appended; 0 where there is none.
    pub fn last_lsn(&self) -> Lsn {
        self.state.lock().next.before()
    }

    /// Waits until the current segment has room for a record of `bytes` bytes and no other thread is making a segment.
    fn make_room(&self, state: &mut Guard<'_>, bytes: u64) -> Result<(), WalError> {
        loop {
            state.check_poison()?;
            if state.growing || (state.writing && state.buffered >= BACKLOG_BYTES) {
                self.changed.wait(state);
            } else if state.place().end + bytes <= state.current.header.length {
                return Ok(());
            } else {
                self.grow(state, bytes)?;
            }
        }
    }

    /// Makes the next segment, with room for a record of `bytes` bytes. The lock is given up meanwhile.
    fn grow(&self, state: &mut Guard<'_>, bytes: u64) -> Result<(), WalError> {
        assert!(!state.growing, "one segment is made at a time");
        let header = Header {
            id: self.options.id,
            number: state.place().number + 1,
            first: state.next,
            durable: state.progress.durable,
            length: segment::length_for(self.options.segment_bytes, bytes),
        };
        state.growing = true;
        let made = MutexGuard::unlocked(state, || Segment::make(&*self.volume, header));
        state.growing = false;
        self.changed.notify_all();
        assert!(state.next == header.first, "no record is appended while a segment is made");
        state.check_poison()?;
        match made {
            Ok(segment) => {
                state.segments.push_back(Place { number: header.number, end: RECORDS_AT });
                state.current = Arc::new(segment);
                Ok(())
            }
            Err(error) => {
                let error = not_made(error, header.length);
                if let WalError::Poisoned { action, path, source } = &error {
                    let (path, source) = (path.clone(), source.clone());
                    state.poison = Some(Poison { action, path, source });
                }
                Err(error)
            }
        }
    }

    /// Returns when record `lsn` is durable. Where this thread does the work, it first waits for as many others as there
    /// were last time, but no longer than `window`.
    fn make_durable(&self, lsn: Lsn, mut window: Option<Duration>) -> Result<(), WalError> {
        let mut state = self.state.lock();
        let grouped = usize::from(window.is_some());
        state.committing += grouped;
        if state.collecting && state.committing >= state.group {
            self.collected.notify_all();
        }
        let mut collects = false;
        let done = loop {
            if state.progress.durable >= lsn {
                break Ok(());
            }
            if let Err(error) = state.check(lsn) {
                break Err(error);
            }
            if state.writing || (state.collecting && !collects && window.is_some()) {
                self.changed.wait(&mut state);
            } else if let Some(window) = window.take().filter(|_| state.committing < state.group) {
                (state.collecting, collects) = (true, true);
                self.collected.wait_for(&mut state, window);
            } else {
                state.group = state.committing;
                // What fails here is found by the next round.
                let _ = self.write(&mut state, true);
            }
        };
        state.committing -= grouped;
        if collects {
            // Those who came too late for this round need one of theirs to begin the next.
            state.collecting = false;
            self.changed.notify_all();
        }
        done
    }

    /// Writes what is buffered, and where asked syncs it. The lock is given up meanwhile.
    fn write(&self, state: &mut Guard<'_>, sync: bool) -> Result<(), WalError> {
        assert!(!state.writing, "one thread writes at a time");
        state.writing = true;
        state.buffered = 0;
        let batches = std::mem::take(&mut state.batches);
        let mut progress = state.progress.clone();
        let done = MutexGuard::unlocked(state, || {
            let done = progress.advance(batches, sync);
            (done, progress)
        });
        state.writing = false;
        state.progress = done.1;
        if let Err(poison) = done.0 {
            state.poison.get_or_insert(poison);
        }
        self.changed.notify_all();
        self.collected.notify_all();
        state.check_poison()
    }
}

/// What is said of a segment that could not be made.
fn not_made(error: NotMade, bytes: u64) -> WalError {
    let NotMade { action, path, source, undone } = error;
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if undone => {
            WalError::Full { path, bytes, source }
        }
        _ => Poison::of(action, path)(source).into(),
    }
}

impl State {
    fn check_poison(&self) -> Result<(), WalError> {
        self.poison.clone().map_or(Ok(()), |poison| Err(poison.into()))
    }

    /// Refuses a record that is not there, and any once the log is poisoned.
    fn check(&self, lsn: Lsn) -> Result<(), WalError> {
        if lsn >= self.next {
            return Err(WalError::NeverAppended { lsn, last: self.next.before() });
        }
        self.check_poison()
    }

    /// The segment that takes the next record.
    fn place(&self) -> Place {
        *self.segments.back().expect("a log has a segment")
    }

    /// Buffers a record of `bytes` bytes, for which there is room.
    fn push(&mut self, payload: &[u8], bytes: u64) -> Lsn {
        let (lsn, offset) = (self.next, self.place().end);
        assert!(offset + bytes <= self.current.header.length, "room was made");
        self.next = lsn.next();
        self.segments.back_mut().expect("a log has a segment").end += bytes;
        self.buffered += bytes;
        match self.batches.last_mut() {
            Some(batch) if Arc::ptr_eq(&batch.segment, &self.current) => {
                record::push(&mut batch.bytes, lsn, payload);
                batch.last = lsn;
            }
            _ => {
                let mut records = Vec::with_capacity(bytes as usize);
                record::push(&mut records, lsn, payload);
                self.batches.push(Batch { segment: self.current.clone(), offset, bytes: records, last: lsn });
            }
        }
        lsn
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        // Nobody is left to be told; what was committed is durable already.
        let _ = self.flush();
    }
}

impl fmt::Debug for Wal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Wal").field("options", &self.options).field("state", &*self.state.lock()).finish()
    }
}
