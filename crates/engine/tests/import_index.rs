//! Another layout of an index: the graph stays, whatever it goes through.
#![allow(clippy::unwrap_used)]

mod building;

use building::{assert_sound, build_sound, clustered, file, files, graph, options};
use gleann::{BuildOptions, CodePlacement, GraphSource, MemGraphOptions, Packing, build_from_graph};
use gleann_storage::IndexDirectory;
use gleann_vector::{Element, Metric, Silent};
use std::path::{Path, PathBuf};

const ROWS: usize = 500;

fn derive(from: &Path, to: &Path, change: impl FnOnce(BuildOptions) -> BuildOptions) -> PathBuf {
    let source = GraphSource::from_index(from).unwrap();
    let report = build_from_graph(&source, to, &change(source.options()), &Silent).unwrap();
    assert_eq!((report.unreachable, report.repaired), (0, 0));
    assert_sound(to, source.rows());
    to.to_owned()
}

#[test]
fn the_same_layout_is_the_same_index() {
    fn check<T: Element>(metric: Metric) {
        let dir = tempfile::tempdir().unwrap();
        let first = dir.path().join("first");
        build_sound(&file(dir.path(), &clustered::<T>(ROWS, 20, 5)), &first, &options(metric));
        let second = derive(&first, &dir.path().join("second"), |options| options);
        assert_eq!(graph(&second), graph(&first));
        let codes = |out: &Path| IndexDirectory::open(out).unwrap().codes().unwrap().unwrap();
        assert_eq!(codes(&second).as_slice(), codes(&first).as_slice());
        let [a, b] = [&first, &second].map(|out| IndexDirectory::open(out).unwrap().manifest().clone());
        assert_eq!((a.layout, a.metric, a.entry, a.nodes), (b.layout, b.metric, b.entry, b.nodes));
        assert_eq!(
            (a.parameters.alpha, a.parameters.build_list),
            (b.parameters.alpha, b.parameters.build_list)
        );
        // Where the graph is from counts, not the way it has gone.
        let third = derive(&second, &dir.path().join("third"), |options| options);
        assert_eq!(files(&third), files(&second));
    }
    check::<f32>(Metric::L2);
    check::<half::f16>(Metric::Cosine);
    check::<u8>(Metric::L2);
    check::<i8>(Metric::InnerProduct);
}

#[test]
fn pages_and_codes_change_and_the_way_there_does_not_matter() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("first");
    build_sound(&file(dir.path(), &clustered::<u8>(ROWS, 20, 5)), &first, &options(Metric::L2));
    let wide = |options| BuildOptions { page_size: 16384, pq_bytes: 5, ..options };
    let at_once = derive(&first, &dir.path().join("once"), wide);
    assert_eq!(IndexDirectory::open(&at_once).unwrap().manifest().layout.page_size(), 16384);
    let pages =
        derive(&first, &dir.path().join("pages"), |options| BuildOptions { page_size: 16384, ..options });
    let then_codes =
        derive(&pages, &dir.path().join("codes"), |options| BuildOptions { pq_bytes: 5, ..options });
    assert_eq!(files(&then_codes), files(&at_once));
    assert_eq!(graph(&at_once), graph(&first));
    // The codebook that is trained is the one that a build trains.
    let fresh = dir.path().join("fresh");
    build_sound(
        &file(dir.path(), &clustered::<u8>(ROWS, 20, 5)),
        &fresh,
        &BuildOptions { pq_bytes: 5, ..options(Metric::L2) },
    );
    let codes = |out: &Path| IndexDirectory::open(out).unwrap().codes().unwrap().unwrap();
    assert_eq!(codes(&at_once).as_slice(), codes(&fresh).as_slice());
}

#[test]
fn keys_stay_with_their_vectors_in_ascending_order() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = clustered::<u8>(ROWS, 20, 5);
    let source = file(dir.path(), &vectors);
    let build = |name: &str, keys: Vec<u64>| {
        let out = dir.path().join(name);
        build_sound(&source, &out, &BuildOptions { keys: Some(keys), ..options(Metric::L2) });
        let back = derive(&out, &dir.path().join(format!("{name}-back")), |options| options);
        (graph(&out), IndexDirectory::open(&back).unwrap(), graph(&back))
    };
    let keys: Vec<u64> = (0..ROWS as u64).map(|row| 1000 + row * 3 % 500 * 2).collect();
    let (before, index, after) = build("own", keys.clone());
    let sorted: Vec<u64> = (0..ROWS as u64).map(|row| 1000 + 2 * row).collect();
    assert_eq!(index.keys().unwrap().unwrap(), sorted);
    let rank = |row: usize| ((keys[row] - 1000) / 2) as u32;
    for row in 0..ROWS as u32 {
        let mapped: Vec<u32> = before.neighbours(row).iter().map(|&id| rank(id as usize)).collect();
        assert_eq!(after.neighbours(rank(row as usize)), mapped);
    }
    let read = index.graph().unwrap().for_each_record(&Silent, |node, record| {
        let row = keys.iter().position(|&key| key == sorted[node.0 as usize]).unwrap();
        assert_eq!(record.vector::<u8>(), vectors.row(row));
    });
    read.unwrap();
    // Row numbers in another order are row numbers again.
    let (_, index, _) = build("numbers", (0..ROWS as u64).map(|row| row * 3 % 500).collect());
    assert_eq!(index.keys().unwrap(), None);
}

