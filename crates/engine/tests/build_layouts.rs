//! Every packing with every place for codes: the same answers, whatever lies where.
#![allow(clippy::unwrap_used)]

mod building;
mod support;

use building::{StopAt, build_sound, file, files};
use gleann::{
    BuildError, BuildOptions, BuildReport, CodePlacement, EngineChoice, Index, Metric, Packing,
    SearchOptions, build,
};
use gleann_storage::{IndexDirectory, MemberKind};
use gleann_vector::{Element, Matrix, VectorFile};
use std::path::Path;
use support::{clustered, queries, small_options, user_distance, with_engine};

const ROWS: usize = 1000;
const DIM: usize = 24;

fn layouts() -> impl Iterator<Item = (Packing, CodePlacement)> {
    Packing::ALL.into_iter().flat_map(|packing| CodePlacement::ALL.map(|codes| (packing, codes)))
}

fn laid_out(packing: Packing, codes: CodePlacement) -> BuildOptions {
    BuildOptions { packing, codes, ..small_options(Metric::L2, DIM) }
}

fn exact() -> SearchOptions {
    SearchOptions { list: 60, ..SearchOptions::default() }
}

/// Keys and distances of the ten nearest of every query.
fn answers<T: Element>(out: &Path, queries: &Matrix<T>, options: &SearchOptions) -> Vec<Vec<(u64, f32)>> {
    let index = Index::open(out, with_engine(EngineChoice::Pool)).unwrap();
    let results = index.search_batch(queries.as_slice(), 10, options);
    let hits = |result: &gleann::SearchResult| {
        result.hits.iter().map(|hit| (hit.key, hit.distance)).collect::<Vec<_>>()
    };
    results.iter().map(|result| hits(result.as_ref().unwrap())).collect()
}

/// Share of the true ten nearest, each held against the row that its key names.
fn recall<T: Element>(
    rows: &Matrix<T>,
    queries: &Matrix<T>,
    found: &[Vec<(u64, f32)>],
    key: fn(u64) -> u64,
) -> f64 {
    let mut right = 0;
    for (query, hits) in found.iter().enumerate() {
        let query = queries.row(query);
        let mut truth: Vec<(f64, u64)> = (0..rows.rows())
            .map(|row| (user_distance(Metric::L2, query, rows.row(row)), row as u64))
            .collect();
        truth.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &(_, row) in &truth[..10] {
            let hit = hits.iter().find(|(found, _)| *found == key(row));
            if let Some(&(_, distance)) = hit {
                assert_eq!(f64::from(distance), user_distance(Metric::L2, query, rows.row(row as usize)));
                right += 1;
            }
        }
    }
    f64::from(right) / (10 * found.len()) as f64
}

/// What is there, and what is not.
fn expect_members(out: &Path, packing: Packing, codes: CodePlacement) {
    let index = IndexDirectory::open(out).unwrap();
    let manifest = index.manifest();
    assert_eq!(manifest.packing, packing);
    let has = |kind| manifest.member(kind).is_some();
    assert_eq!(has(MemberKind::Codebook), codes != CodePlacement::Off);
    assert_eq!(has(MemberKind::Codes), codes == CodePlacement::Memory);
    assert_eq!(has(MemberKind::Keys), packing == Packing::PageShuffle);
    let in_record = if codes == CodePlacement::Record { 16 } else { 0 };
    assert_eq!(manifest.layout.code_bytes(), in_record);
    let info = Index::open(out, with_engine(EngineChoice::Pool)).unwrap().info().clone();
    assert_eq!((info.packing, info.codes), (packing, codes));
}

#[test]
fn every_layout_answers_like_brute_force_on_every_page_size() {
    let _watchdog = support::watchdog("every_layout");
    let dir = support::disk_dir();
    let rows = clustered::<u8>(ROWS, DIM, 7);
    let source = file(dir.path(), &rows);
    let queries = queries::<u8>(20, DIM);
    for page_size in [4096, 8192, 16384] {
        let mut by_codes = Vec::new();
        for (packing, codes) in layouts() {
            let name = format!("{packing}-{codes}-{page_size}");
            let out = dir.path().join(&name);
            let options = BuildOptions { page_size, ..laid_out(packing, codes) };
            let report = build_sound(&source, &out, &options);
            expect_members(&out, packing, codes);
            let found = answers(&out, &queries, &exact());
            let recall = recall(&rows, &queries, &found, |row| row);
            assert!(recall >= 0.95, "{name}: recall {recall}");
            expect_overlap(&report, packing, &name);
            by_codes.push((codes, found));
        }
        // The same graph and the same estimates: the same search, wherever vectors and codes lie.
        by_codes.retain(|(codes, _)| *codes != CodePlacement::Off);
        for (codes, found) in &by_codes {
            assert!(*found == by_codes[0].1, "codes in {codes}, pages of {page_size}");
        }
    }
}

fn expect_overlap(report: &BuildReport, packing: Packing, name: &str) {
    let overlap = report.overlap_ratio.unwrap();
    match packing {
        Packing::ById => assert_eq!((report.overlap_by_id, report.overlap_greedy), (None, None), "{name}"),
        Packing::PageShuffle => {
            let (before, greedy) = (report.overlap_by_id.unwrap(), report.overlap_greedy.unwrap());
            assert!(overlap > 1.2 * greedy && greedy > before, "{name}: {before}, {greedy}, {overlap}");
        }
    }
    assert_eq!(report.record_growth > 1.0, name.contains("record"), "{name}: {}", report.record_growth);
}

