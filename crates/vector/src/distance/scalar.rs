//! Plain Rust kernels: the oracle of every other path.

use crate::{Element, Metric};

/// The scalar kernel of a metric.
pub(super) fn kernel<T: Element>(metric: Metric) -> super::Kernel<T> {
    match metric {
        Metric::L2 => l2::<T>,
        Metric::InnerProduct => ip::<T>,
        Metric::Cosine => cosine::<T>,
    }
}

/// # Safety
/// `a` and `b` are valid for `dim` elements.
unsafe fn l2<T: Element>(a: *const T, b: *const T, dim: usize) -> f32 {
    // SAFETY: the caller's promise.
    let (a, b) = unsafe { (std::slice::from_raw_parts(a, dim), std::slice::from_raw_parts(b, dim)) };
    a.iter().zip(b).map(|(x, y)| (x.to_f32() - y.to_f32()).powi(2)).sum()
}

/// # Safety
/// `a` and `b` are valid for `dim` elements.
unsafe fn ip<T: Element>(a: *const T, b: *const T, dim: usize) -> f32 {
    // SAFETY: the caller's promise.
    let (a, b) = unsafe { (std::slice::from_raw_parts(a, dim), std::slice::from_raw_parts(b, dim)) };
    -a.iter().zip(b).map(|(x, y)| x.to_f32() * y.to_f32()).sum::<f32>()
}

/// # Safety
/// `a` and `b` are valid for `dim` elements.
unsafe fn cosine<T: Element>(a: *const T, b: *const T, dim: usize) -> f32 {
    // SAFETY: the caller's promise.
    let (dot, aa, bb) = unsafe { (-ip(a, b, dim), -ip(a, a, dim), -ip(b, b, dim)) };
    if aa == 0.0 || bb == 0.0 { 2.0 } else { (2.0 - 2.0 * dot / (aa * bb).sqrt()).max(0.0) }
}
