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
        ElementType::U8 => of_metric::<Bytes<u8>>(metric),
        ElementType::I8 => of_metric::<Bytes<i8>>(metric),
    }
}

entries!(of_metric, 1);

/// f32 and f16, summed in f32.
#[derive(Clone, Copy)]
struct Floats<T>(PhantomData<T>);

// SAFETY: needs no special instruction; reads through slices of exactly the elements named.
unsafe impl<T: Element> Lanes for Floats<T> {
    type Element = T;
    type Chunk = [f32; WIDTH];
    type Sum = [f32; WIDTH];
    type Total = f32;
    const WIDTH: usize = WIDTH;

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self::Chunk {
        // SAFETY: the caller's promise.
        unsafe { from.cast::<[T; WIDTH]>().read_unaligned() }.map(T::to_f32)
    }

    #[inline(always)]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> Self::Chunk {
        // SAFETY: the caller's promise.
        let tail = unsafe { std::slice::from_raw_parts(row.add(at), dim - at) };
        let mut chunk = [0.0; WIDTH];
        chunk.iter_mut().zip(tail).for_each(|(to, from)| *to = from.to_f32());
        chunk
    }

    #[inline(always)]
    unsafe fn zero() -> Self::Sum {
        [0.0; WIDTH]
    }

    // Not `mul_add`: without the instruction it is a function call.
    #[inline(always)]
    unsafe fn add_square(sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        std::array::from_fn(|i| sum[i] + (a[i] - b[i]) * (a[i] - b[i]))
    }

    #[inline(always)]
    unsafe fn add_product(sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        std::array::from_fn(|i| sum[i] + a[i] * b[i])
    }

    #[inline(always)]
    unsafe fn merge(a: Self::Sum, b: Self::Sum) -> Self::Sum {
        std::array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    unsafe fn totals<const N: usize>(sums: [Self::Sum; N]) -> [f32; N] {
        sums.map(|s| ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])))
    }
}

/// u8 and i8, summed in i32.
#[derive(Clone, Copy)]
struct Bytes<T>(PhantomData<T>);

// SAFETY: needs no special instruction; reads through slices of exactly the elements named.
unsafe impl<T: Element + Into<i32>> Lanes for Bytes<T> {
    type Element = T;
    type Chunk = [i32; WIDTH];
    type Sum = [i32; WIDTH];
    type Total = i32;
    const WIDTH: usize = WIDTH;

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self::Chunk {
        // SAFETY: the caller's promise.
        unsafe { from.cast::<[T; WIDTH]>().read_unaligned() }.map(T::into)
    }

    #[inline(always)]
    unsafe fn load_tail(row: *const T, at: usize, dim: usize) -> Self::Chunk {
        // SAFETY: the caller's promise.
        let tail = unsafe { std::slice::from_raw_parts(row.add(at), dim - at) };
        let mut chunk = [0; WIDTH];
        chunk.iter_mut().zip(tail).for_each(|(to, &from)| *to = from.into());
        chunk
    }

    #[inline(always)]
    unsafe fn zero() -> Self::Sum {
        [0; WIDTH]
    }

    #[inline(always)]
    unsafe fn add_square(sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        std::array::from_fn(|i| sum[i] + (a[i] - b[i]) * (a[i] - b[i]))
    }

    #[inline(always)]
    unsafe fn add_product(sum: Self::Sum, a: Self::Chunk, b: Self::Chunk) -> Self::Sum {
        std::array::from_fn(|i| sum[i] + a[i] * b[i])
    }

    #[inline(always)]
    unsafe fn merge(a: Self::Sum, b: Self::Sum) -> Self::Sum {
        std::array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    unsafe fn totals<const N: usize>(sums: [Self::Sum; N]) -> [i32; N] {
        sums.map(|s| s.iter().sum())
    }
}
