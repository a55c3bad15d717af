//! An index of postings on disk: what is written comes back, what is wrong is found and named.
#![allow(clippy::unwrap_used)]

use gleann_storage::{
    BuildId, BuildParameters, CodeFormat, IndexDirectory, IndexKind, Layout, Manifest, Packing,
    PostingLayout, check_index, load_centroids, write_centroids, write_postings, write_report,
};
use gleann_vector::{ElementType, Matrix, Metric, NodeId, Silent};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const MEMBERS: [&str; 2] = ["postings.gln", "centroids.gln"];

/// Nine vectors in four postings, some of them twice.
fn members() -> Vec<Vec<u32>> {
    vec![vec![0, 1, 2], vec![2, 3, 4, 8], vec![5, 6], vec![7, 5, 0]]
}

fn vectors() -> Matrix<f32> {
    Matrix::from_rows(&(0..27).map(|i| i as f32 / 2.0).collect::<Vec<_>>(), 3)
}

fn manifest() -> Manifest {
    let mut manifest = Manifest {
        build_id: BuildId([0; 16]),
        kind: IndexKind::Postings { postings: 0, pages: 1 },
        layout: Layout::new(ElementType::F32, 3, 2, 4096).unwrap(),
        metric: Metric::L2,
        nodes: 9,
        entry: None,
        packing: Packing::ById,
        codes: CodeFormat::None,
        parameters: BuildParameters {
            build_list: 64,
            alpha: 1.2,
            passes: 1,
            seed: 0,
            options: BTreeMap::from([("system".into(), "spann".into())]),
        },
        members: Vec::new(),
    };
    manifest.build_id = manifest.derive_build_id(b"input");
    manifest
}

/// Writes the index of `members` over `vectors` into `dir`.
fn write(dir: &Path, members: &[Vec<u32>], vectors: &Matrix<f32>) -> Manifest {
    let mut manifest = manifest();
    let (layout, place) = (manifest.layout, (dir, manifest.build_id));
    let posting = PostingLayout::new(layout, 1).unwrap();
    let count = members.len() as u32;
    let list = |posting: u32| members[posting as usize].as_slice();
    manifest.members.push(write_postings(place, &posting, (count, list), vectors, &Silent).unwrap());
    let centroids = Matrix::from_rows(&vectors.as_slice()[..3 * members.len()], 3);
    let ring: Vec<[u32; 2]> = (0..count).map(|id| [(id + 1) % count, (id + 2) % count]).collect();
    let list = |id: u32| ring[id as usize].as_slice();
    manifest.members.push(write_centroids(place, &layout, &centroids, list).unwrap());
    write_report(dir, manifest.build_id, serde_json::Map::new()).unwrap();
    manifest.kind = IndexKind::Postings { postings: count, pages: 1 };
    manifest.entry = Some(NodeId(1));
    manifest.publish(dir).unwrap();
    manifest
}

fn problems(dir: &Path) -> Vec<String> {
    match check_index(dir, &|_| Ok(vec![]), &Silent) {
        Ok(report) => report.problems.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn what_is_written_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = write(dir.path(), &members(), &vectors());
    assert_eq!(Manifest::read(dir.path()).unwrap(), manifest);
    let index = IndexDirectory::open(dir.path()).unwrap();
    assert_eq!(index.postings().unwrap().postings(), 4);
    let message = index.graph().unwrap_err().to_string();
    assert!(message.contains("MANIFEST: the kind of index is postings, expected a graph"), "{message}");
    let centroids = index.centroids::<f32>().unwrap().unwrap();
    assert_eq!(centroids.vectors.as_slice(), &vectors().as_slice()[..12]);
    assert_eq!(centroids.lists, [[1, 2], [2, 3], [3, 0], [0, 1]]);
    let report = check_index(dir.path(), &|_| Ok(vec![]), &Silent).unwrap();
    assert_eq!(report.problems, []);
    assert_eq!((report.records, report.copies), (12, vec![0, 6, 3]));
}

#[test]
fn the_build_id_does_not_depend_on_how_many_postings_there_came_to_be() {
    let dir = tempfile::tempdir().unwrap();
    let written = write(dir.path(), &members(), &vectors());
    assert_eq!(written.derive_build_id(b"input"), written.build_id);
    let other = Manifest { kind: IndexKind::Postings { postings: 4, pages: 2 }, ..written.clone() };
    assert_ne!(other.derive_build_id(b"input"), written.build_id);
    let graph = Manifest { kind: IndexKind::Graph, ..written.clone() };
    assert_ne!(graph.derive_build_id(b"input"), written.build_id);
}

#[test]
fn wrong_postings_in_whole_files_are_found() {
    let found = |members: &[Vec<u32>], vectors: &Matrix<f32>| {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), members, vectors);
        problems(dir.path())
    };
    let mut lost = members();
    lost[1].pop();
    assert_eq!(found(&lost, &vectors()), ["postings.gln: vector 8 is in no posting"]);
    let mut twice = members();
    twice[2].push(5);
    let problems = found(&twice, &vectors());
    assert_eq!(problems, ["postings.gln, byte 12288: posting 2: vector 5 is in it 2 times"]);
    let mut infinite = vectors();
    infinite.row_mut(4)[1] = f32::INFINITY;
    let problems = found(&members(), &infinite);
    assert_eq!(problems, ["postings.gln, byte 8192: posting 1: component 1 of vector 2 is inf"]);
    let mut foreign = Matrix::zeroed(10, 3);
    foreign.as_mut_slice()[..27].copy_from_slice(vectors().as_slice());
    let mut beyond = members();
    beyond[0].push(9);
    let problems = found(&beyond, &foreign);
    assert!(problems.iter().any(|problem| problem.contains("id 9, the index has 9 vectors")), "{problems:?}");
}

