//! A shuffle takes no more memory than its plan says, at once and in parts.
#![allow(clippy::unwrap_used)]

use gleann_graph::{AdjacencyRows, ListBlock, ShufflePlan};
use gleann_vector::Silent;
use std::alloc::{GlobalAlloc, Layout, System};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes that are held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

/// A graph that takes no memory: node i, at place i · 7919 mod n of a ring, is tied to those near it there.
struct Ring {
    nodes: u32,
    degree: usize,
    /// The inverse of [`STEP`].
    back: u64,
}

const STEP: u64 = 7919;

impl Ring {
    fn new(nodes: u32, degree: usize) -> Self {
        let inverse = |candidate: &u64| candidate * STEP % u64::from(nodes) == 1;
        Self { nodes, degree, back: (1..u64::from(nodes)).find(inverse).unwrap() }
    }
}

impl AdjacencyRows for Ring {
    type Error = Infallible;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn degree_bound(&self) -> usize {
        self.degree
    }

    fn read(&self, start: u32, count: u32, into: &mut ListBlock) -> Result<(), Infallible> {
        let (nodes, half) = (u64::from(self.nodes), self.degree as u64 / 2);
        into.clear();
        let mut list = Vec::new();
        for id in start..start + count {
            let place = u64::from(id) * STEP % nodes;
            list.clear();
            for distance in 1..=half {
                list.push(((place + distance) % nodes * self.back % nodes) as u32);
                list.push(((place + nodes - distance) % nodes * self.back % nodes) as u32);
            }
            into.push(&list);
        }
        Ok(())
    }

    fn replace(&mut self, _: u32, _: &[u32]) -> Result<(), Infallible> {
        unreachable!("a shuffle changes nothing")
    }
}

#[test]
fn the_plan_is_kept() {
    let rows = Ring::new(60_001, 32);
    let plan = |budget| ShufflePlan::new(60_001, 32, 10, budget);
    let minimum = plan(0).unwrap_err();
    let whole = plan(u64::MAX).unwrap().bytes;
    let mut parts = Vec::new();
    for budget in [minimum, minimum + (whole - minimum) / 4, minimum + (whole - minimum) / 2, whole] {
        let plan = plan(budget).unwrap();
        let before = HELD.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let shuffled = plan.run(&rows, &Silent).unwrap();
        let peak = (PEAK.load(Ordering::Relaxed) - before) as u64;
        let overlap = shuffled.mates as f64 / (60_001.0 * 9.0);
        println!("{} parts, {peak} bytes of {} planned, overlap {overlap:.3}", plan.parts, plan.bytes);
        assert!(peak <= plan.bytes && plan.bytes <= budget, "{peak} bytes at peak: {plan:?}");
        assert!(peak + (5 << 20) > plan.bytes, "4 MiB of the plan are slack: {peak}, {plan:?}");
        assert!(overlap > 0.9, "{overlap}: {plan:?}");
        parts.push(plan.parts);
    }
    assert!(parts[0] > 3 && parts[1] > 1 && parts[3] == 1, "{parts:?}");
}
