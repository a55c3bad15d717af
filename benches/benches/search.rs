//! Processor time of a query on the memory map engine, over the SIFT sample: `cargo bench -p gleann-bench --bench search`.
//!
//! `end-to-end` is what the whole process spends, hand-over and answers included; `traversal` is the part that searches
//! report of themselves: codes, vectors, pool, graph. Their difference is the engine. There is no disk in either.

#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gleann::{
    BuildOptions, EngineChoice, Index, OpenOptions, SearchKind, SearchOptions, SearchResult, Width,
    process_cpu,
};
use gleann_vector::{Matrix, Silent, VectorFile};
use std::path::Path;
use std::time::Duration;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/sample/sift");

struct Bench {
    index: Index,
    queries: Matrix<u8>,
}

impl Bench {
    fn new(folder: &Path) -> Self {
        let open = |name: &str| VectorFile::open(Path::new(SAMPLE).join(name)).expect("the sample is there");
        let out = folder.join("index");
        gleann::build(&open("base.u8bin"), &out, &BuildOptions::default(), &Silent)
            .expect("the sample can be built");
        let options =
            OpenOptions { engine: EngineChoice::Mmap, threads: 1, in_flight: 1, ..OpenOptions::default() };
        let index = Index::open(&out, options).expect("it was just built");
        Self { index, queries: open("query.u8bin").read_all().expect("the sample is u8") }
    }

    fn search(&self, options: &SearchOptions) -> Vec<SearchResult> {
        let outcomes = self.index.search_batch(self.queries.as_slice(), 10, options);
        outcomes.into_iter().map(|outcome| outcome.expect("the query fits the index")).collect()
    }
}

fn all(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let bench = Bench::new(folder.path());
    let mut group = criterion.benchmark_group("search");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    group.throughput(Throughput::Elements(bench.queries.rows() as u64));
    for (kind, width) in [(SearchKind::Beam, Width::Fixed(4)), (SearchKind::Pipe, Width::DYNAMIC)] {
        for list in [20, 100] {
            let options = SearchOptions { list, kind, width, ..SearchOptions::default() };
            let name = format!("{kind}-{width}-list-{list}");
            let hops: u32 = bench.search(&options).iter().map(|result| result.stats.hops).sum();
            println!("{name}: {:.1} hops a query", f64::from(hops) / bench.queries.rows() as f64);
            group.bench_function(BenchmarkId::new("end-to-end", &name), |bencher| {
                bencher.iter_custom(|rounds| {
                    let before = process_cpu();
                    (0..rounds).for_each(|_| drop(bench.search(&options)));
                    process_cpu() - before
                });
            });
            group.bench_function(BenchmarkId::new("traversal", &name), |bencher| {
                bencher.iter_custom(|rounds| {
                    let spent = |results: Vec<SearchResult>| -> u64 {
                        results.iter().map(|result| result.stats.cpu_ns).sum()
                    };
                    Duration::from_nanos((0..rounds).map(|_| spent(bench.search(&options))).sum())
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
