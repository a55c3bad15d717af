//! Values of a variant where they may be compared: at equal recall by interpolation over L, or at equal L.

use super::measure::Measure;
use crate::peers::at_recall;
use crate::row::Row;
use serde::Deserialize;

/// Where values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// At this recall, between measured points.
    Recall(f64),
    /// At this list length.
    List(u32),
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            At::Recall(recall) => write!(f, "recall {recall:.2}"),
            At::List(list) => write!(f, "L = {list}"),
        }
    }
}

/// The value of `measure` for the rows of one variant on one set. `None` where it was not measured: beyond the best
/// recall nothing is extrapolated, and short of the lowest there is only a bound, which is no value either.
pub fn value(rows: &[&Row], measure: Measure, at: At) -> Option<f64> {
    if measure.is_of_index() {
        return measure.of(rows.first()?);
    }
    match at {
        At::List(list) => measure.of(rows.iter().find(|row| row.list == list)?),
        At::Recall(recall) => {
            let found = at_recall(&rising(rows, measure), recall)?;
            (!found.bound).then_some(found.value)
        }
    }
}

/// (recall, value) by list length, without points that a longer list has not improved.
fn rising(rows: &[&Row], measure: Measure) -> Vec<(f64, f64)> {
    let mut sorted: Vec<&&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| row.list);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for row in sorted {
        let Some(value) = measure.of(row).filter(|value| *value > 0.0) else { continue };
        if points.last().is_none_or(|last| row.recall > last.0) {
            points.push((row.recall, value));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Cost, Place};

    fn row(list: u32, recall: f64, qps: f64) -> Row {
        let cost = Cost { pages_per_query: Some(f64::from(list)), ..Cost::default() };
        let place = Place { disk_bytes: Some(7_000_000), ..Place::default() };
        Row { list, recall, qps, cost, place, ..Row::default() }
    }

    #[test]
    fn values_are_compared_where_they_may_be() {
        let rows = [row(40, 0.98, 250.0), row(10, 0.80, 1000.0), row(20, 0.92, 500.0), row(30, 0.91, 400.0)];
        let rows: Vec<&Row> = rows.iter().collect();
        let qps = |at| value(&rows, Measure::Qps, at);
        // Halfway between 0.80 and 0.92, in the logarithm.
        assert!((qps(At::Recall(0.86)).unwrap() - 707.1).abs() < 0.1);
        // The list of 30 did not improve on that of 20, and is no part of the front.
        assert!((qps(At::Recall(0.95)).unwrap() - 353.6).abs() < 0.1);
        assert_eq!((qps(At::Recall(0.99)), qps(At::Recall(0.7))), (None, None));
        assert_eq!((qps(At::List(30)), qps(At::List(31))), (Some(400.0), None));
        assert_eq!(value(&rows, Measure::Disk, At::Recall(0.99)), Some(7.0));
        assert_eq!(value(&rows, Measure::IoShare, At::Recall(0.9)), None);
        assert_eq!(value(&[], Measure::Disk, At::Recall(0.9)), None);
    }
}
