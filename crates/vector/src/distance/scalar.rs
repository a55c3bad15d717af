//! Lanes in plain Rust, for every processor. Eight wide, so that a compiler can use what the target has.

use super::kernel::{Kernels, Lanes, entries};
use crate::{Element, ElementType, Metric};
use half::f16;
use std::marker::PhantomData;

const WIDTH: usize = 8;

/// The kernels of an element type and metric.
pub(super) fn kernels(element: ElementType, metric: Metric) -> Kernels {
    match element {
        ElementType::F32 => of_metric::<Floats<f32>>(metric),
        ElementType::F16 => of_metric::<Floats<f16>>(metric),
        ElementType::U8 => of_metric::<Words<u8>>(metric),
        ElementType::I8 => of_metric::<Words<i8>>(metric),
    }
}

entries!(of_metric, shape: 1 x 1, cosine: 1 x 1);

/// Floats as f32, without a branch or a call.
trait Widen: Element {
    fn widen(self) -> f32;
}

impl Widen for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
}

impl Widen for f16 {
    /// Exponent and fraction are moved to their places in an f32 and the exponent's bias is corrected by a
    /// multiplication, which makes subnormal numbers right, too.
    #[inline(always)]
    fn widen(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let magnitude = f32::from_bits((bits & 0x7FFF) << 13) * f32::from_bits((254 - 15) << 23);
        // Infinity and NaN have all bits of the exponent set, in both formats.
        let special = if bits & 0x7C00 == 0x7C00 { 0x7F80_0000 } else { 0 };
        f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
    }
}

/// f32 and f16, summed in f32.
#[derive(Clone, Copy)]
struct Floats<T>(PhantomData<T>);

// SAFETY: needs no special instruction; reads through slices of exactly the elements named.
unsafe impl<T: Widen> Lanes for Floats<T> {
    type Element = T;
    type Chunk = [f32; WIDTH];
    type Sum = [f32; WIDTH];
    type Total = f32;
    const WIDTH: usize = WIDTH;

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self::Chunk {
        // SAFETY: the caller's promise.
        let elements = unsafe { from.cast::<[T; WIDTH]>().read_unaligned() };
        let mut chunk = [0.0; WIDTH];
        for i in 0..WIDTH {
            chunk[i] = elements[i].widen();
        }
        chunk
    }

    #[inline(always)]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> Self::Chunk {
        // SAFETY: the caller's promise.
        let tail = unsafe { std::slice::from_raw_parts(row.add(at), dim - at) };
        let mut chunk = [0.0; WIDTH];
        chunk.iter_mut().zip(tail).for_each(|(to, from)| *to = from.widen());
        chunk
    }

    #[inline(always)]
    unsafe fn zero() -> Self::Sum {
        [0.0; WIDTH]
    }

    // Not `mul_add`: without the instruction it is a function call.
    #[inline(always)]
    unsafe fn add_square(mut sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        for i in 0..WIDTH {
            sum[i] += (a[i] - b[i]) * (a[i] - b[i]);
        }
        sum
    }

    #[inline(always)]
    unsafe fn add_product(mut sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        for i in 0..WIDTH {
            sum[i] += a[i] * b[i];
        }
        sum
    }

    #[inline(always)]
    unsafe fn merge(mut a: Self::Sum, b: Self::Sum) -> Self::Sum {
        for i in 0..WIDTH {
            a[i] += b[i];
        }
        a
    }

    #[inline(always)]
    unsafe fn totals<const N: usize>(sums: [Self::Sum; N]) -> [f32; N] {
        sums.map(|s| ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])))
    }
}

/// u8 and i8, summed in i32. Sixteen 16-bit words a chunk, multiplied and added in pairs: compilers know an
/// instruction for that on most targets.
#[derive(Clone, Copy)]
struct Words<T>(PhantomData<T>);

// SAFETY: needs no special instruction; reads through slices of exactly the elements named.
unsafe impl<T: Element + Into<i16>> Lanes for Words<T> {
    type Element = T;
    type Chunk = [i16; 2 * WIDTH];
    type Sum = [i32; WIDTH];
    type Total = i32;
    const WIDTH: usize = 2 * WIDTH;

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self::Chunk {
        // SAFETY: the caller's promise.
        let elements = unsafe { from.cast::<[T; 2 * WIDTH]>().read_unaligned() };
        let mut chunk = [0; 2 * WIDTH];
        for i in 0..2 * WIDTH {
            chunk[i] = elements[i].into();
        }
        chunk
    }

    #[inline(always)]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> Self::Chunk {
        // SAFETY: the caller's promise.
        let tail = unsafe { std::slice::from_raw_parts(row.add(at), dim - at) };
        let mut chunk = [0; 2 * WIDTH];
        chunk.iter_mut().zip(tail).for_each(|(to, &from)| *to = from.into());
        chunk
    }

    #[inline(always)]
    unsafe fn zero() -> Self::Sum {
        [0; WIDTH]
    }

    #[inline(always)]
    unsafe fn add_square(sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        let mut difference = a;
        for i in 0..2 * WIDTH {
            difference[i] -= b[i];
        }
        // SAFETY: the caller's promise.
        unsafe { Self::add_product(sum, difference, difference) }
    }

    #[inline(always)]
    unsafe fn add_product(mut sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        for (i, sum) in sum.iter_mut().enumerate() {
            let (even, odd) = (2 * i, 2 * i + 1);
            *sum += i32::from(a[even]) * i32::from(b[even]) + i32::from(a[odd]) * i32::from(b[odd]);
        }
        sum
    }

    #[inline(always)]
    unsafe fn merge(mut a: Self::Sum, b: Self::Sum) -> Self::Sum {
        for i in 0..WIDTH {
            a[i] += b[i];
        }
        a
    }

    #[inline(always)]
    unsafe fn totals<const N: usize>(sums: [Self::Sum; N]) -> [i32; N] {
        sums.map(|s| s.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_widened_to_its_value() {
        for half in (0..=u16::MAX).map(f16::from_bits) {
            let (found, expected) = (half.widen(), half.to_f32());
            assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(), "{half:?}");
        }
    }
}
