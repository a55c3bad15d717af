//! The memory budget is kept, and what it costs in recall.
#![allow(clippy::unwrap_used)]

mod building;

use building::{build_sound, clustered, file, graph, options, recall};
use gleann::{BuildOptions, CodePlacement, GraphPlan, MemGraphOptions, Packing, Sampling, build};
use gleann_vector::{Matrix, Metric, RowSource, Silent, VectorFile};
use std::path::{Path, PathBuf};
use std::process::Command;

const PLACE: &str = "GLEANN_TEST_MEMORY";
/// Less than the vectors take.
const BUDGET: u64 = 25 << 20;
/// What the test program itself takes, well below the 64 MiB that are allowed beside the budget.
const PROGRAM: u64 = 10 << 20;

/// With what takes most memory in the phases after the graph: an order of its own, and codes in records.
fn frugal() -> BuildOptions {
    let mem_graph =
        Some(MemGraphOptions { sampling: Sampling::Clustered, share: 0.05, ..MemGraphOptions::default() });
    BuildOptions {
        memory_budget: BUDGET,
        degree: 12,
        build_list: 16,
        packing: Packing::PageShuffle,
        codes: CodePlacement::Record,
        mem_graph,
        page_size: 16384,
        ..options(Metric::L2)
    }
}

#[test]
fn the_budget_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    // 31 MiB of vectors: whoever reads them all at once is found out.
    let mut rows = clustered::<f32>(16_000, 512, 19);
    for row in 0..rows.rows() {
        // Few centroids in all chunks but the last: the codebook is not what is tested, and takes most of the time.
        rows.row_mut(row)[..448].fill((row % 16) as f32);
    }
    let source = file(dir.path(), &rows);
    drop(rows);
    let plan = frugal().plan(&source, &dir.path().join("index")).unwrap();
    assert!(matches!(plan.graph, GraphPlan::Sharded { .. }), "{plan:?}");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build_within_the_budget", "--ignored", "--nocapture"])
        .env(PLACE, dir.path())
        .status();
    assert!(status.unwrap().success(), "see above");
}

#[test]
#[ignore = "run by the_budget_is_kept, in a process of its own"]
fn build_within_the_budget() {
    let place = PathBuf::from(std::env::var_os(PLACE).expect("run by the_budget_is_kept"));
    let source = VectorFile::open(place.join("data.fbin")).unwrap();
    let report = build(&source, &place.join("index"), &frugal(), &Silent).unwrap();
    assert!(report.shards >= 3);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = report.peak_rss_bytes;
    assert!(peak > 10 << 20, "nothing was measured: {status}");
    for phase in &report.phases {
        println!("{} {} MiB", phase.phase.name(), phase.peak_rss_bytes >> 20);
    }
    assert!(peak <= BUDGET + PROGRAM, "{peak} bytes at peak, {BUDGET} allowed: {report:?}");
}

#[test]
fn shards_cost_little_recall() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/sample/sift");
    let source = VectorFile::open(sample.join("base.u8bin")).unwrap().slice(0, 5_000).unwrap();
    let rows = source.read_all::<u8>().unwrap();
    let all = VectorFile::open(sample.join("query.u8bin")).unwrap();
    let mut queries = Matrix::<u8>::zeroed(300, rows.dim());
    all.source::<u8>().unwrap().read_rows(0, queries.as_mut_slice()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let whole = BuildOptions { degree: 24, build_list: 36, ..options(Metric::L2) };
    let shards = BuildOptions { memory_budget: 20 << 20, ..whole.clone() };
    let plan = shards.plan(&source, &dir.path().join("shards")).unwrap();
    assert_eq!(plan.graph, GraphPlan::Sharded { shards: 8, capacity: 1500 });
    let [whole, shards] = [("whole", whole), ("shards", shards)].map(|(name, options)| {
        let out = dir.path().join(name);
        build_sound(&source, &out, &options);
        recall(&rows, &queries, &graph(&out), 40)
    });
    println!("recall {whole} at once, {shards} in shards");
    assert!(whole > 0.95 && shards >= whole - 0.005, "{whole} at once, {shards} in shards");
}
