//! Rows grouped into lines of a plot, and the front of each line.

use crate::row::Row;
use std::collections::BTreeMap;

/// Results that differ in list length only.
#[derive(Debug, Clone)]
pub struct Series {
    /// What sets this series apart from the others of the plot.
    pub label: String,
    /// Its rows, shortest list first.
    pub rows: Vec<Row>,
}

/// What may tell series apart: how a value is spelt before and after, and the value.
type Part = (&'static str, &'static str, fn(&Row) -> String);

const PARTS: [Part; 10] = [
    ("", "", |row| row.preset.clone()),
    ("", "", |row| row.search.clone()),
    ("width ", "", Row::width_name),
    ("", "", |row| row.entry.clone()),
    ("", "", |row| row.expansion.clone()),
    ("", "", |row| row.stop.clone()),
    ("cache ", "", |row| row.cache.clone()),
    ("", "", |row| row.engine.clone()),
    ("", " threads", |row| row.threads.to_string()),
    ("", " in flight", |row| row.in_flight.to_string()),
];

type Key = [String; PARTS.len()];

fn parts(row: &Row) -> Key {
    PARTS.map(|(_, _, value)| value(row))
}

fn spell(index: usize, part: &str) -> String {
    let (before, after, _) = PARTS[index];
    let after = if part == "1" { after.trim_end_matches('s') } else { after };
    format!("{before}{part}{after}")
}

/// Groups rows into series in order of first appearance, and tells what all of them share. Labels hold only what
/// differs: a legend that repeats itself is not read.
pub fn group(rows: &[Row]) -> (Vec<Series>, String) {
    let mut order: Vec<Key> = Vec::new();
    let mut groups: BTreeMap<Key, Vec<Row>> = BTreeMap::new();
    for row in rows {
        let key = parts(row);
        if !groups.contains_key(&key) {
            order.push(key.clone());
        }
        groups.entry(key).or_default().push(row.clone());
    }
    let differs: Vec<usize> =
        (0..PARTS.len()).filter(|&i| order.iter().any(|key| key[i] != order[0][i])).collect();
    let pick = |key: &Key, wanted: &dyn Fn(&usize) -> bool| -> String {
        let named = |i: &usize| wanted(i) && !matches!(key[*i].as_str(), "" | "-");
        (0..PARTS.len()).filter(named).map(|i| spell(i, &key[i])).collect::<Vec<_>>().join(" · ")
    };
    let series = order
        .iter()
        .map(|key| {
            let mut rows = groups.remove(key).unwrap_or_default();
            rows.sort_by_key(|row| row.list);
            // Name the system even when it is the same everywhere.
            let label = pick(key, &|i| *i == 0 || differs.contains(i));
            Series { label, rows }
        })
        .collect();
    let shared = order.first().map(|key| pick(key, &|i| *i != 0 && !differs.contains(i))).unwrap_or_default();
    (series, shared)
}

/// Which way a measure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Throughput.
    Higher,
    /// Latency, reads.
    Lower,
}

/// The Pareto front of (row, recall, value): best value first, each next point strictly improves recall. Returned
/// in order of growing recall.
pub fn front(rows: &[Row], value: impl Fn(&Row) -> Option<f64>, better: Better) -> Vec<(&Row, f64)> {
    let mut points: Vec<(&Row, f64)> =
        rows.iter().filter_map(|row| value(row).filter(|v| v.is_finite()).map(|v| (row, v))).collect();
    points.sort_by(|a, b| {
        let by_value = a.1.total_cmp(&b.1);
        let by_value = if better == Better::Higher { by_value.reverse() } else { by_value };
        by_value.then(b.0.recall.total_cmp(&a.0.recall))
    });
    let mut best = f64::NEG_INFINITY;
    points.retain(|(row, _)| {
        let improves = row.recall > best;
        best = best.max(row.recall);
        improves
    });
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(preset: &str, list: u32, recall: f64, qps: f64) -> Row {
        let (preset, search, engine) = (preset.to_owned(), "beam".to_owned(), "glommio".to_owned());
        Row { preset, search, engine, threads: 2, in_flight: 1, list, recall, qps, ..Row::default() }
    }

    #[test]
    fn dominated_points_leave_the_front() {
        let rows = [
            row("a", 10, 0.80, 900.0),
            row("a", 20, 0.90, 500.0),
            row("a", 30, 0.89, 400.0),
            row("a", 40, 0.95, 500.0),
        ];
        let kept: Vec<u32> =
            front(&rows, |r| Some(r.qps), Better::Higher).iter().map(|(r, _)| r.list).collect();
        assert_eq!(kept, [10, 40]);
        let kept: Vec<u32> =
            front(&rows, |r| Some(1000.0 - r.qps), Better::Lower).iter().map(|(r, _)| r.list).collect();
        assert_eq!(kept, [10, 40]);
        assert!(front(&rows, |_| None, Better::Lower).is_empty());
    }

    #[test]
    fn labels_hold_what_differs() {
        let mut wide = row("a", 10, 0.8, 900.0);
        wide.threads = 1;
        let (series, shared) = group(&[row("a", 20, 0.8, 900.0), row("a", 10, 0.7, 900.0), wide]);
        let labels: Vec<&str> = series.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["a · 2 threads", "a · 1 thread"]);
        assert_eq!(shared, "beam · glommio · 1 in flight");
        assert_eq!(series[0].rows.iter().map(|r| r.list).collect::<Vec<_>>(), [10, 20]);
        assert!(group(&[]).0.is_empty());
    }
}
