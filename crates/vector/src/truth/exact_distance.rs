//! Distances in f64: the values ground truth is ordered by. Exact integers for integer elements; for floats the
//! products of two elements are exact and only their sum is rounded, in one fixed order.

use crate::{Element, ElementType, Metric};

/// Sums kept side by side, so that one addition need not wait for the one before.
const LANES: usize = 8;

/// Ordering distance of two vectors (see [`Metric`] for signs).
pub(super) fn ordering_distance<T: Element>(metric: Metric, a: &[T], b: &[T]) -> f64 {
    match metric {
        Metric::L2 => sum(a, b, |x, y| (x - y) * (x - y)),
        Metric::InnerProduct => 0.0 - dot(a, b),
        Metric::Cosine => 2.0 - 2.0 * cosine::<T>(dot(a, b), dot(a, a), dot(b, b)),
    }
}

/// Length of a vector.
pub(super) fn norm<T: Element>(a: &[T]) -> f64 {
    dot(a, a).sqrt()
}

fn dot<T: Element>(a: &[T], b: &[T]) -> f64 {
    sum(a, b, |x, y| x * y)
}

fn sum<T: Element>(a: &[T], b: &[T], term: impl Fn(f64, f64) -> f64) -> f64 {
    let term = |x: &T, y: &T| term(f64::from(x.to_f32()), f64::from(y.to_f32()));
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += term(&a[lane], &b[lane]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| term(x, y)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// dot / √(aa · bb), at most 1 in size; 0 where a vector is zero.
fn cosine<T: Element>(dot: f64, aa: f64, bb: f64) -> f64 {
    if aa == 0.0 || bb == 0.0 {
        return 0.0;
    }
    let ratio = match T::TYPE {
        // As a reduced fraction, so that vectors of one direction tie exactly, whatever their lengths. All values
        // are integers below 8192 · 255², so that squares fit.
        ElementType::U8 | ElementType::I8 => {
            let (dot, lengths) = (dot as i64, aa as i64 * bb as i64);
            let squared = dot * dot.abs();
            let divisor = gcd(squared.unsigned_abs(), lengths.unsigned_abs()) as i64;
            let cos2 = (squared / divisor) as f64 / (lengths / divisor) as f64;
            cos2.abs().sqrt().copysign(cos2)
        }
        ElementType::F32 | ElementType::F16 => dot / (aa * bb).sqrt(),
    };
    ratio.clamp(-1.0, 1.0)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_at_the_largest_dimension() {
        let (zeros, full) = (vec![0u8; 8192], vec![255u8; 8192]);
        assert_eq!(ordering_distance(Metric::L2, &zeros, &full), 532_684_800.0);
        assert_eq!(ordering_distance(Metric::InnerProduct, &full, &full), -532_684_800.0);
        assert_eq!(ordering_distance(Metric::Cosine, &full, &full), 0.0);
        assert_eq!(ordering_distance(Metric::Cosine, &zeros, &full), 2.0);
        let (low, high) = (vec![-128i8; 8192], vec![127i8; 8192]);
        assert_eq!(ordering_distance(Metric::L2, &low, &high), 532_684_800.0);
        assert_eq!(ordering_distance(Metric::Cosine, &low, &high), 4.0);
    }

    #[test]
    fn equal_directions_tie_exactly() {
        let query = [3u8, 1, 7, 2];
        let one = ordering_distance(Metric::Cosine, &query, &[1u8, 2, 3, 5]);
        for factor in 2..=51u8 {
            let scaled = [1u8, 2, 3, 5].map(|x| x * factor);
            assert_eq!(ordering_distance(Metric::Cosine, &query, &scaled), one);
        }
    }

    #[test]
    fn floats_do_not_overflow() {
        let huge = [f32::MAX; 4];
        assert!(ordering_distance(Metric::L2, &huge, &huge.map(|x| -x)).is_finite());
        assert_eq!(ordering_distance(Metric::Cosine, &huge, &huge), 0.0);
        assert_eq!(ordering_distance(Metric::Cosine, &[1e-40f32, 0.0], &[0.0f32, 1e-40]), 2.0);
    }
}