#[test]
fn copies_that_differ_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = write(dir.path(), &members(), &vectors());
    let other = tempfile::tempdir().unwrap();
    let mut changed = vectors();
    changed.row_mut(5)[0] += 1.0;
    write(other.path(), &members(), &changed);
    // The last posting of the other index: its block is sealed, and vector 5 in it is another.
    let mut bytes = fs::read(dir.path().join(MEMBERS[0])).unwrap();
    let foreign = fs::read(other.path().join(MEMBERS[0])).unwrap();
    let last = bytes.len() - 4096;
    bytes[last..].copy_from_slice(&foreign[last..]);
    let crc = crc32c::crc32c(&bytes[4096..]);
    bytes[44..48].copy_from_slice(&crc.to_le_bytes());
    let masked = crc32c::crc32c(&bytes[..60]).rotate_right(15).wrapping_add(0xa282_ead8);
    bytes[60..64].copy_from_slice(&masked.to_le_bytes());
    fs::write(dir.path().join(MEMBERS[0]), &bytes).unwrap();
    manifest.members[0].crc32c = crc32c::crc32c(&bytes);
    manifest.publish(dir.path()).unwrap();
    let expected = "postings.gln, byte 16384: posting 3: vector 5 differs from its other copies";
    assert_eq!(problems(dir.path()), [expected]);
}

#[test]
fn flipped_bits_and_cut_files_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = write(dir.path(), &members(), &vectors());
    for name in MEMBERS.into_iter().chain(["MANIFEST"]) {
        let path = dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(if whole.len() > 1000 { 97 } else { 1 }) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            let found = problems(dir.path());
            assert!(found.iter().any(|problem| problem.contains(name)), "{name}, byte {at}: {found:?}");
        }
        for length in [0, 63, whole.len() - 1, whole.len() + 1] {
            let mut bytes = whole.clone();
            bytes.resize(length, 0);
            fs::write(&path, &bytes).unwrap();
            assert!(IndexDirectory::open(dir.path()).is_err(), "{name} of {length} bytes");
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(problems(dir.path()), [""; 0]);
    fs::remove_file(dir.path().join(MEMBERS[1])).unwrap();
    assert!(load_centroids::<f32>(dir.path(), &manifest).unwrap_err().to_string().contains("is missing"));
}

#[test]
fn manifests_that_contradict_themselves_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let good = write(dir.path(), &members(), &vectors());
    let refused = |change: &dyn Fn(&mut Manifest)| {
        let mut changed = good.clone();
        change(&mut changed);
        changed.validate().unwrap_err().to_string()
    };
    let postings = |postings, pages| IndexKind::Postings { postings, pages };
    for (message, named) in [
        (refused(&|m| m.kind = IndexKind::Graph), "number of members"),
        (refused(&|m| m.kind = postings(4, 65)), "posting of 65 pages"),
        (refused(&|m| m.kind = postings(0, 1)), "entry point"),
        (refused(&|m| m.kind = postings(5, 1)), "length of a member"),
        (refused(&|m| m.entry = Some(NodeId(4))), "node below 4"),
        (refused(&|m| m.nodes = 100_000), "number of postings"),
        (refused(&|m| m.codes = CodeFormat::Pq { chunks: 1 }), "code format"),
        (refused(&|m| m.members.truncate(1)), "number of members"),
    ] {
        assert!(message.contains(named), "{message}");
    }
}
