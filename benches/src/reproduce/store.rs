//! What was measured, one line each, kept beside the indexes: what is there is not measured again, whichever experiment
//! asks for it.

use crate::row::append_lines;
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Results by what was measured and the round.
#[derive(Debug)]
pub struct Store<R> {
    path: PathBuf,
    points: BTreeMap<(String, u32), R>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line<R> {
    key: String,
    round: u32,
    row: R,
}

impl<R: Serialize + DeserializeOwned + Clone> Store<R> {
    /// Opens the store of a work folder in the file `name`; empty where nothing has been measured yet.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no point. A last line that was cut off is dropped: its point is
    /// measured again.
    pub fn open(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let mut points = BTreeMap::new();
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        for (number, line) in text.lines().enumerate() {
            let whole = number + 1 < text.lines().count() || text.ends_with('\n');
            match serde_json::from_str::<Line<R>>(line) {
                Ok(line) => drop(points.insert((line.key, line.round), line.row)),
                Err(_) if !whole => {
                    let kept = &text[..text.len() - line.len()];
                    std::fs::write(&path, kept)
                        .with_context(|| format!("cannot write {}", path.display()))?;
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("{}, line {}", path.display(), number + 1));
                }
            }
        }
        Ok(Self { path, points })
    }

    /// Whether a point has been measured in a round.
    pub fn has(&self, key: &str, round: u32) -> bool {
        self.points.contains_key(&(key.to_owned(), round))
    }

    /// Keeps a point.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, key: &str, round: u32, row: &R) -> Result<()> {
        append_lines(&self.path, &[Line { key: key.to_owned(), round, row: row.clone() }])?;
        self.points.insert((key.to_owned(), round), row.clone());
        Ok(())
    }

    /// A point in its first `rounds` rounds, as far as they were measured.
    pub fn rounds(&self, key: &str, rounds: u32) -> Vec<R> {
        (1..=rounds).filter_map(|round| self.points.get(&(key.to_owned(), round)).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn what_was_measured_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let row = |qps: f64| Row { qps, recall: 0.9, ..Row::default() };
        let mut store: Store<Row> = Store::open(folder.path(), "points.jsonl").unwrap();
        assert!(store.rounds("a", 3).is_empty());
        store.add("a", 1, &row(100.5)).unwrap();
        store.add("a", 2, &row(300.5)).unwrap();
        store.add("b", 1, &row(7.5)).unwrap();

        let path = folder.path().join("points.jsonl");
        let whole = std::fs::read_to_string(&path).unwrap();
        // Killed while it wrote.
        std::fs::write(&path, format!("{whole}{{\"key\":\"b\",\"rou")).unwrap();
        let store: Store<Row> = Store::open(folder.path(), "points.jsonl").unwrap();
        assert!(store.has("a", 2) && !store.has("a", 3) && store.has("b", 1) && !store.has("b", 2));
        let qps = |rounds| store.rounds("a", rounds).iter().map(|row| row.qps).collect::<Vec<_>>();
        assert_eq!((qps(2), qps(1)), (vec![100.5, 300.5], vec![100.5]));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);

        std::fs::write(&path, format!("nonsense\n{whole}")).unwrap();
        assert!(
            format!("{:#}", Store::<Row>::open(folder.path(), "points.jsonl").unwrap_err())
                .contains("line 1")
        );
    }
}
