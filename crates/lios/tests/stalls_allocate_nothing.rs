//! Once a core is made, stalls and the slices in them ask the allocator for nothing.

use gleann_lios::{BudgetKind, Lios, LiosOptions, Queue, Queued, Resumable, Step, Utilisation};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; the counter is a constant thread-local without
// a destructor, so touching it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises about `pointer` and `layout` are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Endless;

impl Resumable for Endless {
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Step {
        while !spent() {}
        Step::More
    }
}

#[test]
fn stalls_allocate_nothing() {
    for budget in [BudgetKind::Bounded, BudgetKind::OnArrival] {
        let options = LiosOptions { budget, utilisation: Utilisation::Fixed(1.0), ..LiosOptions::new(0.05) };
        let lios = Lios::new(options).unwrap();
        let mut core = lios.core();
        let queue = Queue::new(8);
        for _ in 0..8 {
            assert!(queue.try_push(Endless).is_ok());
        }
        let clock = Cell::new(0);
        let before = ALLOCATIONS.get();
        for reads in 0..5_000 {
            let arrival = clock.get() + 30_000;
            let now = || {
                clock.set(clock.get() + 1_000);
                clock.get()
            };
            if !core.stall(reads % 8, now, || clock.get() >= arrival, &mut Queued::new(&queue, drop)).arrived
            {
                clock.set(arrival);
                core.arrived(arrival);
            }
            core.search_ended(clock.get(), 100_000);
        }
        assert_eq!(ALLOCATIONS.get(), before);
        assert!(lios.totals().slices > 1000, "{:?}", lios.totals());
    }
}
