//! Rows in memory: one contiguous, row-major, 64-byte aligned allocation backed by huge pages where the system
//! gives them (random access over a large matrix is bound by TLB misses otherwise).

use crate::Element;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;

const HUGE_PAGE: usize = 2 << 20;
const CACHE_LINE: usize = 64;

/// `rows × dim` elements, row-major.
pub struct Matrix<T: Element> {
    start: NonNull<T>,
    rows: usize,
    dim: usize,
    layout: Option<Layout>,
    owned: PhantomData<T>,
}

// SAFETY: a Matrix owns its elements exclusively, like a Vec of plain data.
unsafe impl<T: Element> Send for Matrix<T> {}
// SAFETY: shared references give read access only.
unsafe impl<T: Element> Sync for Matrix<T> {}

impl<T: Element> Matrix<T> {
    /// A matrix of zeros.
    ///
    /// # Panics
    /// If `rows · dim` elements overflow the address space.
    pub fn zeroed(rows: usize, dim: usize) -> Self {
        let bytes =
            rows.checked_mul(dim).and_then(|n| n.checked_mul(size_of::<T>())).expect("matrix too large");
        if bytes == 0 {
            return Self { start: NonNull::dangling(), rows, dim, layout: None, owned: PhantomData };
        }
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { CACHE_LINE };
        let layout = Layout::from_size_align(bytes, align).expect("matrix too large");
        // SAFETY: the layout has a non-zero size.
        let raw = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(raw.cast::<T>()) else { handle_alloc_error(layout) };
        if bytes >= HUGE_PAGE {
            // SAFETY: the range is the allocation just made; advice changes no content. Failure is harmless.
            unsafe { libc::madvise(raw.cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        Self { start, rows, dim, layout: Some(layout), owned: PhantomData }
    }

    /// Copies row-major elements.
    ///
    /// # Panics
    /// If `elements` is not a whole number of rows of `dim`.
    pub fn from_rows(elements: &[T], dim: usize) -> Self {
        assert!(dim > 0 && elements.len().is_multiple_of(dim), "not a whole number of rows");
        let mut matrix = Self::zeroed(elements.len() / dim, dim);
        matrix.as_mut_slice().copy_from_slice(elements);
        matrix
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Row `index`.
    ///
    /// # Panics
    /// If `index` is not below [`Matrix::rows`].
    #[inline]
    pub fn row(&self, index: usize) -> &[T] {
        assert!(index < self.rows, "row {index} of {}", self.rows);
        // SAFETY: index < rows, so the row lies inside the allocation.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(index * self.dim), self.dim) }
    }

    /// Row `index`, mutable.
    ///
    /// # Panics
    /// If `index` is not below [`Matrix::rows`].
    pub fn row_mut(&mut self, index: usize) -> &mut [T] {
        let dim = self.dim;
        &mut self.as_mut_slice()[index * dim..(index + 1) * dim]
    }

    /// Writes row `index` of a matrix that others read.
    ///
    /// # Safety
    /// Nobody may read or write the row meanwhile, nor hold [`Matrix::as_slice`]; whoever reads it afterwards must have
    /// been told by something that synchronises.
    ///
    /// # Panics
    /// If `index` is not below [`Matrix::rows`], or `row` has not the length of a row.
    pub unsafe fn write_shared(&self, index: usize, row: &[T]) {
        assert!(index < self.rows && row.len() == self.dim, "row {index} of {}", self.rows);
        // SAFETY: the row lies inside the allocation, which nobody else touches there, by the caller's promise.
        unsafe {
            let place = self.start.as_ptr().add(index * self.dim);
            std::ptr::copy_nonoverlapping(row.as_ptr(), place, self.dim);
        }
    }

    /// All elements, row-major.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: start is valid for rows · dim initialised elements.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.rows * self.dim) }
    }

    /// All elements, row-major, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: start is valid for rows · dim initialised elements, and self is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.rows * self.dim) }
    }

    /// Asks the processor for the cache lines of a row, ahead of use. Out of range is ignored.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        if index < self.rows {
            let start = self.start.as_ptr().wrapping_add(index * self.dim);
            prefetch_bytes(start.cast(), self.dim * size_of::<T>());
        }
    }
}

/// Asks the processor for the cache lines of a slice, ahead of use.
#[inline]
pub fn prefetch<T>(slice: &[T]) {
    let start = slice.as_ptr().cast::<u8>();
    // From the beginning of its first line, so that the last one is not missed.
    let before = start as usize % CACHE_LINE;
    prefetch_bytes(start.wrapping_sub(before), before + size_of_val(slice));
}

/// Prefetches the cache lines of `bytes` bytes from `start` into all levels.
#[inline]
fn prefetch_bytes(start: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(CACHE_LINE) {
        // SAFETY: a prefetch never faults, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch(start.wrapping_add(line).cast(), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes);
}

impl<T: Element> Drop for Matrix<T> {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: allocated by `zeroed` with this very layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T: Element> std::fmt::Debug for Matrix<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matrix<{}>({} × {})", T::TYPE, self.rows, self.dim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_where_they_were_put() {
        let matrix = Matrix::from_rows(&[1u8, 2, 3, 4, 5, 6], 3);
        assert_eq!((matrix.rows(), matrix.dim(), matrix.row(1)), (2, 3, &[4u8, 5, 6][..]));
        assert!(Matrix::<f32>::zeroed(0, 4).as_slice().is_empty());
        let large = Matrix::<f32>::zeroed(1 << 16, 16);
        assert_eq!(large.as_slice().as_ptr() as usize % HUGE_PAGE, 0);
        assert!(large.as_slice().iter().all(|&x| x == 0.0));
    }
}
