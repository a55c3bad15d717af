//! `mem.graph`: what is written is read back, no damage goes unnoticed, and no count is believed that the length of
//! the file does not bear out.
#![allow(clippy::unwrap_used)]

mod frugal;
mod tiny;

use gleann_storage::{
    IndexDirectory, MemberKind, PointFormat, StorageError, StoredMemGraph, mem_graph_bytes, write_mem_graph,
};
use gleann_vector::Matrix;
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use tiny::{Tiny, check, masked};

const NAME: &str = "mem.graph";
/// Where the parts of [`graph`] of codes begin in its file: 5 ids, 5 codes of 8 bytes, 5 rows of 4 words.
const IDS: usize = 64 + 16;
const POINTS: usize = IDS + 20;
const LISTS: usize = POINTS + 40;
const END: usize = LISTS + 80;

/// Five of the fifteen nodes of a tiny index.
fn graph(format: PointFormat, shape: &Tiny) -> StoredMemGraph {
    let nodes = vec![0, 3, 7, 8, 14];
    let rows: Vec<Vec<u8>> = nodes
        .iter()
        .map(|&node| match format {
            PointFormat::Codes => shape.codes().row(node as usize).to_vec(),
            PointFormat::Vectors => shape.vector::<u8>(node),
        })
        .collect();
    let lists = [vec![1, 2, 3], vec![0, 4], vec![], vec![2], vec![1, 0, 2]];
    let row = |list: &Vec<u32>| [&[list.len() as u32][..], list, &vec![0; 3 - list.len()]].concat();
    StoredMemGraph {
        nodes,
        format,
        points: Matrix::from_rows(&rows.concat(), rows[0].len()),
        entry: Some(4),
        degree: 3,
        lists: lists.iter().flat_map(row).collect(),
    }
}

fn add(dir: &Path, graph: &StoredMemGraph) {
    let mut manifest = IndexDirectory::open(dir).unwrap().manifest().clone();
    manifest.members.push(write_mem_graph(dir, manifest.build_id, graph).unwrap());
    manifest.publish(dir).unwrap();
}

fn built_of(format: PointFormat, shape: &Tiny) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    shape.build::<u8>(dir.path()).unwrap();
    add(dir.path(), &graph(format, shape));
    dir
}

fn built() -> tempfile::TempDir {
    built_of(PointFormat::Codes, &Tiny::default())
}

fn load(dir: &Path) -> Result<StoredMemGraph, StorageError> {
    Ok(IndexDirectory::open(dir)?.mem_graph()?.expect("the manifest names it"))
}

fn assert_noticed(dir: &Path, what: &str) {
    let error = load(dir).expect_err(what).to_string();
    assert!(error.contains(NAME), "{what}: {error}");
    let problems = check(dir);
    assert!(problems.iter().any(|problem| problem.contains(NAME)), "{what}: {problems:?}");
}

