//! Vectors with what belongs to them, in slots that are written once.

use crate::sync::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
use gleann_vector::{Element, Matrix};
use std::sync::atomic::Ordering;

const UNWRITTEN: u8 = 0;
const LIVE: u8 = 1;
const DELETED: u8 = 2;

/// A fixed number of slots, each for one vector, its key and its extra component (see [`gleann_graph::PruneSpace`]).
pub(super) struct Rows<T: Element> {
    vectors: Matrix<T>,
    keys: Box<[AtomicU64]>,
    /// f32 as bits; empty where no vector has one.
    extra: Box<[AtomicU32]>,
    marks: Box<[AtomicU8]>,
    /// Slots given out.
    claimed: AtomicUsize,
    live: AtomicUsize,
}

impl<T: Element> Rows<T> {
    pub(super) fn new(capacity: usize, dim: usize, with_extra: bool) -> Self {
        Self {
            vectors: Matrix::zeroed(capacity, dim),
            keys: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            extra: (0..if with_extra { capacity } else { 0 }).map(|_| AtomicU32::new(0)).collect(),
            marks: (0..capacity).map(|_| AtomicU8::new(UNWRITTEN)).collect(),
            claimed: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.marks.len()
    }

    /// Slots given out; the last of them may still be unwritten.
    pub(super) fn claimed(&self) -> usize {
        self.claimed.load(Ordering::Acquire)
    }

    pub(super) fn live(&self) -> usize {
        self.live.load(Ordering::Acquire)
    }

    /// Claims a run of `count` slots for the caller alone; `None` where there are not so many left.
    pub(super) fn claim(&self, count: usize) -> Option<Claim> {
        let grown = |claimed: usize| claimed.checked_add(count).filter(|&end| end <= self.capacity());
        let first = self.claimed.fetch_update(Ordering::AcqRel, Ordering::Acquire, grown).ok()?;
        Some(Claim { next: first, end: first + count })
    }

    /// Writes the next slot of a claim and publishes it as live; `None` once the claim is used up.
    pub(super) fn write(&self, claim: &mut Claim, vector: &[T], key: u64, extra: f32) -> Option<u32> {
        assert_eq!(vector.len(), self.vectors.dim(), "a vector of another dimension");
        let slot = (claim.next < claim.end).then_some(claim.next)?;
        claim.next += 1;
        // SAFETY: claims are disjoint, cannot be copied, and each use steps on: this is the only write to the slot ever.
        // Nobody reads it before the mark below is set with Release and seen with Acquire, and nobody ever asks for
        // all elements at once.
        unsafe { self.vectors.write_shared(slot, vector) };
        self.keys[slot].store(key, Ordering::Relaxed);
        if let Some(place) = self.extra.get(slot) {
            place.store(extra.to_bits(), Ordering::Relaxed);
        }
        self.live.fetch_add(1, Ordering::AcqRel);
        self.marks[slot].store(LIVE, Ordering::Release);
        Some(slot as u32)
    }

    /// The mark of a slot; whatever it is but `UNWRITTEN`, the slot has been written.
    fn mark(&self, slot: u32) -> u8 {
        self.marks.get(slot as usize).map_or(UNWRITTEN, |mark| mark.load(Ordering::Acquire))
    }

    /// Whether the slot holds a vector that has not been deleted.
    #[inline]
    pub(super) fn is_live(&self, slot: u32) -> bool {
        self.mark(slot) == LIVE
    }

    /// Marks a slot as deleted; whether it was live.
    pub(super) fn delete(&self, slot: u32) -> bool {
        let mark = self.marks.get(slot as usize);
        let was_live = mark.is_some_and(|mark| {
            mark.compare_exchange(LIVE, DELETED, Ordering::AcqRel, Ordering::Acquire).is_ok()
        });
        if was_live {
            self.live.fetch_sub(1, Ordering::AcqRel);
        }
        was_live
    }

    /// The vector of a slot.
    ///
    /// # Panics
    /// If the slot has not been written.
    #[inline]
    pub(super) fn vector(&self, slot: u32) -> &[T] {
        assert!(self.mark(slot) != UNWRITTEN, "slot {slot} has not been written");
        self.vectors.row(slot as usize)
    }

    /// The key of a slot.
    ///
    /// # Panics
    /// If the slot has not been written.
    pub(super) fn key(&self, slot: u32) -> u64 {
        assert!(self.mark(slot) != UNWRITTEN, "slot {slot} has not been written");
        self.keys[slot as usize].load(Ordering::Relaxed)
    }

    /// The extra component of a written slot: 0 where vectors have none.
    #[inline]
    pub(super) fn extra(&self, slot: u32) -> f32 {
        self.extra.get(slot as usize).map_or(0.0, |bits| f32::from_bits(bits.load(Ordering::Relaxed)))
    }

    /// Asks the processor for the vector of a slot, ahead of use.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        self.vectors.prefetch(slot as usize);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.capacity() * (self.vectors.dim() * size_of::<T>() + 9) + 4 * self.extra.len()
    }
}

/// Slots that one thread may write, once each.
pub(super) struct Claim {
    next: usize,
    end: usize,
}
