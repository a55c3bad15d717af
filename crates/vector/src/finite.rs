//! The ingress check: NaN and infinity compare false with everything and would corrupt a graph silently.

use crate::Element;

/// A component that is NaN or infinite.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("row {row}, component {component} is {value}; every component must be finite")]
pub struct NotFinite {
    /// Row number, counted from the `first_row` given to the check.
    pub row: u64,
    /// Position inside the row.
    pub component: usize,
    /// The offending value.
    pub value: f32,
}

/// Checks that every component of the row-major `rows` of `dim` elements is finite. Free for integers.
///
/// # Errors
/// The first offending component in row order.
pub fn check_finite<T: Element>(rows: &[T], dim: usize, first_row: u64) -> Result<(), NotFinite> {
    use crate::ElementType::{F16, F32};
    if !matches!(T::TYPE, F32 | F16) {
        return Ok(());
    }
    // Sums of x·0 are 0 for finite x and NaN otherwise; branch-free, so it runs at memory speed.
    for (index, row) in rows.chunks(dim.max(1)).enumerate() {
        let poison: f32 = row.iter().map(|x| x.to_f32() * 0.0).sum();
        if poison.is_nan() {
            let bad = row.iter().position(|x| !x.to_f32().is_finite()).unwrap_or(0);
            let value = row[bad].to_f32();
            return Err(NotFinite { row: first_row + index as u64, component: bad, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_row_component_and_value() {
        assert_eq!(check_finite(&[0.0f32, 1.0, -2.0, f32::MAX], 2, 0), Ok(()));
        let error = check_finite(&[0.0f32, 0.0, 1.0, f32::INFINITY], 2, 10).unwrap_err();
        assert_eq!((error.row, error.component, error.value), (11, 1, f32::INFINITY));
        let error = check_finite(&[f32::NAN, 0.0], 2, 0).unwrap_err();
        assert_eq!((error.row, error.component), (0, 0));
        assert_eq!(check_finite(&[255u8; 4], 2, 0), Ok(()));
    }
}
