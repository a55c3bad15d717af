//! The algorithm, once for every instruction set, element type and metric: walk one query and a few rows in
//! chunks, keep several independent sums a row, fold them in a fixed order.

use super::measure::{Measure, Tally};
use crate::Element;

/// Bytes of rows that are kept on their way from memory ahead of use.
const PREFETCH_BYTES: usize = 2048;
const CACHE_LINE: usize = 64;

/// A query and the rows it is measured against. The element type is erased; `rows` counts rows of `dim` elements.
pub(super) struct Batch<'a> {
    pub(super) query: *const u8,
    pub(super) rows: *const u8,
    pub(super) dim: usize,
    /// Row numbers; without them the first rows are meant, one after the other.
    pub(super) ids: Option<&'a [u32]>,
}

/// The entries for one element type, metric and instruction set. The caller promises addresses of elements of that
/// type, valid for `dim` elements each, and a processor that has the instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    /// Ordering distance of the vectors at two addresses, of so many elements.
    pub(super) pair: unsafe fn(*const u8, *const u8, usize) -> f32,
    /// Ordering distance of each row of a batch.
    pub(super) batch: unsafe fn(&Batch<'_>, &mut [f32]),
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

/// The sums of `query` against each of `N` rows, in one walk. `U` independent sums a row hide the latency of the
/// additions; the order of additions within a row does not depend on `N`.
///
/// # Safety
/// All addresses are valid for `dim` elements; the processor has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn walk<L: Lanes, S: Tally<L>, const N: usize, const U: usize>(
    query: *const L::Element,
    rows: [*const L::Element; N],
    dim: usize,
) -> [S; N] {
    const { assert!(U == 1 || U == 2 || U == 4) };
    // SAFETY: whole chunks are read where they end at or before `dim`, a tail where it begins before `dim`.
    unsafe {
        let mut sums = [[S::zero(); N]; U];
        let mut at = 0;
        while at + U * L::WIDTH <= dim {
            for (u, sums) in sums.iter_mut().enumerate() {
                add_chunk::<L, S, N>(sums, query, rows, at + u * L::WIDTH);
            }
            at += U * L::WIDTH;
        }
        // Written out: sums indexed by a variable would live in memory.
        if U > 1 && at + L::WIDTH <= dim {
            add_chunk::<L, S, N>(&mut sums[0], query, rows, at);
            at += L::WIDTH;
        }
        if U > 2 && at + L::WIDTH <= dim {
            add_chunk::<L, S, N>(&mut sums[1], query, rows, at);
            at += L::WIDTH;
        }
        if U > 2 && at + L::WIDTH <= dim {
            add_chunk::<L, S, N>(&mut sums[2 % U], query, rows, at);
            at += L::WIDTH;
        }
        if at < dim {
            let q = L::load_tail(query, at, dim);
            for r in 0..N {
                sums[U - 1][r] = sums[U - 1][r].add(q, L::load_tail(rows[r], at, dim));
            }
        }
        let mut merged = sums[0];
        for r in 0..N {
            if U == 2 {
                merged[r] = sums[0][r].merge(sums[1 % U][r]);
            }
            if U == 4 {
                merged[r] = sums[0][r].merge(sums[1 % U][r]).merge(sums[2 % U][r].merge(sums[3 % U][r]));
            }
        }
        merged
    }
}

/// Adds the whole chunk at `at`.
///
/// # Safety
/// All addresses are valid for the elements up to the end of the chunk; otherwise as [`walk`].
#[inline(always)]
unsafe fn add_chunk<L: Lanes, S: Tally<L>, const N: usize>(
    sums: &mut [S; N],
    query: *const L::Element,
    rows: [*const L::Element; N],
    at: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let q = L::load(query.add(at));
        for r in 0..N {
            sums[r] = sums[r].add(q, L::load(rows[r].add(at)));
        }
    }
}

/// One pair.
///
/// # Safety
/// As [`walk`].
#[inline(always)]
pub(super) unsafe fn pair<L: Lanes, M: Measure<L>, const U: usize>(
    a: *const u8,
    b: *const u8,
    dim: usize,
) -> f32 {
    let (a, b) = (a.cast::<L::Element>(), b.cast::<L::Element>());
    // SAFETY: the caller's promise.
    unsafe {
        let distance = M::pair::<U>(a, b, dim);
        if distance.is_finite() { distance } else { M::in_f64(a, b, dim) }
    }
}

