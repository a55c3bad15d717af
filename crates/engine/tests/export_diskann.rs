//! What an index becomes as files of DiskANN, and that it comes back as it was.
#![allow(clippy::unwrap_used)]

mod building;
mod foreign;

use building::{assert_sound, build_sound, clustered, file, graph, options};
use gleann::{BuildOptions, DiskAnnFiles, ExportOptions, GraphSource, build_from_graph, export_diskann};
use gleann_storage::IndexDirectory;
use gleann_vector::{Element, ElementType, Metric, Silent};
use std::path::Path;

const ROWS: usize = 400;

fn built<T: Element>(dir: &Path, options: &BuildOptions) -> std::path::PathBuf {
    let out = dir.join("index");
    build_sound(&file(dir, &clustered::<T>(ROWS, 24, 9)), &out, options);
    out
}

fn codes(out: &Path) -> Vec<u8> {
    IndexDirectory::open(out).unwrap().codes().unwrap().unwrap().as_slice().to_vec()
}

fn vectors<T: Element>(out: &Path) -> Vec<T> {
    let mut all = Vec::new();
    let index = IndexDirectory::open(out).unwrap();
    let read = index
        .graph()
        .unwrap()
        .for_each_record(&Silent, |_, record| all.extend_from_slice(record.vector::<T>()));
    read.unwrap();
    all
}

/// Exports, imports, and returns the second index.
fn round_trip(dir: &Path, out: &Path) -> (std::path::PathBuf, GraphSource) {
    let prefix = dir.join("ann");
    export_diskann(out, &prefix, &ExportOptions::default(), &Silent).unwrap();
    let source = GraphSource::from_diskann(&DiskAnnFiles::new(&prefix)).unwrap();
    let back = dir.join("back");
    build_from_graph(&source, &back, &source.options(), &Silent).unwrap();
    assert_sound(&back, ROWS as u64);
    (back, source)
}

#[test]
fn an_export_comes_back_as_it_was() {
    fn check<T: Element>() {
        let dir = tempfile::tempdir().unwrap();
        let out = built::<T>(dir.path(), &options(Metric::L2));
        let (back, source) = round_trip(dir.path(), &out);
        assert_eq!((source.element(), source.notes().len()), (T::TYPE, 0), "{:?}", source.notes());
        assert_eq!(graph(&back), graph(&out));
        assert_eq!(vectors::<T>(&back), vectors::<T>(&out));
        assert_eq!(codes(&back), codes(&out));
    }
    check::<f32>();
    check::<u8>();
    check::<i8>();
}

