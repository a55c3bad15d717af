//! An allocator that refuses what no tiny index needs: an allocation for a count that was believed. A test file that
//! names this module runs on it.

use std::alloc::{GlobalAlloc, Layout, System};

struct Frugal;

// SAFETY: System does the work; a refusal is a null pointer, as the contract allows.
unsafe impl GlobalAlloc for Frugal {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > 64 << 20 {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: passed on as it came.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static FRUGAL: Frugal = Frugal;
