//! What each metric sums up over the elements, and what it makes of the sums. Signs and scales are those of
//! [`Metric`](crate::Metric).

use super::kernel::{Lanes, Total, walk};
use crate::Element;

/// Sums kept along one row.
///
/// # Safety
/// Every function may be called only on a processor that has the instruction set of `L`.
pub(super) unsafe trait Tally<L: Lanes>: Copy {
    /// Nothing summed yet.
    unsafe fn zero() -> Self;
    /// Adds a chunk of the query and of the row.
    unsafe fn add(self, query: L::Chunk, row: L::Chunk) -> Self;
    /// The sum of two sums.
    unsafe fn merge(self, other: Self) -> Self;
}

/// A metric over the lanes `L`.
///
/// # Safety
/// Every function may be called only on a processor that has the instruction set of `L`, with addresses valid for
/// `dim` elements.
pub(super) unsafe trait Measure<L: Lanes>: Copy {
    /// What is summed along a row.
    type Sums: Tally<L>;
    /// What is known of a query before it meets a row.
    type Query: Copy;

    /// Looks at the query alone, once a batch.
    unsafe fn query<const U: usize>(query: *const L::Element, dim: usize) -> Self::Query;
    /// The distances of `N` rows; not finite where f32 sums have left their range.
    unsafe fn finish<const N: usize>(query: Self::Query, sums: [Self::Sums; N]) -> [f32; N];
    /// The distance of one pair in f64, for the pairs that f32 sums cannot hold.
    unsafe fn in_f64(a: *const L::Element, b: *const L::Element, dim: usize) -> f32;

    /// The distance of one pair, bit-equal to what `query`, `walk` and `finish` give.
    #[inline(always)]
    unsafe fn pair<const U: usize>(a: *const L::Element, b: *const L::Element, dim: usize) -> f32 {
        // SAFETY: the caller's promise.
        unsafe { Self::finish(Self::query::<U>(a, dim), walk::<L, Self::Sums, 1, U>(a, [b], dim))[0] }
    }
}

/// Σ (a − b)².
#[derive(Clone, Copy)]
pub(super) struct Squares<S>(S);

// SAFETY: calls only the lanes, under the same promise.
unsafe impl<L: Lanes> Tally<L> for Squares<L::Sum> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise.
        unsafe { Squares(L::zero()) }
    }

    #[inline(always)]
    unsafe fn add(self, query: L::Chunk, row: L::Chunk) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Squares(L::add_square(self.0, query, row)) }
    }

    #[inline(always)]
    unsafe fn merge(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Squares(L::merge(self.0, other.0)) }
    }
}

/// Σ a·b.
#[derive(Clone, Copy)]
pub(super) struct Products<S>(S);

// SAFETY: calls only the lanes, under the same promise.
unsafe impl<L: Lanes> Tally<L> for Products<L::Sum> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise.
        unsafe { Products(L::zero()) }
    }

    #[inline(always)]
    unsafe fn add(self, query: L::Chunk, row: L::Chunk) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Products(L::add_product(self.0, query, row)) }
    }

    #[inline(always)]
    unsafe fn merge(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Products(L::merge(self.0, other.0)) }
    }
}

/// Σ query·row and Σ row².
#[derive(Clone, Copy)]
pub(super) struct DotAndNorm<S> {
    dot: S,
    norm: S,
}

// SAFETY: calls only the lanes, under the same promise.
unsafe impl<L: Lanes> Tally<L> for DotAndNorm<L::Sum> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise.
        unsafe { DotAndNorm { dot: L::zero(), norm: L::zero() } }
    }

    #[inline(always)]
    unsafe fn add(self, query: L::Chunk, row: L::Chunk) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            DotAndNorm {
                dot: L::add_product(self.dot, query, row),
                norm: L::add_product(self.norm, row, row),
            }
        }
    }

    #[inline(always)]
    unsafe fn merge(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { DotAndNorm { dot: L::merge(self.dot, other.dot), norm: L::merge(self.norm, other.norm) } }
    }
}

/// What the cosine of one pair needs: the sums of the row, and Σ query², in one walk.
#[derive(Clone, Copy)]
struct DotAndNorms<S> {
    row: DotAndNorm<S>,
    query_norm: S,
}

// SAFETY: calls only the lanes, under the same promise.
unsafe impl<L: Lanes> Tally<L> for DotAndNorms<L::Sum> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise.
        unsafe { DotAndNorms { row: Tally::<L>::zero(), query_norm: L::zero() } }
    }

    #[inline(always)]
    unsafe fn add(self, query: L::Chunk, row: L::Chunk) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            DotAndNorms {
                row: Tally::<L>::add(self.row, query, row),
                query_norm: L::add_product(self.query_norm, query, query),
            }
        }
    }

    #[inline(always)]
    unsafe fn merge(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            DotAndNorms {
                row: Tally::<L>::merge(self.row, other.row),
                query_norm: L::merge(self.query_norm, other.query_norm),
            }
        }
    }
}

