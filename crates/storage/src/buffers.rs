//! Memory that a disk may write to while nobody looks.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of read buffers: the strictest that block devices and file systems ask for.
pub(crate) const BUFFER_ALIGN: usize = 4096;

/// `count` buffers of `length` bytes, each aligned for direct I/O where `length` is a multiple of 4096, in one
/// allocation.
pub struct ReadBuffers {
    start: NonNull<u8>,
    length: usize,
    layout: std::alloc::Layout,
    leaked: bool,
}

// SAFETY: the allocation is owned by this value alone.
unsafe impl Send for ReadBuffers {}

impl ReadBuffers {
    /// Zeroed buffers.
    ///
    /// # Panics
    /// If they exceed the address space.
    pub fn new(count: usize, length: usize) -> Self {
        let bytes = count.max(1).checked_mul(length).expect("read buffers too large");
        let layout =
            std::alloc::Layout::from_size_align(bytes, BUFFER_ALIGN).expect("read buffers too large");
        // SAFETY: the size is not zero.
        let raw = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(raw) else { handle_alloc_error(layout) };
        Self { start, length, layout, leaked: false }
    }

    /// Start of buffer `slot`.
    pub fn start(&self, slot: u32) -> *mut u8 {
        self.start.as_ptr().wrapping_add(slot as usize * self.length)
    }

    /// The bytes of buffer `slot`.
    ///
    /// # Safety
    /// No read into the slot is in flight while the slice lives.
    pub unsafe fn bytes(&self, slot: u32) -> &[u8] {
        // SAFETY: slots lie inside the allocation; nobody writes to this one (the caller's promise).
        unsafe { std::slice::from_raw_parts(self.start(slot), self.length) }
    }

    /// Gives the memory up for good: something may still write to it.
    pub fn leak(&mut self) {
        self.leaked = true;
    }
}

impl Drop for ReadBuffers {
    fn drop(&mut self) {
        if !self.leaked {
            // SAFETY: allocated in `new` with this layout, and no read is in flight.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}
