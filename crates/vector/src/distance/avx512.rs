//! Lanes of AVX-512 (F, BW, VL), with VNNI where the processor has it. Tails are masked loads, which touch no
//! byte that is masked out. f16 is left to AVX2: converting sixteen halves at once measured slower than twice eight.

use super::avx2;
use super::kernel::{Kernels, Lanes, entries};
use crate::{Element, ElementType, Metric};
use std::arch::x86_64::*;
use std::marker::PhantomData;

/// The kernels of an element type and metric.
pub(super) fn kernels(element: ElementType, metric: Metric) -> Kernels {
    match element {
        ElementType::F32 => of_metric::<Floats>(metric),
        ElementType::F16 => avx2::kernels(element, metric),
        ElementType::U8 => of_metric::<Words<u8>>(metric),
        ElementType::I8 => of_metric::<Words<i8>>(metric),
    }
}

/// The kernels of an element type and metric, for processors with VNNI.
pub(super) fn kernels_vnni(element: ElementType, metric: Metric) -> Kernels {
    match element {
        ElementType::F32 | ElementType::F16 => kernels(element, metric),
        ElementType::U8 => of_metric_vnni::<Bytes<u8>>(metric),
        ElementType::I8 => of_metric_vnni::<Bytes<i8>>(metric),
    }
}

entries!(of_metric, shape: 4 x 2, cosine: 4 x 2, target_feature(enable = "avx512f,avx512bw,avx512vl"));
entries!(of_metric_vnni, shape: 4 x 2, cosine: 2 x 2, target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni"));

/// The first `count` bits set; `count` is below 64.
fn low_bits(count: usize) -> u64 {
    (1 << count) - 1
}

/// f32, summed in f32.
#[derive(Clone, Copy)]
struct Floats;

// SAFETY: every function enables what it uses; loads touch the named elements only.
unsafe impl Lanes for Floats {
    type Element = f32;
    type Chunk = __m512;
    type Sum = __m512;
    type Total = f32;
    const WIDTH: usize = 16;

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load_tail(row: *const f32, at: usize, dim: usize) -> __m512 {
        // SAFETY: the mask names the elements at .. dim.
        unsafe { _mm512_maskz_loadu_ps(low_bits(dim - at) as u16, row.add(at)) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn zero() -> __m512 {
        _mm512_setzero_ps()
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn add_square(sum: __m512, a: __m512, b: __m512) -> __m512 {
        let difference = _mm512_sub_ps(a, b);
        _mm512_fmadd_ps(difference, difference, sum)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn add_product(sum: __m512, a: __m512, b: __m512) -> __m512 {
        _mm512_fmadd_ps(a, b, sum)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn merge(a: __m512, b: __m512) -> __m512 {
        _mm512_add_ps(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn totals<const N: usize>(sums: [__m512; N]) -> [f32; N] {
        let mut totals = [0.0; N];
        if N == 4 {
            // SAFETY: four lanes are stored to four results.
            unsafe { _mm_storeu_ps(totals.as_mut_ptr(), fold_four(sums[0], sums[1], sums[2], sums[3])) };
        } else {
            for r in 0..N {
                totals[r] = fold(sums[r]);
            }
        }
        totals
    }
}

/// The sum of sixteen lanes, in the order of [`fold_four`].
#[inline]
#[target_feature(enable = "avx512f")]
fn fold(sum: __m512) -> f32 {
    let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(sum)));
    let eight = _mm256_add_ps(_mm512_castps512_ps256(sum), high);
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_add_ps(four, _mm_movehdup_ps(four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehl_ps(two, two)))
}

/// The sums of the lanes of each of four registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold_four(a: __m512, b: __m512, c: __m512, d: __m512) -> __m128 {
    let ab = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xEE>(a, b));
    let cd = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(c, d), _mm512_shuffle_f32x4::<0xEE>(c, d));
    // One row in each quarter of the register from here on.
    let four = _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(ab, cd), _mm512_shuffle_f32x4::<0xDD>(ab, cd));
    let two = _mm512_add_ps(four, _mm512_permute_ps::<0b10_11_00_01>(four));
    let one = _mm512_add_ps(two, _mm512_permute_ps::<0b01_00_11_10>(two));
    _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, one))
}

/// Folds the i32 sums of each row; exact, so in whatever order.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold_integers<const N: usize>(sums: [__m512i; N]) -> [i32; N] {
    let mut totals = [0; N];
    if N == 4 {
        let [ab, cd] = [[sums[0], sums[1]], [sums[2], sums[3]]].map(|[x, y]| {
            _mm512_add_epi32(_mm512_shuffle_i32x4::<0x44>(x, y), _mm512_shuffle_i32x4::<0xEE>(x, y))
        });
        let four =
            _mm512_add_epi32(_mm512_shuffle_i32x4::<0x88>(ab, cd), _mm512_shuffle_i32x4::<0xDD>(ab, cd));
        let two = _mm512_add_epi32(four, _mm512_shuffle_epi32::<0b10_11_00_01>(four));
        let one = _mm512_add_epi32(two, _mm512_shuffle_epi32::<0b01_00_11_10>(two));
        let results = _mm512_castsi512_si128(_mm512_maskz_compress_epi32(0x1111, one));
        // SAFETY: four lanes are stored to four results.
        unsafe { _mm_storeu_si128(totals.as_mut_ptr().cast(), results) };
    } else {
        for r in 0..N {
            totals[r] = _mm512_reduce_add_epi32(sums[r]);
        }
    }
    totals
}

/// Bytes that can be widened to 16-bit words.
trait Widen: Element {
    /// # Safety
    /// The processor has AVX-512 BW.
    unsafe fn widen(bytes: __m256i) -> __m512i;
}