#[test]
fn the_user_keys_stay() {
    let dir = support::disk_dir();
    let rows = clustered::<u8>(ROWS, DIM, 7);
    let queries = queries::<u8>(10, DIM);
    let source = file(dir.path(), &rows);
    let key = |row: u64| 1_000_000_007 * (row + 1);
    let keys: Vec<u64> = (0..ROWS as u64).map(key).collect();
    for (packing, codes) in layouts() {
        let out = dir.path().join(format!("{packing}-{codes}"));
        build_sound(&source, &out, &BuildOptions { keys: Some(keys.clone()), ..laid_out(packing, codes) });
        let recall = recall(&rows, &queries, &answers(&out, &queries, &exact()), key);
        assert!(recall >= 0.95, "{packing}, {codes}: recall {recall}");
        let mut stored = IndexDirectory::open(&out).unwrap().keys().unwrap().unwrap();
        assert_eq!(stored == keys, packing == Packing::ById);
        stored.sort_unstable();
        assert_eq!(stored, keys);
    }
}

/// The same codes give the same search, in the order of rows, where equal estimates are told apart by the same ids.
#[test]
fn codes_in_records_find_what_codes_in_memory_find() {
    let dir = support::disk_dir();
    let rows = clustered::<i8>(ROWS, DIM, 7);
    let source = file(dir.path(), &rows);
    let queries = queries::<i8>(50, DIM);
    let [memory, record] = [CodePlacement::Memory, CodePlacement::Record].map(|codes| {
        let out = dir.path().join(codes.name());
        build_sound(&source, &out, &BuildOptions { pq_bytes: 4, ..laid_out(Packing::ById, codes) });
        out
    });
    for list in [10, 14, 20, 40] {
        let options = SearchOptions { list, ..SearchOptions::default() };
        let [a, b] = [&memory, &record].map(|out| answers(out, &queries, &options));
        let recalls = [&a, &b].map(|found| recall(&rows, &queries, found, |row| row));
        assert!(a == b, "L = {list}: recall {recalls:?} from memory and from records");
    }
    let [a, b] = [&memory, &record]
        .map(|out| Index::open(out, with_engine(EngineChoice::Pool)).unwrap().info().memory_bytes);
    assert_eq!(a - b, 4 * ROWS as u64, "the codes' memory is what records save");
}

#[test]
fn few_rows_and_one_record_a_page_have_every_layout() {
    let wide = clustered::<f32>(40, 1100, 7);
    for rows in [&Matrix::<f32>::zeroed(0, 8), &clustered::<f32>(1, 8, 7), &clustered::<f32>(13, 8, 7), &wide]
    {
        let dir = support::disk_dir();
        let source = file(dir.path(), rows);
        for (packing, codes) in layouts() {
            let out = dir.path().join(format!("{packing}-{codes}"));
            let options = BuildOptions { pq_bytes: 4, ..laid_out(packing, codes) };
            build_sound(&source, &out, &options);
            let index = Index::open(&out, with_engine(EngineChoice::Pool)).unwrap();
            for row in 0..rows.rows().min(3) {
                let result = index.search(rows.row(row), 1, &exact()).unwrap();
                assert_eq!(
                    (result.hits[0].key, result.hits[0].distance),
                    (row as u64, 0.0),
                    "{packing}, {codes}"
                );
            }
        }
    }
}

#[test]
fn every_metric_is_packed() {
    for metric in [Metric::InnerProduct, Metric::Cosine] {
        for codes in CodePlacement::ALL {
            let dir = support::disk_dir();
            let options = BuildOptions { metric, ..laid_out(Packing::PageShuffle, codes) };
            let built = support::built_with(clustered::<f32>(400, DIM, 7), options, dir);
            let index = built.open(EngineChoice::Pool);
            let queries = queries::<f32>(10, DIM);
            let mut recall = 0.0;
            for query in 0..queries.rows() {
                let result = index.search(queries.row(query), 10, &exact()).unwrap();
                built.check_hits(queries.row(query), 10, &result.hits);
                recall += built.recall(queries.row(query), &result.hits) / queries.rows() as f64;
            }
            assert!(recall > 0.9, "{metric}, {codes}: {recall}");
        }
    }
}

#[test]
fn threads_and_interruptions_do_not_change_a_layout() {
    let dir = support::disk_dir();
    let source = file(dir.path(), &clustered::<u8>(300, DIM, 7));
    for (packing, codes) in layouts() {
        interrupt(dir.path(), &source, &laid_out(packing, codes));
    }
    let sharded = building::sharded(&laid_out(Packing::PageShuffle, CodePlacement::Record), &source);
    interrupt(&dir.path().join("sharded"), &source, &sharded);
}

/// Stops a build at its first phase, the continued build one phase later, and so on to the end.
fn interrupt(dir: &Path, source: &VectorFile, options: &BuildOptions) {
    let name = format!("{}-{}", options.packing, options.codes);
    let [expected, out] = ["expected", "stopped"].map(|what| dir.join(format!("{name}-{what}")));
    build_sound(source, &expected, &BuildOptions { threads: 1, ..options.clone() });
    let options = BuildOptions { threads: 3, ..options.clone() };
    let mut stops = 0;
    while let Err(error) = build(source, &out, &options, &StopAt::phase(stops + 1)) {
        assert!(matches!(error, BuildError::Cancelled { .. }), "{error}");
        stops += 1;
    }
    assert!(stops >= if options.codes == CodePlacement::Off { 4 } else { 7 }, "{name}: {stops} stops");
    building::assert_sound(&out, source.rows());
    assert!(files(&out) == files(&expected), "{name}");
}