#[test]
fn cosine_and_half_floats_come_back_but_for_their_form() {
    let dir = tempfile::tempdir().unwrap();
    let out = built::<f32>(dir.path(), &options(Metric::Cosine));
    let (back, source) = round_trip(dir.path(), &out);
    assert_eq!((source.options().metric, source.notes().len()), (Metric::Cosine, 0), "{:?}", source.notes());
    assert_eq!((graph(&back), codes(&back)), (graph(&out), codes(&out)));
    for row in vectors::<f32>(&back).chunks_exact(24) {
        assert!((row.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
    }
    let dir = tempfile::tempdir().unwrap();
    let out = built::<half::f16>(dir.path(), &options(Metric::L2));
    let (back, source) = round_trip(dir.path(), &out);
    assert_eq!(source.element(), ElementType::F32);
    let wide: Vec<f32> = vectors::<half::f16>(&out).iter().map(|x| x.to_f32()).collect();
    assert_eq!((vectors::<f32>(&back), graph(&back), codes(&back)), (wide, graph(&out), codes(&out)));
}

#[test]
fn inner_product_comes_back_within_the_rounding_of_its_scale() {
    let dir = tempfile::tempdir().unwrap();
    let out = built::<f32>(dir.path(), &options(Metric::InnerProduct));
    let (back, source) = round_trip(dir.path(), &out);
    assert_eq!((source.dim(), source.options().metric), (24, Metric::InnerProduct));
    assert!(source.keeps_codebook(&source.options()), "{:?}", source.notes());
    assert_eq!(graph(&back), graph(&out));
    for (there, here) in vectors::<f32>(&back).iter().zip(vectors::<f32>(&out)) {
        assert!((there - here).abs() <= 1e-4, "{there} {here}");
    }
    let (there, here) = (codes(&back), codes(&out));
    let other = there.iter().zip(&here).filter(|(a, b)| a != b).count();
    assert!(there.len() == here.len() && other * 100 <= here.len(), "{other} of {} codes differ", here.len());
}

#[test]
fn header_and_nodes_are_where_diskann_looks() {
    let dir = tempfile::tempdir().unwrap();
    let out = built::<u8>(dir.path(), &options(Metric::L2));
    let prefix = dir.path().join("ann");
    let report = export_diskann(&out, &prefix, &ExportOptions::default(), &Silent).unwrap();
    assert_eq!((report.rows, report.dim, report.metric, report.notes.len()), (400, 24, "l2", 0));
    let disk = std::fs::read(&report.files[0]).unwrap();
    let number = |at: usize| u64::from_le_bytes(disk[at..at + 8].try_into().unwrap());
    let manifest = IndexDirectory::open(&out).unwrap().manifest().clone();
    let node_bytes = 24 + 4 + 4 * 16;
    let per_sector = 4096 / node_bytes;
    assert_eq!(disk.len(), 4096 * (1 + 400usize.div_ceil(per_sector)));
    assert_eq!(number(0), 9 | 1 << 32);
    let entry = u64::from(manifest.entry.unwrap().0);
    let expected = [400, 24, entry, node_bytes as u64, per_sector as u64, 0, 0, 0, disk.len() as u64];
    assert_eq!((0..9).map(|i| number(8 + 8 * i)).collect::<Vec<_>>(), expected);
    let at = 4096 * (1 + 123 / per_sector) + 123 % per_sector * node_bytes;
    assert_eq!(disk[at..at + 24], vectors::<u8>(&out)[123 * 24..][..24]);
    let word = |at: usize| u32::from_le_bytes(disk[at..at + 4].try_into().unwrap());
    let degree = word(at + 24) as usize;
    let list: Vec<u32> = (0..degree).map(|i| word(at + 28 + 4 * i)).collect();
    assert_eq!(list, graph(&out).neighbours(123));
    assert!(disk[at + 28 + 4 * degree..at + node_bytes].iter().all(|&byte| byte == 0));
}

#[test]
fn rows_are_in_the_order_of_keys_and_keys_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let keys: Vec<u64> = (0..ROWS as u64).map(|row| (1 << 40) + row * 7 % 400).collect();
    let options = BuildOptions { keys: Some(keys.clone()), ..options(Metric::L2) };
    let out = built::<u8>(dir.path(), &options);
    let (back, _) = round_trip(dir.path(), &out);
    let index = IndexDirectory::open(&back).unwrap();
    let sorted: Vec<u64> = (0..ROWS as u64).map(|row| (1 << 40) + row).collect();
    assert_eq!(index.keys().unwrap().unwrap(), sorted);
    let (there, here) = (vectors::<u8>(&back), vectors::<u8>(&out));
    for (row, key) in keys.iter().enumerate() {
        let rank = (key - (1 << 40)) as usize;
        assert_eq!(there[rank * 24..][..24], here[row * 24..][..24], "key {key}");
    }
}

#[test]
fn files_are_not_replaced_unasked_nor_mixed() {
    let dir = tempfile::tempdir().unwrap();
    let out = built::<u8>(dir.path(), &options(Metric::L2));
    let prefix = dir.path().join("ann");
    let export = |overwrite| export_diskann(&out, &prefix, &ExportOptions { overwrite, threads: 1 }, &Silent);
    export(false).unwrap();
    let error = export(false).unwrap_err().to_string();
    assert!(error.contains("ann_disk.index: is there already"), "{error}");
    let norm = foreign::put(&prefix, "_disk.index_max_base_norm.bin", b"old");
    export(true).unwrap();
    assert!(!norm.exists());
    foreign::put(&prefix, "_mem.index", b"");
    let error = export(true).unwrap_err().to_string();
    assert!(error.contains("_mem.index: belongs to another index"), "{error}");
}