impl Widen for u8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn widen(bytes: __m256i) -> __m512i {
        _mm512_cvtepu8_epi16(bytes)
    }
}

impl Widen for i8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn widen(bytes: __m256i) -> __m512i {
        _mm512_cvtepi8_epi16(bytes)
    }
}

/// Bytes as words, multiplied and added in pairs to i32.
#[derive(Clone, Copy)]
struct Words<T>(PhantomData<T>);

// SAFETY: every function enables what it uses; loads touch the named elements only.
unsafe impl<T: Widen> Lanes for Words<T> {
    type Element = T;
    type Chunk = __m512i;
    type Sum = __m512i;
    type Total = i32;
    const WIDTH: usize = 32;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn load(from: *const T) -> __m512i {
        // SAFETY: the caller's promise.
        unsafe { T::widen(_mm256_loadu_si256(from.cast())) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> __m512i {
        // SAFETY: the mask names the elements at .. dim.
        unsafe { T::widen(_mm256_maskz_loadu_epi8(low_bits(dim - at) as u32, row.add(at).cast())) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn zero() -> __m512i {
        _mm512_setzero_si512()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn add_square(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        let difference = _mm512_sub_epi16(a, b);
        _mm512_add_epi32(sum, _mm512_madd_epi16(difference, difference))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn add_product(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        _mm512_add_epi32(sum, _mm512_madd_epi16(a, b))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn merge(a: __m512i, b: __m512i) -> __m512i {
        _mm512_add_epi32(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn totals<const N: usize>(sums: [__m512i; N]) -> [i32; N] {
        fold_integers(sums)
    }
}

/// What VNNI's product of an unsigned and a signed byte needs: a byte `x` of ours times a byte `y` of ours is
/// `main − bias` of two such products.
trait Vnni: Element {
    /// # Safety
    /// The processor has AVX-512 BW.
    unsafe fn distance(a: __m512i, b: __m512i) -> __m512i;
    /// # Safety
    /// The processor has AVX-512 VNNI.
    unsafe fn add_product(sum: Biased, a: __m512i, b: __m512i) -> Biased;
}

/// A sum that is `main − bias`.
#[derive(Clone, Copy)]
struct Biased {
    main: __m512i,
    bias: __m512i,
}

/// A byte with its sign bit flipped is the byte minus 128 (as signed), or plus 128 (as unsigned).
#[inline]
#[target_feature(enable = "avx512f")]
fn flip(bytes: __m512i) -> __m512i {
    _mm512_xor_si512(bytes, _mm512_set1_epi8(-128))
}

impl Vnni for u8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn distance(a: __m512i, b: __m512i) -> __m512i {
        _mm512_sub_epi8(_mm512_max_epu8(a, b), _mm512_min_epu8(a, b))
    }

    /// a·b = a·(b − 128) − a·(−128).
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn add_product(sum: Biased, a: __m512i, b: __m512i) -> Biased {
        Biased {
            main: _mm512_dpbusd_epi32(sum.main, a, flip(b)),
            bias: _mm512_dpbusd_epi32(sum.bias, a, _mm512_set1_epi8(-128)),
        }
    }
}

impl Vnni for i8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn distance(a: __m512i, b: __m512i) -> __m512i {
        _mm512_sub_epi8(_mm512_max_epi8(a, b), _mm512_min_epi8(a, b))
    }

    /// a·b = (a + 128)·b − 128·b.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn add_product(sum: Biased, a: __m512i, b: __m512i) -> Biased {
        Biased {
            main: _mm512_dpbusd_epi32(sum.main, flip(a), b),
            bias: _mm512_dpbusd_epi32(sum.bias, _mm512_set1_epi8(-128), b),
        }
    }
}

/// Bytes, multiplied and added in fours to i32.
#[derive(Clone, Copy)]
struct Bytes<T>(PhantomData<T>);

// SAFETY: every function enables what it uses; loads touch the named elements only.
unsafe impl<T: Vnni> Lanes for Bytes<T> {
    type Element = T;
    type Chunk = __m512i;
    type Sum = Biased;
    type Total = i32;
    const WIDTH: usize = 64;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn load(from: *const T) -> __m512i {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> __m512i {
        // SAFETY: the mask names the elements at .. dim.
        unsafe { _mm512_maskz_loadu_epi8(low_bits(dim - at), row.add(at).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn zero() -> Biased {
        Biased { main: _mm512_setzero_si512(), bias: _mm512_setzero_si512() }
    }

    /// d² = d·(d − 128) − d·(−128), with d = |a − b| as an unsigned byte.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn add_square(sum: Biased, a: __m512i, b: __m512i) -> Biased {
        // SAFETY: the caller's promise.
        let distance = unsafe { T::distance(a, b) };
        Biased {
            main: _mm512_dpbusd_epi32(sum.main, distance, flip(distance)),
            bias: _mm512_dpbusd_epi32(sum.bias, distance, _mm512_set1_epi8(-128)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn add_product(sum: Biased, a: __m512i, b: __m512i) -> Biased {
        // SAFETY: the caller's promise.
        unsafe { T::add_product(sum, a, b) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn merge(a: Biased, b: Biased) -> Biased {
        Biased { main: _mm512_add_epi32(a.main, b.main), bias: _mm512_add_epi32(a.bias, b.bias) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn totals<const N: usize>(sums: [Biased; N]) -> [i32; N] {
        let mut differences = [_mm512_setzero_si512(); N];
        for r in 0..N {
            differences[r] = _mm512_sub_epi32(sums[r].main, sums[r].bias);
        }
        fold_integers(differences)
    }
}
