//! Lanes of Advanced SIMD (NEON), with the dot-product instructions where the processor has them.
//!
//! Half-precision conversion and the dot products are inline assembly: their intrinsics are younger than the
//! oldest compiler this builds with.

use super::kernel::{Kernels, Lanes, entries};
use crate::{Element, ElementType, Metric};
use half::f16;
use std::arch::aarch64::*;
use std::arch::asm;
use std::marker::PhantomData;

/// The kernels of an element type and metric.
pub(super) fn kernels(element: ElementType, metric: Metric) -> Kernels {
    match element {
        ElementType::F32 => of_metric::<Floats<f32>>(metric),
        ElementType::F16 => of_metric::<Floats<f16>>(metric),
        ElementType::U8 => of_metric::<Words<u8>>(metric),
        ElementType::I8 => of_metric::<Words<i8>>(metric),
    }
}

/// The kernels of an element type and metric, for processors with the dot-product instructions.
pub(super) fn kernels_dot(element: ElementType, metric: Metric) -> Kernels {
    match element {
        ElementType::F32 | ElementType::F16 => kernels(element, metric),
        ElementType::U8 => of_metric_dot::<Dots<u8>>(metric),
        ElementType::I8 => of_metric_dot::<Dots<i8>>(metric),
    }
}

entries!(of_metric, shape: 4 x 4, cosine: 2 x 4, target_feature(enable = "neon"));
entries!(of_metric_dot, shape: 4 x 4, cosine: 2 x 4, target_feature(enable = "neon,dotprod"));

/// The elements `at .. dim` of a row, fewer than `N`, followed by zeros.
///
/// # Safety
/// The elements are valid.
#[inline]
unsafe fn filled_up<T: Element, const N: usize>(row: *const T, at: usize, dim: usize) -> [T; N] {
    let mut chunk = [T::zeroed(); N];
    debug_assert!(at < dim && dim - at < N);
    // SAFETY: the caller's promise; fewer than N elements are copied.
    unsafe { std::ptr::copy_nonoverlapping(row.add(at), chunk.as_mut_ptr(), dim - at) };
    chunk
}

/// Elements that four f32 lanes can be loaded from.
trait LoadFloats: Element {
    /// # Safety
    /// Four elements at `from` are valid.
    unsafe fn load(from: *const Self) -> float32x4_t;
}

impl LoadFloats for f32 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const f32) -> float32x4_t {
        // SAFETY: the caller's promise.
        unsafe { vld1q_f32(from) }
    }
}

impl LoadFloats for f16 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const f16) -> float32x4_t {
        // SAFETY: the caller's promise.
        let halves = unsafe { vld1_u16(from.cast()) };
        let floats: float32x4_t;
        // SAFETY: converts register to register; part of the base instruction set.
        unsafe {
            asm!("fcvtl {to:v}.4s, {from:v}.4h", to = lateout(vreg) floats, from = in(vreg) halves,
                options(pure, nomem, nostack, preserves_flags));
        }
        floats
    }
}

/// f32 and f16, summed in f32.
#[derive(Clone, Copy)]
struct Floats<T>(PhantomData<T>);

