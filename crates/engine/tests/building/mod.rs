//! What the tests of the build share: data, builds, and a look at what came out.
#![allow(dead_code, clippy::unwrap_used)]

use gleann::{BuildOptions, GraphPlan, build, check_index};
use gleann_graph::{Graph, QueryTarget, Searcher};
use gleann_storage::{CodeFormat, IndexDirectory};
use gleann_vector::{
    Distance, Element, FileFormat, Matrix, Metric, Progress, Silent, VectorFile, VectorWriter,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pseudo-random numbers from 0 to 1, the same every time.
pub fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    })
}

/// `rows` rows in clusters, with components from −100 to 100.
pub fn clustered<T: Element>(rows: usize, dim: usize, seed: u64) -> Matrix<T> {
    let centres: Vec<f32> = numbers(seed + 1).take(16 * dim).collect();
    let mut noise = numbers(seed + 2);
    let least = if T::from_f32(-1.0).is_some() { -100.0 } else { 0.0 };
    let mut matrix = Matrix::zeroed(rows, dim);
    for row in 0..rows {
        let centre = &centres[(row * 7919 % 16) * dim..][..dim];
        for (x, centre) in matrix.row_mut(row).iter_mut().zip(centre) {
            let value = 0.7 * centre + 0.3 * noise.next().unwrap();
            *x = T::from_f32((least + value * (100.0 - least)).trunc()).unwrap();
        }
    }
    matrix
}

/// Writes `rows` as a big-ann file and opens it.
pub fn file<T: Element>(dir: &Path, rows: &Matrix<T>) -> VectorFile {
    let format = match size_of::<T>() {
        4 => FileFormat::Fbin,
        2 => FileFormat::F16bin,
        _ if T::from_f32(-1.0).is_some() => FileFormat::I8bin,
        _ => FileFormat::U8bin,
    };
    let path = dir.join(format!("data.{format}"));
    let mut writer = VectorWriter::<T>::create(&path, format, rows.dim()).unwrap();
    writer.push_rows(rows.as_slice()).unwrap();
    writer.finish().unwrap();
    VectorFile::open(&path).unwrap()
}

/// Small parameters.
pub fn options(metric: Metric) -> BuildOptions {
    BuildOptions { metric, degree: 16, build_list: 24, pq_bytes: 8, threads: 2, ..BuildOptions::default() }
}

/// `options` with the largest budget that makes a build of `source` sharded.
pub fn sharded(options: &BuildOptions, source: &VectorFile) -> BuildOptions {
    let with = |memory_budget| BuildOptions { memory_budget, ..options.clone() };
    let graph = |budget| with(budget).plan(source, Path::new("/nonexistent/index")).map(|plan| plan.graph);
    let (mut less, mut enough) = (1, 1 << 30);
    while enough - less > 1 {
        let middle = (less + enough) / 2;
        if matches!(graph(middle), Ok(GraphPlan::OneShot)) { enough = middle } else { less = middle }
    }
    assert!(matches!(graph(less), Ok(GraphPlan::Sharded { .. })), "{:?}", graph(less));
    with(less)
}

/// Builds and checks.
pub fn build_sound(source: &VectorFile, out: &Path, options: &BuildOptions) -> gleann::BuildReport {
    let report = build(source, out, options, &Silent).unwrap();
    assert_sound(out, source.rows());
    report
}

/// Nothing is wrong with the index, every vector can be reached, and no work is left.
pub fn assert_sound(out: &Path, rows: u64) {
    let check = check_index(out, &Silent).unwrap();
    assert_eq!(check.problems, []);
    let manifest = IndexDirectory::open(out).unwrap().manifest().clone();
    // The codes of records are those of neighbours, and a lone vector has none.
    let codes = match (manifest.codes, manifest.layout.code_bytes(), rows) {
        (CodeFormat::None, ..) | (_, 1.., 0..=1) => 0,
        _ => rows.min(10_000),
    };
    assert_eq!((check.records, check.reachable, check.codes_compared), (rows, Some(rows), codes));
    assert!(!out.join(".build").exists());
}

/// Every file but the report, by name.
pub fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    named
        .filter(|(name, _)| name != "build.json")
        .map(|(name, path)| (name, std::fs::read(path).unwrap()))
        .collect()
}

/// The graph of an index.
pub fn graph(out: &Path) -> Graph {
    let index = IndexDirectory::open(out).unwrap();
    let mut lists: Vec<Vec<u32>> = Vec::new();
    index
        .graph()
        .unwrap()
        .for_each_record(&Silent, |_, record| lists.push(record.neighbours().collect()))
        .unwrap();
    Graph::from_lists(&lists, index.manifest().layout.degree(), index.manifest().entry.map(|node| node.0))
}

/// Recall@10 of in-memory searches with a pool of `list`, against brute force.
pub fn recall<T: Element>(rows: &Matrix<T>, queries: &Matrix<T>, graph: &Graph, list: usize) -> f64 {
    let distance = Distance::<T>::new(Metric::L2, rows.dim());
    let mut searcher = Searcher::new();
    let mut found = 0;
    for query in 0..queries.rows() {
        let query = queries.row(query);
        let mut truth: Vec<(f32, u32)> =
            (0..rows.rows()).map(|id| (distance.between(query, rows.row(id)), id as u32)).collect();
        truth.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let target = QueryTarget { vectors: rows, distance: &distance, query };
        searcher.run(graph, &target, graph.entry().as_slice(), list);
        let nearest: Vec<u32> = searcher.found().iter().take(10).map(|result| result.id).collect();
        found += truth[..10].iter().filter(|(_, id)| nearest.contains(id)).count();
    }
    found as f64 / (10 * queries.rows()) as f64
}

/// Stops the work when its `stop`-th phase begins.
pub struct StopAt {
    stop: usize,
    begun: AtomicUsize,
}

impl StopAt {
    pub fn phase(stop: usize) -> Self {
        Self { stop, begun: AtomicUsize::new(0) }
    }
}

impl Progress for StopAt {
    fn phase(&self, _: &str, _: u64) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.begun.load(Ordering::Relaxed) >= self.stop
    }
}