/// Changes the file and makes the checksums of header and manifest right again.
fn forge(dir: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let path = dir.join(NAME);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    let length = bytes.len() as u64;
    bytes[32..40].copy_from_slice(&(length - 64).to_le_bytes());
    let payload = crc32c::crc32c(&bytes[64..]);
    bytes[44..48].copy_from_slice(&payload.to_le_bytes());
    let header = masked(crc32c::crc32c(&bytes[..60]));
    bytes[60..64].copy_from_slice(&header.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let mut manifest = IndexDirectory::open(dir).map(|index| index.manifest().clone());
    if let Err(StorageError::Field { .. }) = manifest {
        manifest = gleann_storage::Manifest::read(dir);
    }
    let mut manifest = manifest.unwrap();
    let entry = manifest.members.iter_mut().find(|entry| entry.kind == MemberKind::MemGraph).unwrap();
    (entry.bytes, entry.crc32c) = (length, crc32c::crc32c(&bytes));
    manifest.publish(dir).unwrap();
}

#[test]
fn comes_back_whole() {
    for (format, chunks) in [(PointFormat::Codes, 8), (PointFormat::Codes, 7), (PointFormat::Vectors, 0)] {
        let shape = Tiny { chunks, ..Tiny::default() };
        let dir = built_of(format, &shape);
        let (found, given) = (load(dir.path()).unwrap(), graph(format, &shape));
        assert_eq!((found.nodes, found.format, found.entry), (given.nodes, format, Some(4)));
        assert_eq!((found.degree, found.lists), (3, given.lists));
        assert_eq!(found.points.as_slice(), given.points.as_slice());
        assert_eq!(check(dir.path()), [""; 0]);
        let length = fs::metadata(dir.path().join(NAME)).unwrap().len();
        assert_eq!(length, mem_graph_bytes(5, given.points.dim(), 3));
    }
    let dir = tempfile::tempdir().unwrap();
    Tiny::default().build::<u8>(dir.path()).unwrap();
    assert!(IndexDirectory::open(dir.path()).unwrap().mem_graph().unwrap().is_none());
}

#[test]
fn an_empty_sample_of_an_empty_index() {
    let dir = tempfile::tempdir().unwrap();
    Tiny { nodes: 0, ..Tiny::default() }.build::<u8>(dir.path()).unwrap();
    let points = Matrix::zeroed(0, 8);
    let (nodes, lists) = (vec![], vec![]);
    let format = PointFormat::Codes;
    add(dir.path(), &StoredMemGraph { nodes, format, points, entry: None, degree: 1, lists });
    let found = load(dir.path()).unwrap();
    assert_eq!((found.nodes.len(), found.entry), (0, None));
    assert_eq!(check(dir.path()), [""; 0]);
}

/// A change here is a new format version.
#[test]
fn bytes_are_where_they_are_drawn() {
    let dir = built();
    let bytes = fs::read(dir.path().join(NAME)).unwrap();
    let words = |from: usize, to: usize| -> Vec<u32> {
        bytes[from..to].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    assert_eq!(bytes[8..12], *b"MEMG");
    assert_eq!(words(64, POINTS), [5, 3, 4, 0, 0, 3, 7, 8, 14]);
    assert_eq!(bytes[POINTS..POINTS + 8], *Tiny::default().codes().row(0));
    assert_eq!(words(LISTS, LISTS + 32), [3, 1, 2, 3, 2, 0, 4, 0]);
    assert_eq!(bytes.len(), END);
}

#[test]
fn flipped_bits_cuts_and_a_missing_file() {
    let dir = built();
    let path = dir.path().join(NAME);
    let whole = fs::read(&path).unwrap();
    for offset in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[offset] ^= 1 << (offset % 8);
        fs::write(&path, &bytes).unwrap();
        assert_noticed(dir.path(), &format!("a flipped bit in byte {offset}"));
    }
    for length in [0, 1, 63, 64, 79, 80, POINTS, LISTS, END - 1, END + 1, END + 4096] {
        let mut bytes = whole.clone();
        bytes.resize(length, 0);
        fs::write(&path, &bytes).unwrap();
        assert_noticed(dir.path(), &format!("a length of {length}"));
    }
    fs::remove_file(&path).unwrap();
    assert_noticed(dir.path(), "a missing file");
    fs::write(&path, whole).unwrap();
    assert!(load(dir.path()).is_ok());
}

#[test]
fn fields_that_cannot_be() {
    let max = u32::MAX.to_le_bytes();
    for (offset, bytes, expected) in [
        (64, &max, "the number of nodes is 4294967295, expected 1 to 15"),
        (64, &0u32.to_le_bytes(), "the number of nodes is 0, expected 1 to 15"),
        (
            64,
            &6u32.to_le_bytes(),
            "the payload length is 156 bytes, expected 184 bytes for 6 nodes of degree 3",
        ),
        (68, &max, "the degree bound is 4294967295, expected 1 to 1024"),
        (68, &0u32.to_le_bytes(), "the degree bound is 0"),
        (68, &1024u32.to_le_bytes(), "the payload length is 156 bytes"),
        (72, &5u32.to_le_bytes(), "the entry is 5, expected below 5"),
        (76, &2u32.to_le_bytes(), "what points are is 2"),
        (76, &1u32.to_le_bytes(), "what points are is 1, expected 0 (codes) where the index has codes"),
        (IDS + 4, &0u32.to_le_bytes(), "the sample is node 0 after node 0, expected ascending ids"),
        (IDS + 16, &15u32.to_le_bytes(), "the sample is node 15, expected nodes below 15"),
        (LISTS, &4u32.to_le_bytes(), "a degree is 4, expected at most 3"),
        (LISTS, &max, "a degree is 4294967295"),
        (LISTS, &2u32.to_le_bytes(), "the words after a list is not zero"),
        (LISTS + 4, &5u32.to_le_bytes(), "a neighbour is 5, expected below 5"),
    ] {
        let dir = built();
        forge(dir.path(), |file| file[offset..offset + 4].copy_from_slice(bytes));
        let message = load(dir.path()).unwrap_err().to_string();
        assert!(message.contains(NAME) && message.contains(expected), "byte {offset}: {message}");
        assert!(check(dir.path())[0].contains(expected));
    }
    // The bytes that fill up codes of odd length.
    let dir = built_of(PointFormat::Codes, &Tiny { chunks: 7, ..Tiny::default() });
    forge(dir.path(), |file| file[POINTS + 35] = 1);
    assert!(load(dir.path()).unwrap_err().to_string().contains("the bytes after the points is not zero"));
}

#[test]
fn what_a_search_survives_is_for_the_check_to_find() {
    for (offset, bytes, expected) in [
        (LISTS + 4, 0u32, "node 0: a neighbour is the node itself"),
        (LISTS + 8, 1, "node 0: neighbour 3 is listed 2 times"),
        (POINTS + 8, 16, "node 3: chunk 0: code 16 of 16 centroids"),
    ] {
        let dir = built();
        forge(dir.path(), |file| file[offset..offset + 4].copy_from_slice(&bytes.to_le_bytes()));
        assert!(load(dir.path()).is_ok(), "{expected}");
        let problems = check(dir.path());
        assert!(problems[0].contains(NAME) && problems[0].contains(expected), "{problems:?}");
    }
}

#[test]
fn implausible_lengths_are_refused_in_the_manifest() {
    for bytes in [0, 79, 80 + 15 * (4 + 200 + 4 * 1025) + 4, u64::MAX] {
        let dir = built();
        let mut manifest = IndexDirectory::open(dir.path()).unwrap().manifest().clone();
        manifest.members.last_mut().unwrap().bytes = bytes;
        let message = manifest.validate().unwrap_err().to_string();
        assert!(message.contains(&format!("{bytes} bytes for mem.graph, expected 80 to ")), "{message}");
        let twice = manifest.members.last().unwrap().clone();
        manifest.members.push(twice);
        assert!(manifest.validate().unwrap_err().to_string().contains("2 like mem.graph, expected 0 to 1"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever the payload holds, there is an answer, and a check misses nothing that a load refuses.
    #[test]
    fn any_payload(changes in prop::collection::vec((64usize..END, any::<u8>()), 1..6)) {
        let dir = built();
        forge(dir.path(), |file| changes.iter().for_each(|&(at, byte)| file[at] = byte));
        let problems = check(dir.path());
        prop_assert!(load(dir.path()).is_ok() || !problems.is_empty(), "{problems:?}");
    }
}