/// One query against `out.len()` rows, `N` at a time. A last group that is not full repeats its last row.
///
/// # Safety
/// The query and every row that the batch names are valid for `dim` elements, there are as many ids (if any) as
/// results, and the processor has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn batch<L: Lanes, M: Measure<L>, const N: usize, const U: usize>(
    batch: &Batch<'_>,
    out: &mut [f32],
) {
    let Batch { query, rows, dim, ids } = *batch;
    let (query, rows) = (query.cast::<L::Element>(), rows.cast::<L::Element>());
    let bytes = dim * size_of::<L::Element>();
    let ahead = (PREFETCH_BYTES / bytes).clamp(1, 16).next_multiple_of(N);
    let prefetch = |i: usize| {
        // Rows that follow each other are what the processor prefetches by itself.
        if let Some(&id) = ids.and_then(|ids| ids.get(i)) {
            prefetch(rows.wrapping_add(id as usize * dim).cast(), bytes);
        }
    };
    (0..ahead).for_each(prefetch);
    // SAFETY: the caller's promise.
    unsafe {
        let of_query = M::query::<U>(query, dim);
        for start in (0..out.len()).step_by(N) {
            let mut group = [rows; N];
            for (r, row) in group.iter_mut().enumerate() {
                let i = (start + r).min(out.len() - 1);
                *row = rows.add(ids.map_or(i, |ids| *ids.get_unchecked(i) as usize) * dim);
                prefetch(start + r + ahead);
            }
            let distances = M::finish(of_query, walk::<L, M::Sums, N, U>(query, group, dim));
            for (r, result) in out[start..].iter_mut().take(N).enumerate() {
                let finite = distances[r].is_finite();
                *result = if finite { distances[r] } else { M::in_f64(query, group[r], dim) };
            }
        }
    }
}

/// Prefetches the first cache lines of a row, without touching it; the processor follows by itself from there.
#[inline(always)]
fn prefetch(row: *const u8, bytes: usize) {
    for line in (0..bytes.min(PREFETCH_BYTES)).step_by(CACHE_LINE) {
        let address = row.wrapping_add(line);
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
}

/// The entries of an instruction set, `of_metric::<L>(metric)`, compiled with the attribute given. A shape is the
/// rows of a batch that are walked together and the independent sums of each; together they must fit the registers,
/// and cosine keeps twice as many.
macro_rules! entries {
    ($name:ident, shape: $rows:literal x $sums:literal, cosine: $cosine_rows:literal x $cosine_sums:literal
        $(, $attribute:meta)?) => {
        fn $name<L: $crate::distance::kernel::Lanes>(metric: $crate::Metric) -> $crate::distance::kernel::Kernels {
            use $crate::distance::kernel::{self, Batch, Kernels, Lanes};
            use $crate::distance::measure::{Cosine, InnerProduct, L2, Measure};

            /// # Safety
            /// As [`kernel::pair`].
            $(#[$attribute])?
            unsafe fn pair<L: Lanes, M: Measure<L>, const U: usize>(a: *const u8, b: *const u8, dim: usize) -> f32 {
                // SAFETY: the caller's promise.
                unsafe { kernel::pair::<L, M, U>(a, b, dim) }
            }

            /// # Safety
            /// As [`kernel::batch`].
            $(#[$attribute])?
            unsafe fn batch<L: Lanes, M: Measure<L>, const N: usize, const U: usize>(
                batch: &Batch<'_>,
                out: &mut [f32],
            ) {
                // SAFETY: the caller's promise.
                unsafe { kernel::batch::<L, M, N, U>(batch, out) }
            }

            fn entries<L: Lanes, M: Measure<L>, const N: usize, const U: usize>() -> Kernels {
                Kernels { pair: pair::<L, M, U>, batch: batch::<L, M, N, U> }
            }

            match metric {
                $crate::Metric::L2 => entries::<L, L2, $rows, $sums>(),
                $crate::Metric::InnerProduct => entries::<L, InnerProduct, $rows, $sums>(),
                $crate::Metric::Cosine => entries::<L, Cosine, $cosine_rows, $cosine_sums>(),
            }
        }
    };
}
pub(super) use entries;
