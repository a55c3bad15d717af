//! Lanes of AVX2 with FMA and F16C. Bytes are widened to 16-bit words, multiplied and added in pairs.

use super::kernel::{Kernels, Lanes, entries};
use crate::{Element, ElementType, Metric};
use half::f16;
use std::arch::x86_64::*;
use std::marker::PhantomData;

/// The kernels of an element type and metric.
pub(super) fn kernels(element: ElementType, metric: Metric) -> Kernels {
    match element {
        ElementType::F32 => of_floats::<Floats<f32>>(metric),
        ElementType::F16 => of_floats::<Floats<f16>>(metric),
        ElementType::U8 => of_bytes::<Words<u8>>(metric),
        ElementType::I8 => of_bytes::<Words<i8>>(metric),
    }
}

entries!(of_floats, shape: 2 x 4, cosine: 2 x 2, target_feature(enable = "avx2,fma,f16c"));
entries!(of_bytes, shape: 4 x 2, cosine: 2 x 2, target_feature(enable = "avx2"));

/// Elements that eight f32 lanes can be loaded from.
trait LoadFloats: Element {
    /// # Safety
    /// The processor has AVX2 and F16C; eight elements at `from` are valid.
    unsafe fn load(from: *const Self) -> __m256;
}

impl LoadFloats for f32 {
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load(from: *const f32) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_ps(from) }
    }
}

impl LoadFloats for f16 {
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load(from: *const f16) -> __m256 {
        // SAFETY: the caller's promise.
        _mm256_cvtph_ps(unsafe { _mm_loadu_si128(from.cast()) })
    }
}

/// The elements at `from`, fewer than `N`, followed by zeros.
///
/// # Safety
/// `count` elements at `from` are valid.
#[inline]
unsafe fn filled_up<T: Element, const N: usize>(from: *const T, count: usize) -> [T; N] {
    let mut chunk = [T::zeroed(); N];
    debug_assert!(count < N);
    // SAFETY: the caller's promise; count < N.
    unsafe { std::ptr::copy_nonoverlapping(from, chunk.as_mut_ptr(), count) };
    chunk
}

/// f32 and f16, summed in f32.
#[derive(Clone, Copy)]
struct Floats<T>(PhantomData<T>);

// SAFETY: every function enables what it uses; loads touch the named elements only.
unsafe impl<T: LoadFloats> Lanes for Floats<T> {
    type Element = T;
    type Chunk = __m256;
    type Sum = __m256;
    type Total = f32;
    const WIDTH: usize = 8;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load(from: *const T) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { T::load(from) }
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> __m256 {
        if at == 0 {
            // SAFETY: the elements 0 .. dim are valid.
            return unsafe { T::load(filled_up::<T, 8>(row, dim).as_ptr()) };
        }
        // SAFETY: at least one chunk lies before `at`, so the last eight elements of the row are valid.
        let last = unsafe { T::load(row.add(dim - 8)) };
        let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let new = _mm256_cmpgt_epi32(places, _mm256_set1_epi32((7 - (dim - at)) as i32));
        _mm256_and_ps(last, _mm256_castsi256_ps(new))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn zero() -> __m256 {
        _mm256_setzero_ps()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_square(sum: __m256, a: __m256, b: __m256) -> __m256 {
        let difference = _mm256_sub_ps(a, b);
        _mm256_fmadd_ps(difference, difference, sum)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_product(sum: __m256, a: __m256, b: __m256) -> __m256 {
        _mm256_fmadd_ps(a, b, sum)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn merge(a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn totals<const N: usize>(sums: [__m256; N]) -> [f32; N] {
        let mut totals = [0.0; N];
        for r in 0..N {
            let four = _mm_add_ps(_mm256_castps256_ps128(sums[r]), _mm256_extractf128_ps::<1>(sums[r]));
            let two = _mm_add_ps(four, _mm_movehdup_ps(four));
            totals[r] = _mm_cvtss_f32(_mm_add_ss(two, _mm_movehl_ps(two, two)));
        }
        totals
    }
}

/// Bytes that can be widened to 16-bit words.
trait Widen: Element {
    /// # Safety
    /// The processor has AVX2.
    unsafe fn widen(bytes: __m128i) -> __m256i;
}

impl Widen for u8 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn widen(bytes: __m128i) -> __m256i {
        _mm256_cvtepu8_epi16(bytes)
    }
}

impl Widen for i8 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn widen(bytes: __m128i) -> __m256i {
        _mm256_cvtepi8_epi16(bytes)
    }
}

/// Bytes as words, multiplied and added in pairs to i32.
#[derive(Clone, Copy)]
struct Words<T>(PhantomData<T>);

// SAFETY: every function enables what it uses; loads touch the named elements only.
unsafe impl<T: Widen> Lanes for Words<T> {
    type Element = T;
    type Chunk = __m256i;
    type Sum = __m256i;
    type Total = i32;
    const WIDTH: usize = 16;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(from: *const T) -> __m256i {
        // SAFETY: the caller's promise.
        unsafe { T::widen(_mm_loadu_si128(from.cast())) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> __m256i {
        if at == 0 {
            // SAFETY: the elements 0 .. dim are valid.
            return unsafe { Self::load(filled_up::<T, 16>(row, dim).as_ptr()) };
        }
        // SAFETY: at least one chunk lies before `at`, so the last sixteen elements of the row are valid.
        let last = unsafe { _mm_loadu_si128(row.add(dim - 16).cast()) };
        let places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let new = _mm_cmpgt_epi8(places, _mm_set1_epi8((15 - (dim - at)) as i8));
        // SAFETY: the caller's promise.
        unsafe { T::widen(_mm_and_si128(last, new)) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn zero() -> __m256i {
        _mm256_setzero_si256()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_square(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        let difference = _mm256_sub_epi16(a, b);
        _mm256_add_epi32(sum, _mm256_madd_epi16(difference, difference))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_product(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn merge(a: __m256i, b: __m256i) -> __m256i {
        _mm256_add_epi32(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn totals<const N: usize>(sums: [__m256i; N]) -> [i32; N] {
        let mut totals = [0; N];
        for r in 0..N {
            let four = _mm_add_epi32(_mm256_castsi256_si128(sums[r]), _mm256_extracti128_si256::<1>(sums[r]));
            let two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
            totals[r] = _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b01>(two)));
        }
        totals
    }
}