#[test]
fn another_graph_and_a_damaged_source_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("first");
    build_sound(&file(dir.path(), &clustered::<u8>(ROWS, 20, 5)), &first, &options(Metric::L2));
    let source = GraphSource::from_index(&first).unwrap();
    let out = dir.path().join("out");
    for (options, expected) in [
        (
            BuildOptions { build_list: 99, ..source.options() },
            "build list is 99; expected 24, that of the graph",
        ),
        (BuildOptions { alpha: 1.5, ..source.options() }, "alpha is 1.5; expected 1.2"),
        (BuildOptions { passes: 1, ..source.options() }, "passes is 1"),
    ] {
        let error =
            build_from_graph(&source, &out, &options, &Silent).map(|_| ()).err().map(|e| e.to_string());
        let same = options == source.options();
        assert!(same || error.as_ref().is_some_and(|error| error.contains(expected)), "{error:?}");
    }
    let path = first.join("graph.gln");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096 + 700] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let damaged = GraphSource::from_index(&first).unwrap();
    let error = build_from_graph(&damaged, &dir.path().join("no"), &damaged.options(), &Silent).unwrap_err();
    assert!(error.to_string().contains("block 0 at byte 4096"), "{error}");
    let nothing = GraphSource::from_index(dir.path()).unwrap_err().to_string();
    assert!(nothing.contains("is not an index directory"), "{nothing}");
}

/// Every record by its key: vector, and the keys of its neighbours.
fn by_key(out: &Path) -> Vec<(Vec<u8>, Vec<u64>)> {
    let index = IndexDirectory::open(out).unwrap();
    let keys = index.keys().unwrap().unwrap_or_else(|| (0..ROWS as u64).collect());
    let mut records = vec![Default::default(); ROWS];
    let read = index.graph().unwrap().for_each_record(&Silent, |node, record| {
        let list = record.neighbours().map(|id| keys[id as usize]).collect();
        records[keys[node.0 as usize] as usize] = (record.vector::<u8>().to_vec(), list);
    });
    read.unwrap();
    records
}

#[test]
fn every_layout_is_reached_from_every_other() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("first");
    build_sound(&file(dir.path(), &clustered::<u8>(ROWS, 20, 5)), &first, &options(Metric::L2));
    let shuffled = |options| BuildOptions { packing: Packing::PageShuffle, ..options };
    let in_records = |options| BuildOptions { codes: CodePlacement::Record, ..shuffled(options) };
    let without = |options| BuildOptions { codes: CodePlacement::Off, ..options };
    let navigated = |options| {
        let mem_graph = Some(MemGraphOptions { share: 0.1, degree: 8, list: 16, ..Default::default() });
        BuildOptions { mem_graph, ..shuffled(options) }
    };
    let layouts: [(&str, &dyn Fn(BuildOptions) -> BuildOptions); 4] =
        [("shuffled", &shuffled), ("records", &in_records), ("without", &without), ("navigated", &navigated)];
    let plain = derive_unchecked(&first, &dir.path().join("plain"), |options| options);
    let records = by_key(&first);
    for (name, layout) in layouts {
        let there = derive_unchecked(&first, &dir.path().join(name), layout);
        assert_eq!(by_key(&there), records, "{name}");
        // An index without codes has no codebook to give: what is trained again is another build.
        let back = derive_unchecked(&there, &dir.path().join(format!("{name}-back")), |options| {
            BuildOptions { pq_bytes: 8, ..options }
        });
        match name {
            "without" => assert_eq!(files(&back)["graph.gln"][4096..], files(&plain)["graph.gln"][4096..]),
            _ => assert_eq!(files(&back), files(&plain), "{name}"),
        }
        let again = derive_unchecked(&there, &dir.path().join(format!("{name}-again")), layout);
        assert_eq!(files(&again), files(&there), "{name}");
    }
}

/// [`derive`] where codes may be elsewhere.
fn derive_unchecked(from: &Path, to: &Path, change: impl FnOnce(BuildOptions) -> BuildOptions) -> PathBuf {
    let source = GraphSource::from_index(from).unwrap();
    build_from_graph(&source, to, &change(source.options()), &Silent).unwrap();
    assert_eq!(gleann::check_index(to, &Silent).unwrap().problems, []);
    to.to_owned()
}

#[test]
fn an_empty_index_and_one_vector_have_other_layouts_too() {
    for rows in [0, 1] {
        let dir = tempfile::tempdir().unwrap();
        let first = dir.path().join("first");
        let data = gleann_vector::Matrix::<f32>::zeroed(rows, 20);
        gleann::build_from_rows(&data, &first, &options(Metric::L2), &Silent).unwrap();
        let there = derive_unchecked(&first, &dir.path().join("there"), |options| BuildOptions {
            packing: Packing::PageShuffle,
            page_size: 8192,
            ..options
        });
        assert_eq!(IndexDirectory::open(&there).unwrap().manifest().nodes, rows as u32);
        let exported = gleann::export_diskann(&there, &dir.path().join("ann"), &Default::default(), &Silent);
        match rows {
            0 => assert!(exported.unwrap_err().to_string().contains("it is empty")),
            _ => assert_eq!(exported.unwrap().rows, 1),
        }
    }
}
