//! The simulated disk: a [`PageIo`] over bytes in memory with a virtual clock, a latency model, reordering and
//! scripted faults. It is held to the contract more strictly than a real disk: nothing moves before `flush`.

use crate::clock::Clock;
use crate::page_io::{PageIo, RawCompletion, RawRead};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Time that passes only when somebody waits for it.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock(Rc<Cell<u64>>);

impl VirtualClock {
    /// Lets `ns` nanoseconds pass.
    pub fn advance(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }
}

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

/// What becomes of one read instead of success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this errno.
    Errno(i32),
    /// Only so many bytes arrive.
    Short(u32),
    /// It arrives so many nanoseconds late.
    Late(u64),
    /// Bit `bit` of the bytes is flipped on the way.
    Flip(u32),
}

/// How a simulated disk behaves.
#[derive(Debug, Clone)]
pub struct SimOptions {
    /// Reads that may be in flight.
    pub capacity: usize,
    /// Service time of a read, in nanoseconds.
    pub latency_ns: u64,
    /// Further service time per read already in flight.
    pub queue_ns: u64,
    /// Seed of the jitter that reorders completions; 0: completions come in order.
    pub reorder_seed: u64,
    /// Faults by the number of the read (from 0, in order of submission, retries included).
    pub faults: BTreeMap<u64, Fault>,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self { capacity: 128, latency_ns: 80_000, queue_ns: 5_000, reorder_seed: 0, faults: BTreeMap::new() }
    }
}

#[derive(Debug)]
struct Pending {
    due: u64,
    read: RawRead,
    fault: Option<Fault>,
}

/// The simulated disk.
#[derive(Debug)]
pub struct SimDisk {
    image: Arc<[u8]>,
    options: SimOptions,
    clock: VirtualClock,
    queued: Vec<RawRead>,
    pending: Vec<Pending>,
    jitter: u64,
    reads: u64,
}

impl SimDisk {
    /// A disk that holds one file of the bytes `image`.
    pub fn new(image: Arc<[u8]>, clock: VirtualClock, options: SimOptions) -> Self {
        let jitter = options.reorder_seed;
        Self { image, options, clock, queued: Vec::new(), pending: Vec::new(), jitter, reads: 0 }
    }

    /// Reads submitted so far, retries included.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    fn next_jitter(&mut self) -> u64 {
        if self.options.reorder_seed == 0 {
            return 0;
        }
        // xorshift64: any spread will do, it only has to be the same every time.
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        self.jitter % (2 * self.options.latency_ns.max(1))
    }

    fn complete(&self, pending: &Pending) -> RawCompletion {
        let RawRead { token, offset, buffer, length } = pending.read;
        let available = (self.image.len() as u64).saturating_sub(offset).min(u64::from(length)) as u32;
        let bytes = match pending.fault {
            Some(Fault::Errno(code)) => return RawCompletion { token, result: -code },
            Some(Fault::Short(bytes)) => bytes.min(available),
            _ => available,
        };
        let source = &self.image[offset as usize..][..bytes as usize];
        // SAFETY: the submitter promised a buffer of `length` ≥ `bytes` bytes.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), buffer, source.len()) };
        if let Some(Fault::Flip(bit)) = pending.fault {
            assert!(bit / 8 < bytes, "fault outside the read");
            // SAFETY: inside the bytes just written.
            unsafe { *buffer.add(bit as usize / 8) ^= 1 << (bit % 8) };
        }
        RawCompletion { token, result: bytes as i32 }
    }
}

impl PageIo for SimDisk {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        assert!(self.in_flight() + reads.len() <= self.options.capacity, "more reads than capacity");
        self.queued.extend_from_slice(reads);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        for read in std::mem::take(&mut self.queued) {
            let fault = self.options.faults.get(&self.reads).copied();
            self.reads += 1;
            let late = if let Some(Fault::Late(ns)) = fault { ns } else { 0 };
            let service = self.options.latency_ns + self.options.queue_ns * self.pending.len() as u64;
            let due = self.clock.now_ns() + service + late + self.next_jitter();
            self.pending.push(Pending { due, read, fault });
        }
        Ok(())
    }

    fn arrived(&self) -> usize {
        let now = self.clock.now_ns();
        self.pending.iter().filter(|pending| pending.due <= now).count()
    }

    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize {
        let now = self.clock.now_ns();
        self.pending.sort_by_key(|pending| pending.due);
        let due = self.pending.partition_point(|pending| pending.due <= now);
        for pending in self.pending.drain(..due).collect::<Vec<_>>() {
            into.push(self.complete(&pending));
        }
        due
    }

    fn wait(&mut self, wanted: usize, timeout: Duration) -> io::Result<()> {
        self.flush()?;
        let limit = self.clock.now_ns() + timeout.as_nanos() as u64;
        self.pending.sort_by_key(|pending| pending.due);
        let last = wanted.min(self.pending.len());
        let until = if last == 0 { limit } else { self.pending[last - 1].due.min(limit) };
        self.clock.advance(until.saturating_sub(self.clock.now_ns()));
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.queued.len() + self.pending.len()
    }

    fn capacity(&self) -> usize {
        self.options.capacity
    }
}
