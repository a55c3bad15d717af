//! Small indexes, brute force to hold them against, and a watchdog.

#![allow(dead_code)] // every test file uses a part of it

use gleann::{
    BuildOptions, Direct, Element, ElementType, EngineChoice, Hit, Index, Key, Metric, OpenOptions,
    build_from_rows,
};
use gleann_vector::{Matrix, Silent};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use tempfile::TempDir;

pub mod child;

/// What reads pages, once each.
pub const ENGINES: [EngineChoice; 3] = [EngineChoice::Glommio, EngineChoice::Pool, EngineChoice::Mmap];

/// A directory on the disk that holds the build, not on one in memory.
pub fn disk_dir() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Vectors, and the index of them.
pub struct Built<T: Element> {
    pub rows: Matrix<T>,
    pub metric: Metric,
    pub keys: Option<Vec<Key>>,
    dir: TempDir,
}

/// Options for small indexes.
pub fn small_options(metric: Metric, dim: usize) -> BuildOptions {
    BuildOptions {
        metric,
        degree: 16,
        build_list: 32,
        pq_bytes: dim.min(16),
        threads: 2,
        memory_budget: 1 << 30,
        ..BuildOptions::default()
    }
}

/// An index of `rows` clustered vectors.
pub fn built<T: Element>(metric: Metric, rows: usize, dim: usize) -> Built<T> {
    let options = small_options(metric, dim);
    built_with(clustered::<T>(rows, dim, 7), options, disk_dir())
}

/// An index of the given vectors, in the given place.
pub fn built_with<T: Element>(rows: Matrix<T>, options: BuildOptions, dir: TempDir) -> Built<T> {
    let (metric, keys) = (options.metric, options.keys.clone());
    build_from_rows(&rows, &dir.path().join("index"), &options, &Silent).unwrap();
    Built { rows, metric, keys, dir }
}

impl<T: Element> Built<T> {
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    pub fn open(&self, engine: EngineChoice) -> Index {
        Index::open(self.path(), with_engine(engine)).unwrap()
    }

    /// The `k` nearest by brute force, on the user scale, computed in f64.
    pub fn truth(&self, query: &[T], k: usize) -> Vec<(Key, f64)> {
        let distance = |row: usize| user_distance(self.metric, query, self.rows.row(row));
        let mut all: Vec<(Key, f64)> =
            (0..self.rows.rows()).map(|row| (self.key(row), distance(row))).collect();
        let sign = if self.metric == Metric::InnerProduct { -1.0 } else { 1.0 };
        all.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)).then(a.0.cmp(&b.0)));
        all.truncate(k);
        all
    }

    pub fn key(&self, row: usize) -> Key {
        self.keys.as_ref().map_or(row as Key, |keys| keys[row])
    }

    /// The row that has a key.
    pub fn row_of(&self, key: Key) -> &[T] {
        let row = match &self.keys {
            Some(keys) => keys.iter().position(|&other| other == key).expect("a key that was given"),
            None => key as usize,
        };
        self.rows.row(row)
    }

    /// Holds one result against the rules that every result keeps.
    pub fn check_hits(&self, query: &[T], k: usize, hits: &[Hit]) {
        assert_eq!(hits.len(), k.min(self.rows.rows()), "number of results");
        let mut keys: Vec<Key> = hits.iter().map(|hit| hit.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), hits.len(), "unique keys");
        for pair in hits.windows(2) {
            let sorted = match self.metric {
                Metric::InnerProduct => pair[0].distance >= pair[1].distance,
                Metric::L2 | Metric::Cosine => pair[0].distance <= pair[1].distance,
            };
            assert!(sorted, "{hits:?} are not sorted under {}", self.metric);
        }
        for hit in hits {
            let exact = user_distance(self.metric, query, self.row_of(hit.key));
            let slack = if T::TYPE.is_integer_like() && self.metric != Metric::Cosine { 0.0 } else { 1e-4 };
            let close = (f64::from(hit.distance) - exact).abs() <= slack * exact.abs().max(1.0);
            assert!(close, "key {}: {} is reported, {exact} is right", hit.key, hit.distance);
        }
    }

    /// Share of the true nearest that `hits` has, by distance.
    pub fn recall(&self, query: &[T], hits: &[Hit]) -> f64 {
        let truth = self.truth(query, hits.len());
        let found = hits.iter().filter(|hit| truth.iter().any(|(key, _)| *key == hit.key)).count();
        found as f64 / truth.len().max(1) as f64
    }
}