// SAFETY: every function enables what it uses; loads touch the named elements only.
unsafe impl<T: LoadFloats> Lanes for Floats<T> {
    type Element = T;
    type Chunk = float32x4_t;
    type Sum = float32x4_t;
    type Total = f32;
    const WIDTH: usize = 4;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const T) -> float32x4_t {
        // SAFETY: the caller's promise.
        unsafe { T::load(from) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> float32x4_t {
        // SAFETY: the caller's promise.
        unsafe { T::load(filled_up::<T, 4>(row, at, dim).as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn zero() -> float32x4_t {
        vdupq_n_f32(0.0)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add_square(sum: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        let difference = vsubq_f32(a, b);
        vfmaq_f32(sum, difference, difference)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add_product(sum: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        vfmaq_f32(sum, a, b)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn merge(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        vaddq_f32(a, b)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn totals<const N: usize>(sums: [float32x4_t; N]) -> [f32; N] {
        let mut totals = [0.0; N];
        for r in 0..N {
            totals[r] = vaddvq_f32(sums[r]);
        }
        totals
    }
}

/// Signed or unsigned bytes, held in a register of unsigned ones.
trait Bytes: Element {
    /// |a − b| as an unsigned byte.
    ///
    /// # Safety
    /// The processor has NEON.
    unsafe fn distance(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t;
    /// sum + a·b, in pairs.
    ///
    /// # Safety
    /// The processor has NEON.
    unsafe fn add_products(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t;
    /// sum + a·b, in fours.
    ///
    /// # Safety
    /// The processor has the dot-product instructions.
    unsafe fn dot(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t;
}

impl Bytes for u8 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn distance(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        vabdq_u8(a, b)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add_products(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
        let sum = vpadalq_u16(vreinterpretq_u32_s32(sum), vmull_u8(vget_low_u8(a), vget_low_u8(b)));
        vreinterpretq_s32_u32(vpadalq_u16(sum, vmull_high_u8(a, b)))
    }

    #[inline]
    #[target_feature(enable = "neon,dotprod")]
    unsafe fn dot(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
        let mut sum = sum;
        // SAFETY: works on registers alone, with an instruction the caller promises.
        unsafe {
            asm!("udot {sum:v}.4s, {a:v}.16b, {b:v}.16b", sum = inlateout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
                options(pure, nomem, nostack, preserves_flags));
        }
        sum
    }
}

impl Bytes for i8 {
    // The true difference of two signed bytes, up to 255, fits an unsigned one.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn distance(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        vreinterpretq_u8_s8(vabdq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add_products(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
        let (a, b) = (vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));
        let sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
        vpadalq_s16(sum, vmull_high_s8(a, b))
    }

    #[inline]
    #[target_feature(enable = "neon,dotprod")]
    unsafe fn dot(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
        let mut sum = sum;
        // SAFETY: works on registers alone, with an instruction the caller promises.
        unsafe {
            asm!("sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b", sum = inlateout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
                options(pure, nomem, nostack, preserves_flags));
        }
        sum
    }
}

/// The two kinds of byte lanes, which differ in how squares of distances and products are added.
macro_rules! byte_lanes {
    ($lanes:ident, $features:literal, $squares:expr, $products:expr) => {
        // SAFETY: every function enables what it uses; loads touch the named elements only.
        unsafe impl<T: Bytes> Lanes for $lanes<T> {
            type Element = T;
            type Chunk = uint8x16_t;
            type Sum = int32x4_t;
            type Total = i32;
            const WIDTH: usize = 16;

            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn load(from: *const T) -> uint8x16_t {
                // SAFETY: the caller's promise.
                unsafe { vld1q_u8(from.cast()) }
            }

            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> uint8x16_t {
                // SAFETY: the caller's promise.
                unsafe { vld1q_u8(filled_up::<T, 16>(row, at, dim).as_ptr().cast()) }
            }

            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn zero() -> int32x4_t {
                vdupq_n_s32(0)
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn add_square(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
                // SAFETY: the caller's promise.
                unsafe {
                    let distance = T::distance(a, b);
                    $squares(sum, distance, distance)
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn add_product(sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
                // SAFETY: the caller's promise.
                unsafe { $products(sum, a, b) }
            }

            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn merge(a: int32x4_t, b: int32x4_t) -> int32x4_t {
                vaddq_s32(a, b)
            }

            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn totals<const N: usize>(sums: [int32x4_t; N]) -> [i32; N] {
                let mut totals = [0; N];
                for r in 0..N {
                    totals[r] = vaddvq_s32(sums[r]);
                }
                totals
            }
        }
    };
}

/// Bytes, multiplied to words and added in pairs to i32.
#[derive(Clone, Copy)]
struct Words<T>(PhantomData<T>);

/// Bytes, multiplied and added in fours to i32.
#[derive(Clone, Copy)]
struct Dots<T>(PhantomData<T>);

byte_lanes!(Words, "neon", u8::add_products, T::add_products);
byte_lanes!(Dots, "neon,dotprod", <u8 as Bytes>::dot, T::dot);
