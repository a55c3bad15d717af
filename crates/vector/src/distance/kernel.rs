//! The algorithm, once for every instruction set, element type and metric: walk one query and a few rows in
//! chunks, keep several independent sums a row, fold them in a fixed order.

use super::measure::{Measure, Tally};
use crate::Element;

/// Independent partial sums a row: enough to hide the latency of a fused multiply-add.
const UNROLL: usize = 4;

/// Bytes of rows that are kept on their way from memory ahead of use.
const PREFETCH_BYTES: usize = 2048;
const CACHE_LINE: usize = 64;

/// Ordering distance of the vectors at two addresses, of `dim` elements each.
pub(super) type Pair = unsafe fn(*const u8, *const u8, usize) -> f32;
/// Ordering distances of a query (first) to contiguous rows (second) of `dim` elements (third).
pub(super) type Many = unsafe fn(*const u8, *const u8, usize, &mut [f32]);
/// Ordering distances of a query to the rows with the given ids, counted from the second address.
pub(super) type Gathered = unsafe fn(*const u8, *const u8, usize, &[u32], &mut [f32]);

/// The three entries for one element type, metric and instruction set. The types are erased: the caller promises
/// addresses of elements of the type the kernels were made for, and a processor that has the instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    pub(super) pair: Pair,
    pub(super) many: Many,
    pub(super) gathered: Gathered,
}

/// What an instruction set does with chunks of one element type.
///
/// # Safety
/// Every function may be called only on a processor that has the instruction set; [`load`](Self::load) and
/// [`load_tail`](Self::load_tail) read exactly the elements they name, with no demand on alignment.
pub(super) unsafe trait Lanes: Copy {
    /// What is summed.
    type Element: Element;
    /// [`WIDTH`](Self::WIDTH) elements in registers.
    type Chunk: Copy;
    /// Partial sums in registers.
    type Sum: Copy;
    /// A folded sum.
    type Total: Total;
    /// Elements a chunk.
    const WIDTH: usize;