trait IntegerLike {
    fn is_integer_like(&self) -> bool;
}

impl IntegerLike for ElementType {
    fn is_integer_like(&self) -> bool {
        matches!(self, ElementType::U8 | ElementType::I8)
    }
}

/// What the documentation of the metrics promises users, in f64.
pub fn user_distance<T: Element>(metric: Metric, a: &[T], b: &[T]) -> f64 {
    let dot = |a: &[T], b: &[T]| -> f64 {
        a.iter().zip(b).map(|(x, y)| f64::from(x.to_f32()) * f64::from(y.to_f32())).sum()
    };
    match metric {
        Metric::L2 => {
            a.iter().zip(b).map(|(x, y)| (f64::from(x.to_f32()) - f64::from(y.to_f32())).powi(2)).sum()
        }
        Metric::InnerProduct => dot(a, b),
        Metric::Cosine => {
            let norms = dot(a, a) * dot(b, b);
            if norms == 0.0 { 2.0 } else { 2.0 - 2.0 * dot(a, b) / norms.sqrt() }
        }
    }
}

/// Rows around a few centres, inside the range of every element type.
pub fn clustered<T: Element>(rows: usize, dim: usize, seed: u64) -> Matrix<T> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let base = if T::TYPE == ElementType::U8 { 128.0f32 } else { 0.0 };
    let centres: Vec<Vec<f32>> =
        (0..8).map(|_| (0..dim).map(|_| random.random_range(-60.0..60.0)).collect()).collect();
    let mut matrix = Matrix::<T>::zeroed(rows, dim);
    for row in 0..rows {
        let centre = &centres[random.random_range(0..centres.len())];
        for (place, middle) in matrix.row_mut(row).iter_mut().zip(centre) {
            *place = whole(base + middle + random.random_range(-40.0f32..40.0));
        }
    }
    matrix
}

/// The nearest whole number, which every element type can hold.
fn whole<T: Element>(value: f32) -> T {
    T::from_f32(value.round()).expect("inside the range of every type")
}

/// Queries drawn like the rows of [`built`].
pub fn queries<T: Element>(count: usize, dim: usize) -> Matrix<T> {
    // The centres come first in the stream of the seed, so the same seed gives the same clusters.
    let all = clustered::<T>(count + 37, dim, 7);
    let mut random = Pcg64Mcg::seed_from_u64(99);
    let mut queries = Matrix::<T>::zeroed(count, dim);
    for row in 0..count {
        for (place, x) in queries.row_mut(row).iter_mut().zip(all.row(row + 37)) {
            *place = whole(x.to_f32() + random.random_range(-5.0f32..5.0));
        }
    }
    queries
}

/// The default options with another engine.
pub fn with_engine(engine: EngineChoice) -> OpenOptions {
    OpenOptions { engine, direct: Direct::Prefer, ..OpenOptions::default() }
}

/// Ends the process if it lives longer than a minute: what hangs shall fail, and say where.
pub struct Watchdog {
    _alive: std::sync::mpsc::Sender<()>,
}

pub fn watchdog(name: &'static str) -> Watchdog {
    let (alive, watched): (_, Receiver<()>) = channel();
    std::thread::spawn(move || {
        if watched.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            let _ = writeln!(std::io::stderr(), "{name} hangs");
            std::process::abort();
        }
    });
    Watchdog { _alive: alive }
}

/// Copies the files of an index into a new directory.
pub fn copy_index(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Runs a future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
