//! How far a kernel may be off: the kernels compute in f32 and in an order of their own, so a row is only put
//! aside when its kernel distance lies beyond the bound by more than any rounding can explain.

use crate::Metric;

/// Norms of a range of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NormRange {
    /// The smallest norm that is not 0.
    pub min: f64,
    /// The largest norm.
    pub max: f64,
}

impl NormRange {
    /// The range of no norm at all.
    pub(super) const EMPTY: NormRange = NormRange { min: f64::INFINITY, max: 0.0 };

    /// The range with one more norm in it.
    pub(super) fn with(self, norm: f64) -> NormRange {
        let min = if norm > 0.0 { self.min.min(norm) } else { self.min };
        NormRange { min, max: self.max.max(norm) }
    }
}

/// Norms between which f32 computes a cosine without overflow or underflow.
const COSINE_NORMS: std::ops::RangeInclusive<f64> = 1e-8..=1e8;

/// The error bounds of one metric at one dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    metric: Metric,
    /// Relative error of a sum of `dim` rounded products, twice over.
    rounding: f64,
    /// What underflow may take from such a sum.
    underflow: f64,
}

impl Filter {
    pub(super) fn new(metric: Metric, dim: usize) -> Self {
        let terms = dim as f64 + 8.0;
        let rounding = terms * f64::from(f32::EPSILON);
        Self { metric, rounding, underflow: terms * f64::from(f32::MIN_POSITIVE) }
    }

    /// The largest distance the kernel may report for a row whose exact ordering distance is at most `bound`,
    /// where `rows` holds the norms of the rows in question (unused for L2).
    pub(super) fn limit(&self, bound: f64, query_norm: f64, rows: NormRange) -> f32 {
        let (scale, limit) = match self.metric {
            Metric::L2 => (bound, bound * (1.0 + self.rounding) + self.underflow),
            Metric::InnerProduct => {
                let scale = query_norm * rows.max;
                (scale, bound + scale * self.rounding + self.underflow)
            }
            Metric::Cosine => {
                let range = rows.with(query_norm);
                let is_safe = range.max == 0.0
                    || (COSINE_NORMS.contains(&range.min) && COSINE_NORMS.contains(&range.max));
                (if is_safe { 1.0 } else { f64::INFINITY }, bound + 8.0 * self.rounding)
            }
        };
        if scale > f64::from(f32::MAX) / 4.0 {
            return f32::INFINITY;
        }
        // The conversion may round down by half a step.
        (limit as f32).next_up()
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact_distance::{norm, ordering_distance};
    use super::*;
    use crate::{Distance, Element};
    use proptest::prelude::*;

    fn holds<T: Element>(a: &[T], b: &[T]) -> Result<(), TestCaseError> {
        for metric in Metric::ALL {
            let kernel = Distance::<T>::new(metric, a.len()).between(a, b);
            let exact = ordering_distance(metric, a, b);
            let rows = NormRange::EMPTY.with(norm(b));
            let limit = Filter::new(metric, a.len()).limit(exact, norm(a), rows);
            // A NaN passes the filter too.
            let is_lost = kernel > limit;
            prop_assert!(!is_lost, "{metric} {} {kernel} > {limit} for {exact}", T::TYPE);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn no_kernel_exceeds_its_limit(
            pairs in prop::collection::vec((-1e3f32..1e3, -1e3f32..1e3), 1..300),
            exponent in prop::sample::select(vec![-42, -22, -10, -3, 0, 5, 16, 18, 20, 35]),
        ) {
            let scale = 10f64.powi(exponent);
            let scaled = |x: f32| ((f64::from(x) * scale) as f32).clamp(-f32::MAX, f32::MAX);
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().map(|&(x, y)| (scaled(x), scaled(y))).unzip();
            holds(&a, &b)?;
            let near: Vec<f32> = a.iter().map(|x| x * 1.000_001).filter(|x| x.is_finite()).collect();
            holds(&a[..near.len()], &near)?;
            let (a, b): (Vec<u8>, Vec<u8>) = pairs.iter().map(|&(x, y)| (x as i32 as u8, y as i32 as u8)).unzip();
            holds(&a, &b)?;
            let (a, b): (Vec<i8>, Vec<i8>) = pairs.iter().map(|&(x, y)| (x as i32 as i8, y as i32 as i8)).unzip();
            holds(&a, &b)?;
        }
    }

    #[test]
    fn is_tight_where_it_can_be() {
        let filter = Filter::new(Metric::L2, 128);
        let limit = filter.limit(50_000.0, 0.0, NormRange::EMPTY);
        assert!(limit < 50_001.0, "{limit}");
        assert_eq!(filter.limit(f64::INFINITY, 0.0, NormRange::EMPTY), f32::INFINITY);
        let far = NormRange::EMPTY.with(1e30);
        assert_eq!(Filter::new(Metric::InnerProduct, 8).limit(-1.0, 1e30, far), f32::INFINITY);
        assert_eq!(Filter::new(Metric::Cosine, 8).limit(0.1, 1e30, far), f32::INFINITY);
        assert!(Filter::new(Metric::Cosine, 8).limit(0.1, 1.0, NormRange::EMPTY.with(1.0)) < 0.101);
    }
}