    /// The chunk at `from`.
    unsafe fn load(from: *const Self::Element) -> Self::Chunk;
    /// The elements `at .. dim` of a row, fewer than a chunk, filled up so that the rest adds nothing. `at` is a
    /// multiple of [`WIDTH`](Self::WIDTH).
    unsafe fn load_tail(row: *const Self::Element, at: usize, dim: usize) -> Self::Chunk;
    /// Nothing summed yet.
    unsafe fn zero() -> Self::Sum;
    /// Adds (a − b)².
    unsafe fn add_square(sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum;
    /// Adds a · b.
    unsafe fn add_product(sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum;
    /// The sum of two sums.
    unsafe fn merge(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// Folds the sums of `N` rows; the order of additions within a row does not depend on `N`.
    unsafe fn totals<const N: usize>(sums: [Self::Sum; N]) -> [Self::Total; N];
}

/// A folded sum: exact for bytes, f32 for floats.
pub(super) trait Total: Copy {
    /// The value as f32, rounded to nearest.
    fn to_f32(self) -> f32;
    /// The value as f64, exact.
    fn to_f64(self) -> f64;
    /// The negated value as f32; never a negative zero.
    fn negated(self) -> f32;
    /// Whether this sum of squares is neither zero nor so near a limit of its type that it lost precision.
    fn is_sound_norm(self) -> bool;
}

impl Total for f32 {
    fn to_f32(self) -> f32 {
        self
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn negated(self) -> f32 {
        0.0 - self
    }

    fn is_sound_norm(self) -> bool {
        // Below, squares of single components may have been subnormal; above, a sum may have overflowed.
        (1e-30..=1e37).contains(&self)
    }
}

impl Total for i32 {
    fn to_f32(self) -> f32 {
        self as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn negated(self) -> f32 {
        -self as f32
    }

    fn is_sound_norm(self) -> bool {
        self != 0
    }
}

/// The sums of `query` against each of `N` rows, in one walk.
///
/// # Safety
/// All addresses are valid for `dim` elements; the processor has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn walk<L: Lanes, S: Tally<L>, const N: usize>(
    query: *const L::Element,
    rows: [*const L::Element; N],
    dim: usize,
) -> [S; N] {
    // SAFETY: whole chunks are read where they end at or before `dim`, a tail where it begins before `dim`.
    unsafe {
        let mut sums = [[S::zero(); UNROLL]; N];
        let mut at = 0;
        while at + UNROLL * L::WIDTH <= dim {
            for u in 0..UNROLL {
                let q = L::load(query.add(at + u * L::WIDTH));
                for r in 0..N {
                    sums[r][u] = sums[r][u].add(q, L::load(rows[r].add(at + u * L::WIDTH)));
                }
            }
            at += UNROLL * L::WIDTH;
        }
        for u in 0..UNROLL - 1 {
            if at + L::WIDTH > dim {
                break;
            }
            let q = L::load(query.add(at));
            for r in 0..N {
                sums[r][u] = sums[r][u].add(q, L::load(rows[r].add(at)));
            }
            at += L::WIDTH;
        }
        if at < dim {
            let q = L::load_tail(query, at, dim);
            for r in 0..N {
                sums[r][UNROLL - 1] = sums[r][UNROLL - 1].add(q, L::load_tail(rows[r], at, dim));
            }
        }
        let mut merged = [S::zero(); N];
        for r in 0..N {
            merged[r] = sums[r][0].merge(sums[r][1]).merge(sums[r][2].merge(sums[r][3]));
        }
        merged
    }
}

/// One pair.
///
/// # Safety
/// As [`walk`].
#[inline(always)]
pub(super) unsafe fn pair<L: Lanes, M: Measure<L>>(a: *const u8, b: *const u8, dim: usize) -> f32 {
    let (a, b) = (a.cast::<L::Element>(), b.cast::<L::Element>());
    // SAFETY: the caller's promise.
    unsafe {
        let distance = M::pair(a, b, dim);
        if distance.is_finite() { distance } else { M::in_f64(a, b, dim) }
    }
}

/// Where the i-th row of a batch lies.
pub(super) trait Places: Copy {
    /// Row number of the i-th row, or `None` past the end.
    fn ahead(self, i: usize) -> Option<usize>;
    /// Row number of the i-th row.
    fn row(self, i: usize) -> usize;
}

/// One after the other; the processor's own prefetch suffices.
#[derive(Clone, Copy)]
pub(super) struct Contiguous;

impl Places for Contiguous {
    #[inline(always)]
    fn ahead(self, _: usize) -> Option<usize> {
        None
    }

    #[inline(always)]
    fn row(self, i: usize) -> usize {
        i
    }
}

impl Places for &[u32] {
    #[inline(always)]
    fn ahead(self, i: usize) -> Option<usize> {
        self.get(i).map(|&id| id as usize)
    }

    #[inline(always)]
    fn row(self, i: usize) -> usize {
        self[i] as usize
    }
}

/// A query and where its rows are counted from.
#[derive(Clone, Copy)]
pub(super) struct Batch<E> {
    pub(super) query: *const E,
    pub(super) rows: *const E,
    pub(super) dim: usize,
}

impl<E> Batch<E> {
    pub(super) fn new(query: *const u8, rows: *const u8, dim: usize) -> Self {
        Self { query: query.cast(), rows: rows.cast(), dim }
    }

    /// Prefetches a row, without touching it.
    #[inline(always)]
    fn prefetch(&self, row: usize) {
        let start = self.rows.wrapping_add(row * self.dim).cast::<u8>();
        let bytes = (self.dim * size_of::<E>()).min(PREFETCH_BYTES);
        for line in (0..bytes).step_by(CACHE_LINE) {
            prefetch(start.wrapping_add(line));
        }
    }
}

#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(address.cast(), _MM_HINT_T0);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// One query against `out.len()` rows, `N` at a time.
///
/// # Safety
/// The query and every row that `places` names are valid for `dim` elements; the processor has the instruction
/// set of `L`.
#[inline(always)]
pub(super) unsafe fn batch<L: Lanes, M: Measure<L>, P: Places, const N: usize>(
    batch: Batch<L::Element>,
    places: P,
    out: &mut [f32],
) {
    let Batch { query, rows, dim } = batch;
    // SAFETY: the caller's promise.
    unsafe {
        let of_query = M::query(query, dim);
        let ahead = (PREFETCH_BYTES / (dim * size_of::<L::Element>())).clamp(1, 16).next_multiple_of(N);
        for i in 0..ahead {
            if let Some(row) = places.ahead(i) {
                batch.prefetch(row);
            }
        }
        let mut i = 0;
        while i + N <= out.len() {
            let mut group = [rows; N];
            for (r, row) in group.iter_mut().enumerate() {
                *row = rows.add(places.row(i + r) * dim);
                if let Some(next) = places.ahead(i + r + ahead) {
                    batch.prefetch(next);
                }
            }
            let distances = M::finish(of_query, walk::<L, M::Sums, N>(query, group, dim));
            for r in 0..N {
                let finite = distances[r].is_finite();
                out[i + r] = if finite { distances[r] } else { M::in_f64(query, group[r], dim) };
            }
            i += N;
        }
        while i < out.len() {
            let row = rows.add(places.row(i) * dim);
            let [distance] = M::finish(of_query, walk::<L, M::Sums, 1>(query, [row], dim));
            out[i] = if distance.is_finite() { distance } else { M::in_f64(query, row, dim) };
            i += 1;
        }
    }
}

/// The entries of an instruction set: `of_metric::<L>(metric)`, compiled with the attributes given. Batches are
/// walked `group` rows at a time.
macro_rules! entries {
    ($name:ident, $group:literal $(, $attribute:meta)?) => {
        fn $name<L: $crate::distance::kernel::Lanes>(metric: $crate::Metric) -> $crate::distance::kernel::Kernels {
            use $crate::distance::kernel::{self, Batch, Contiguous, Kernels, Lanes};
            use $crate::distance::measure::{Cosine, InnerProduct, L2, Measure};

            /// # Safety
            /// As [`kernel::pair`].
            $(#[$attribute])?
            unsafe fn pair<L: Lanes, M: Measure<L>>(a: *const u8, b: *const u8, dim: usize) -> f32 {
                // SAFETY: the caller's promise.
                unsafe { kernel::pair::<L, M>(a, b, dim) }
            }

            /// # Safety
            /// As [`kernel::batch`].
            $(#[$attribute])?
            unsafe fn many<L: Lanes, M: Measure<L>>(query: *const u8, rows: *const u8, dim: usize, out: &mut [f32]) {
                let batch = Batch::new(query, rows, dim);
                // SAFETY: the caller's promise.
                unsafe { kernel::batch::<L, M, _, $group>(batch, Contiguous, out) }
            }

            /// # Safety
            /// As [`kernel::batch`].
            $(#[$attribute])?
            unsafe fn gathered<L: Lanes, M: Measure<L>>(
                query: *const u8,
                rows: *const u8,
                dim: usize,
                ids: &[u32],
                out: &mut [f32],
            ) {
                let batch = Batch::new(query, rows, dim);
                // SAFETY: the caller's promise.
                unsafe { kernel::batch::<L, M, _, $group>(batch, ids, out) }
            }

            fn entries<L: Lanes, M: Measure<L>>() -> Kernels {
                Kernels { pair: pair::<L, M>, many: many::<L, M>, gathered: gathered::<L, M> }
            }

            match metric {
                $crate::Metric::L2 => entries::<L, L2>(),
                $crate::Metric::InnerProduct => entries::<L, InnerProduct>(),
                $crate::Metric::Cosine => entries::<L, Cosine>(),
            }
        }
    };
}
pub(super) use entries;
