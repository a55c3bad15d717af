//! The typed, checked front of the kernels.

use super::cpu::{CpuPath, Isa};
use super::kernel::{Batch, Kernels};
use crate::{Element, Matrix, Metric};
use std::marker::PhantomData;

/// The largest dimension a vector may have. Integer distances are exact and fit an `i32` up to here.
pub const MAX_DIM: usize = 8192;

const _: () = assert!(MAX_DIM as i64 * 255 * 255 <= i32::MAX as i64, "byte distances must fit an i32");

/// The ordering distance of one metric over vectors of one element type and dimension.
///
/// Of one pair of vectors, [`between`](Self::between), [`to_many`](Self::to_many) and
/// [`to_gathered`](Self::to_gathered) give the same bits. Distances of bytes are exact integers up to the last
/// rounding to f32, and the same bits on every [`CpuPath`]; distances of floats may differ between paths by the
/// rounding of their sums. Finite vectors never give NaN: where a sum of f32 products leaves the range of f32, the
/// pair is computed again in f64.
#[derive(Debug, Clone, Copy)]
pub struct Distance<T: Element> {
    metric: Metric,
    dim: usize,
    path: CpuPath,
    kernels: Kernels,
    element: PhantomData<T>,
}

impl<T: Element> Distance<T> {
    /// The fastest kernels of this processor for `metric` over `dim` elements (see
    /// [`cpu_path`](super::cpu_path)).
    ///
    /// # Panics
    /// If `dim` is not in 1 to [`MAX_DIM`].
    pub fn new(metric: Metric, dim: usize) -> Self {
        Self::with_isa(metric, dim, Isa::chosen())
    }

    /// The kernels of one path, or `None` where this processor cannot run it. For comparisons; everyone else wants
    /// [`Distance::new`].
    ///
    /// # Panics
    /// If `dim` is not in 1 to [`MAX_DIM`].
    pub fn with_path(metric: Metric, dim: usize, path: CpuPath) -> Option<Self> {
        Isa::best_of(path).map(|isa| Self::with_isa(metric, dim, isa))
    }

    pub(super) fn with_isa(metric: Metric, dim: usize, isa: Isa) -> Self {
        assert!((1..=MAX_DIM).contains(&dim), "dimension {dim}; expected 1 to {MAX_DIM}");
        assert!(isa.available(), "this processor cannot run {isa:?}");
        let kernels = isa.kernels(T::TYPE, metric);
        Self { metric, dim, path: isa.path(), kernels, element: PhantomData }
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Elements a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The instruction set in use.
    pub fn path(&self) -> CpuPath {
        self.path
    }

    /// Ordering distance between `a` and `b`.
    ///
    /// # Panics
    /// If a slice has not exactly [`Distance::dim`] elements.
    #[inline]
    pub fn between(&self, a: &[T], b: &[T]) -> f32 {
        assert!(a.len() == self.dim && b.len() == self.dim, "vector of another dimension");
        // SAFETY: both slices hold `dim` elements of the type the kernels were chosen for, and `with_isa` has
        // checked that this processor can run them.
        unsafe { (self.kernels.pair)(a.as_ptr().cast(), b.as_ptr().cast(), self.dim) }
    }

    /// Ordering distances between `query` and each of the contiguous row-major `rows`, into `out`.
    ///
    /// # Panics
    /// If `query` has not [`Distance::dim`] elements, or `rows` is not `out.len()` rows of as many.
    pub fn to_many(&self, query: &[T], rows: &[T], out: &mut [f32]) {
        assert!(query.len() == self.dim, "query of another dimension");
        assert!(rows.len() / self.dim == out.len(), "rows and results do not match");
        assert!(rows.len().is_multiple_of(self.dim), "not a whole number of rows");
        // SAFETY: the query and each of `out.len()` rows hold `dim` elements of the right type, and this processor
        // can run the kernels.
        unsafe { (self.kernels.batch)(&self.batch(query, rows, None), out) }
    }

    /// Ordering distances between `query` and the rows of `rows` that `ids` names, into `out`, in the order of
    /// `ids`. Rows to come are prefetched: this is the call for rows that are far from each other.
    ///
    /// # Panics
    /// If `query` or `rows` are of another dimension, `ids` and `out` differ in length, or an id is not below
    /// [`Matrix::rows`].
    pub fn to_gathered(&self, query: &[T], rows: &Matrix<T>, ids: &[u32], out: &mut [f32]) {
        assert!(query.len() == self.dim && rows.dim() == self.dim, "query or rows of another dimension");
        assert!(ids.len() == out.len(), "ids and results do not match");
        // A maximum, not `all`: it has no early exit, so it is vectorised.
        let end = ids.iter().fold(0, |end, &id| end.max(u64::from(id) + 1));
        assert!(end <= rows.rows() as u64, "row {} of {}", end.saturating_sub(1), rows.rows());
        // SAFETY: the query and every named row hold `dim` elements of the right type, `ids` and `out` have one
        // length, and this processor can run the kernels.
        unsafe { (self.kernels.batch)(&self.batch(query, rows.as_slice(), Some(ids)), out) }
    }

    fn batch<'a>(&self, query: &[T], rows: &[T], ids: Option<&'a [u32]>) -> Batch<'a> {
        Batch { query: query.as_ptr().cast(), rows: rows.as_ptr().cast(), dim: self.dim, ids }
    }
}