/// Squared Euclidean distance.
#[derive(Clone, Copy)]
pub(super) struct L2;

// SAFETY: calls only the lanes, under the same promise.
unsafe impl<L: Lanes> Measure<L> for L2 {
    type Sums = Squares<L::Sum>;
    type Query = ();

    #[inline(always)]
    unsafe fn query<const U: usize>(_: *const L::Element, _: usize) {}

    #[inline(always)]
    unsafe fn finish<const N: usize>((): (), sums: [Self::Sums; N]) -> [f32; N] {
        // SAFETY: the caller's promise.
        unsafe { L::totals(sums.map(|s| s.0)) }.map(Total::to_f32)
    }

    /// Squares have one sign: a sum that overflowed is truly that large.
    #[cold]
    unsafe fn in_f64(_: *const L::Element, _: *const L::Element, _: usize) -> f32 {
        f32::INFINITY
    }
}

/// Negated inner product.
#[derive(Clone, Copy)]
pub(super) struct InnerProduct;

// SAFETY: calls only the lanes, under the same promise.
unsafe impl<L: Lanes> Measure<L> for InnerProduct {
    type Sums = Products<L::Sum>;
    type Query = ();

    #[inline(always)]
    unsafe fn query<const U: usize>(_: *const L::Element, _: usize) {}

    #[inline(always)]
    unsafe fn finish<const N: usize>((): (), sums: [Self::Sums; N]) -> [f32; N] {
        // SAFETY: the caller's promise.
        unsafe { L::totals(sums.map(|s| s.0)) }.map(Total::negated)
    }

    #[cold]
    unsafe fn in_f64(a: *const L::Element, b: *const L::Element, dim: usize) -> f32 {
        // SAFETY: the caller's promise.
        0.0 - unsafe { dot_in_f64(a, b, dim) } as f32
    }
}

/// 2 − 2·cos. The subtraction cancels where vectors are near, so it is done in f64.
#[derive(Clone, Copy)]
pub(super) struct Cosine;

// SAFETY: calls only the lanes, under the same promise.
unsafe impl<L: Lanes> Measure<L> for Cosine {
    type Sums = DotAndNorm<L::Sum>;
    /// Σ query².
    type Query = L::Total;

    #[inline(always)]
    unsafe fn query<const U: usize>(query: *const L::Element, dim: usize) -> L::Total {
        // SAFETY: the caller's promise.
        unsafe {
            let [norm] = walk::<L, Products<L::Sum>, 1, U>(query, [query], dim);
            L::totals([norm.0])[0]
        }
    }

    #[inline(always)]
    unsafe fn finish<const N: usize>(query: L::Total, sums: [Self::Sums; N]) -> [f32; N] {
        // SAFETY: the caller's promise.
        let (dots, norms) = unsafe { (L::totals(sums.map(|s| s.dot)), L::totals(sums.map(|s| s.norm))) };
        let mut distances = [f32::NAN; N];
        for r in 0..N {
            if query.is_sound_norm() && norms[r].is_sound_norm() {
                distances[r] = cosine_distance(dots[r].to_f64(), query.to_f64() * norms[r].to_f64());
            }
        }
        distances
    }

    #[inline(always)]
    unsafe fn pair<const U: usize>(a: *const L::Element, b: *const L::Element, dim: usize) -> f32 {
        // SAFETY: the caller's promise.
        unsafe {
            let [sums] = walk::<L, DotAndNorms<L::Sum>, 1, U>(a, [b], dim);
            let [norm] = L::totals([sums.query_norm]);
            <Self as Measure<L>>::finish(norm, [sums.row])[0]
        }
    }

    #[cold]
    unsafe fn in_f64(a: *const L::Element, b: *const L::Element, dim: usize) -> f32 {
        // SAFETY: the caller's promise.
        let (dot, aa, bb) = unsafe { (dot_in_f64(a, b, dim), dot_in_f64(a, a, dim), dot_in_f64(b, b, dim)) };
        if aa == 0.0 || bb == 0.0 { 2.0 } else { cosine_distance(dot, aa * bb) }
    }
}

/// 2 − 2·dot/√norms, inside 0 to 4.
#[inline(always)]
fn cosine_distance(dot: f64, norms: f64) -> f32 {
    (2.0 - 2.0 * dot / norms.sqrt()).clamp(0.0, 4.0) as f32
}

/// Σ a·b in f64: products of two f32 are exact there and cannot overflow.
///
/// # Safety
/// `a` and `b` are valid for `dim` elements.
unsafe fn dot_in_f64<E: Element>(a: *const E, b: *const E, dim: usize) -> f64 {
    // SAFETY: the caller's promise.
    let (a, b) = unsafe { (std::slice::from_raw_parts(a, dim), std::slice::from_raw_parts(b, dim)) };
    a.iter().zip(b).map(|(x, y)| f64::from(x.to_f32()) * f64::from(y.to_f32())).sum()
}
