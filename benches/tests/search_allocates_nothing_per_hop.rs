//! A warm search makes no allocation per hop: a query of many hops makes as many allocations as one of few.

use gleann::{
    BuildOptions, EngineChoice, Index, OpenOptions, SearchKind, SearchOptions, Width, build_from_rows,
};
use gleann_vector::{Matrix, Silent};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of this very method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the pointer came from `System`, with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DIM: usize = 32;
const QUERIES: usize = 50;

fn random_rows(rows: usize, seed: u64) -> Matrix<u8> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut matrix = Matrix::zeroed(rows, DIM);
    matrix.as_mut_slice().iter_mut().for_each(|x| *x = random.random_range(0..=255));
    matrix
}

/// Allocations and hops of all queries, one after the other, once they have run before.
fn count(index: &Index, queries: &Matrix<u8>, options: &SearchOptions) -> (u64, u64) {
    let run = || -> u64 {
        let search = |row| index.search(queries.row(row), 10, options).expect("the query fits the index");
        (0..QUERIES).map(|row| u64::from(search(row).stats.hops)).sum()
    };
    run();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let hops = run();
    (ALLOCATIONS.load(Ordering::Relaxed) - before, hops)
}

#[test]
fn allocations_do_not_grow_with_hops() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("index");
    let options =
        BuildOptions { degree: 16, build_list: 24, pq_bytes: 8, threads: 1, ..BuildOptions::default() };
    build_from_rows(&random_rows(2000, 1), &out, &options, &Silent).unwrap();
    let open = OpenOptions { engine: EngineChoice::Mmap, threads: 1, in_flight: 1, ..OpenOptions::default() };
    let index = Index::open(&out, open).unwrap();
    let queries = random_rows(QUERIES, 2);
    for (kind, width) in [(SearchKind::Beam, Width::Fixed(4)), (SearchKind::Pipe, Width::DYNAMIC)] {
        let with = |list| SearchOptions { list, kind, width, ..SearchOptions::default() };
        // The long list first: scratch memory that it needs is there afterwards.
        let (long, many) = count(&index, &queries, &with(200));
        let (short, few) = count(&index, &queries, &with(20));
        assert!(many > 3 * few, "{kind}: {many} hops against {few}");
        // The hand-over between threads makes a handful a query, and not always the same number: a thread that waits
        // allocates, one whose answer is there already does not.
        let slack = 4 * QUERIES as u64;
        assert!(long <= short + slack, "{kind}: {long} allocations in {many} hops, {short} in {few}");
        assert!(long <= 20 * QUERIES as u64, "{kind}: {long} allocations in {QUERIES} queries");
    }
}
