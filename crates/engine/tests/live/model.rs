//! Live indexes of two backends, and a map to hold them against.

use crate::support::{clustered, disk_dir, small_options};
use gleann::{
    Backend, Delete, Durability, Element, EngineChoice, Hit, Index, Insert, Metric, OpenOptions,
    SearchOptions, UpdateOptions, Upsert, build_from_rows, make_live,
};
use gleann_vector::Silent;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const DIM: usize = 16;
pub const BACKENDS: [Backend; 2] = [Backend::Fresh, Backend::Odin];

/// A directory with a live index of `rows` clustered vectors under the keys 0, 1, …
pub fn made_live<T: Element>(rows: usize, backend: Backend) -> (TempDir, PathBuf, Model<T>) {
    let dir = disk_dir();
    let path = dir.path().join("index");
    let vectors = clustered::<T>(rows, DIM, 7);
    build_from_rows(&vectors, &path, &small_options(Metric::L2, DIM), &Silent).unwrap();
    make_live(&path, backend).unwrap();
    let model = (0..rows).map(|row| (row as u64, vectors.row(row).to_vec())).collect();
    (dir, path, Model(model))
}

/// Two cores that search, without waits for groups.
pub fn options(engine: EngineChoice) -> OpenOptions {
    let updates = UpdateOptions { durability: Durability::None, ..UpdateOptions::default() };
    OpenOptions { engine, threads: 2, pin: false, updates, ..OpenOptions::default() }
}

pub fn open(path: &Path) -> Index {
    Index::open(path, options(EngineChoice::Auto)).unwrap()
}

/// Vectors that no build has seen.
pub fn new_vectors<T: Element>(count: usize, seed: u64) -> Vec<Vec<T>> {
    let rows = clustered::<T>(count, DIM, seed);
    (0..count).map(|row| rows.row(row).to_vec()).collect()
}

/// A pool so long that a search looks at everything.
pub fn everything(n: usize) -> SearchOptions {
    SearchOptions { list: n.max(100) + 50, ..SearchOptions::default() }
}

/// Which keys there are, and their vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Model<T>(pub BTreeMap<u64, Vec<T>>);

impl<T: Element> Model<T> {
    pub fn insert(&mut self, index: &Index, key: u64, vector: &[T]) {
        let expected = if self.0.contains_key(&key) { Insert::AlreadyExists } else { Insert::Inserted };
        assert_eq!(index.insert(key, vector).unwrap(), expected, "insert {key}");
        self.0.entry(key).or_insert_with(|| vector.to_vec());
    }

    pub fn upsert(&mut self, index: &Index, key: u64, vector: &[T]) {
        let replaced = self.0.insert(key, vector.to_vec()).is_some();
        let expected = if replaced { Upsert::Replaced } else { Upsert::Inserted };
        assert_eq!(index.upsert(key, vector).unwrap(), expected, "upsert {key}");
    }

    pub fn delete(&mut self, index: &Index, key: u64) {
        let expected = if self.0.remove(&key).is_some() { Delete::Deleted } else { Delete::NotFound };
        assert_eq!(index.delete(key).unwrap(), expected, "delete {key}");
    }

    /// Holds the index against the model: counts, every vector, and a search that looks at everything.
    pub fn check(&self, index: &Index, context: &str) {
        let live = index.live_stats().unwrap().figures.live;
        assert_eq!(live, self.0.len() as u64, "{context}: the number of vectors");
        for (key, vector) in &self.0 {
            assert_eq!(index.get::<T>(*key).unwrap().as_ref(), Some(vector), "{context}: key {key}");
        }
        let query = new_vectors::<T>(1, 5).remove(0);
        let found = index.search(&query, self.0.len() + 5, &everything(2 * self.0.len())).unwrap();
        let found: Vec<u64> = found.hits.iter().map(|hit| hit.key).collect();
        assert_eq!(sorted(&found), self.0.keys().copied().collect::<Vec<_>>(), "{context}: everything");
    }

    /// Share of the ten nearest that searches find.
    pub fn recall(&self, index: &Index, queries: &[Vec<T>]) -> f64 {
        let mut found = 0;
        for query in queries {
            let hits = index.search(query, 10, &SearchOptions::default()).unwrap().hits;
            let truth = self.nearest(query, 10);
            found += hits.iter().filter(|hit| f64::from(hit.distance) <= truth[truth.len() - 1]).count();
        }
        found as f64 / (10 * queries.len()) as f64
    }

    /// The distances of the `k` nearest.
    pub fn nearest(&self, query: &[T], k: usize) -> Vec<f64> {
        let mut all: Vec<f64> = self.0.values().map(|vector| distance(query, vector)).collect();
        all.sort_by(f64::total_cmp);
        all.truncate(k);
        all
    }
}

pub fn distance<T: Element>(a: &[T], b: &[T]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (f64::from(x.to_f32()) - f64::from(y.to_f32())).powi(2)).sum()
}

/// Ascending, and every key once.
pub fn sorted(keys: &[u64]) -> Vec<u64> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), keys.len(), "a key is there twice");
    sorted
}

/// What every result keeps, whatever happens meanwhile. What is deleted or replaced while a search runs may leave a gap.
pub fn check_hits(hits: &[Hit], k: usize) {
    assert!((k - 3..=k).contains(&hits.len()), "{} hits of {k}", hits.len());
    sorted(&hits.iter().map(|hit| hit.key).collect::<Vec<_>>());
    assert!(hits.windows(2).all(|pair| pair[0].distance <= pair[1].distance), "{hits:?}");
}
