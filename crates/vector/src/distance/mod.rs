//! Ordering distances (see [`Metric`] for signs), resolved once per element type, metric and
//! processor to the best kernel.

mod scalar;

use crate::{Element, Metric};

/// The instruction set a kernel is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CpuPath {
    /// Plain Rust; the oracle of the others.
    Scalar,
}

/// The best path this processor has, or [`CpuPath::Scalar`] where the environment variable
/// `GLEANN_FORCE_SCALAR` is set to anything but `0`. Decided once per process.
pub fn cpu_path() -> CpuPath {
    CpuPath::Scalar
}

/// One line for reports: the path in use.
pub fn cpu_report() -> String {
    "scalar".into()
}

/// A kernel: ordering distance of two vectors of the given length.
type Kernel<T> = unsafe fn(*const T, *const T, usize) -> f32;

/// The ordering distance of one metric over vectors of one element type and dimension.
#[derive(Debug, Clone, Copy)]
pub struct Distance<T: Element> {
    metric: Metric,
    dim: usize,
    kernel: Kernel<T>,
}

impl<T: Element> Distance<T> {
    /// The fastest kernel of this processor for `metric` over `dim` (1 to 8192) elements.
    pub fn new(metric: Metric, dim: usize) -> Self {
        Self { metric, dim, kernel: scalar::kernel::<T>(metric) }
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Elements a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Ordering distance between `a` and `b`.
    ///
    /// # Panics
    /// If a slice has not exactly [`Distance::dim`] elements.
    #[inline]
    pub fn between(&self, a: &[T], b: &[T]) -> f32 {
        assert!(a.len() == self.dim && b.len() == self.dim, "vector of another dimension");
        // SAFETY: both slices hold `dim` elements.
        unsafe { (self.kernel)(a.as_ptr(), b.as_ptr(), self.dim) }
    }

    /// Ordering distances between `query` and each of the contiguous row-major `rows`, into `out`.
    ///
    /// # Panics
    /// If `rows` is not `out.len()` rows of [`Distance::dim`] elements.
    pub fn to_many(&self, query: &[T], rows: &[T], out: &mut [f32]) {
        assert!(rows.len() == out.len() * self.dim, "rows and results do not match");
        for (row, result) in rows.chunks_exact(self.dim).zip(out) {
            *result = self.between(query, row);
        }
    }
}
