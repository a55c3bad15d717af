//! Values at a given recall, between measured points.

/// A measure at a recall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matched {
    /// The value.
    pub value: f64,
    /// The system was never measured at so low a recall: this is its cheapest point, which does better.
    pub bound: bool,
}

/// The value at recall `target` on the line through the points (recall, value), which have growing recall. Values
/// are interpolated in their logarithm, in which such fronts are nearly straight. `None` beyond the last point:
/// nothing is extrapolated.
pub fn at_recall(points: &[(f64, f64)], target: f64) -> Option<Matched> {
    let (first, last) = (points.first()?, points.last()?);
    if target > last.0 {
        return None;
    }
    if target <= first.0 {
        return Some(Matched { value: first.1, bound: target < first.0 });
    }
    let after = points.iter().position(|point| point.0 >= target)?;
    let (low, high) = (points[after - 1], points[after]);
    let share = (target - low.0) / (high.0 - low.0);
    let value = (low.1.ln() + share * (high.1.ln() - low.1.ln())).exp();
    Some(Matched { value, bound: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_points_the_logarithm_is_straight() {
        let front = [(0.8, 1000.0), (0.9, 100.0), (0.98, 50.0)];
        let middle = at_recall(&front, 0.85).unwrap();
        assert!((middle.value - 316.227_766).abs() < 1e-3 && !middle.bound);
        assert!((at_recall(&front, 0.9).unwrap().value - 100.0).abs() < 1e-9);
        assert_eq!(at_recall(&front, 0.98).map(|m| m.bound), Some(false));
        assert_eq!(at_recall(&front, 0.5), Some(Matched { value: 1000.0, bound: true }));
        assert_eq!(at_recall(&front, 0.99), None);
        assert_eq!(at_recall(&[], 0.9), None);
    }
}
