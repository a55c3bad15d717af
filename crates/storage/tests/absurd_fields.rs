//! Fields that are absurd although every checksum is right (a hostile or broken writer): a clear error, no
//! panic, no large allocation.
#![allow(clippy::unwrap_used)]

mod frugal;
mod tiny;

use gleann_storage::{BlockId, Layout, seal_block};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use tiny::{Tiny, check, load_all};

/// An index to forge, copied: building one waits for the disk.
fn built() -> tempfile::TempDir {
    static BUILT: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let dir = tempfile::tempdir().unwrap();
        Tiny::default().build::<u8>(dir.path()).unwrap();
        dir
    });
    let copy = tempfile::tempdir().unwrap();
    for name in tiny::MEMBERS.into_iter().chain(["MANIFEST", "build.json"]) {
        fs::copy(BUILT.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

/// Changes a file whose payload begins at `start`, and makes its checksums right again.
fn forge(path: &Path, start: usize, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    let payload = crc32c::crc32c(&bytes[start..]);
    bytes[44..48].copy_from_slice(&payload.to_le_bytes());
    let header = tiny::masked(crc32c::crc32c(&bytes[..60]));
    bytes[60..64].copy_from_slice(&header.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

/// The error after `bytes` have been put at `offset` of the manifest.
fn forged_manifest(offset: usize, bytes: &[u8]) -> String {
    let dir = built();
    forge(&dir.path().join("MANIFEST"), 64, |file| file[offset..offset + bytes.len()].copy_from_slice(bytes));
    let message = load_all(dir.path()).unwrap_err().to_string();
    assert_eq!(check(dir.path())[0].contains("MANIFEST"), message.contains("MANIFEST"), "{message}");
    message
}

#[test]
fn manifest_fields() {
    let max = u32::MAX.to_le_bytes();
    for (offset, bytes, expected) in [
        (16, &[9; 16][..], "the build id is"),
        (32, &u64::MAX.to_le_bytes(), "the length is"),
        (40, &4096u32.to_le_bytes(), "the length is"),
        (64, &[9], "the element type is 9, expected below 4"),
        (65, &[3], "the metric is 3, expected below 3"),
        (66, &[2], "the packing is 2, expected below 2"),
        (67, &[7], "the code format is 7 with 8 bytes a code"),
        (67, &[0], "the code format is 0 with 8 bytes a code"),
        (68, &max, "dimension 4294967295 is not supported"),
        (68, &[0; 4], "dimension 0 is not supported"),
        (68, &700u32.to_le_bytes(), "the length of a member is 16384 bytes for graph.gln, expected 24576"),
        (72, &1_000_000_000u32.to_le_bytes(), "degree 1000000000 is not supported"),
        (76, &512u32.to_le_bytes(), "page size 512 is not supported"),
        (76, &8192u32.to_le_bytes(), "the length of a member is 16384 bytes for graph.gln, expected 24576"),
        (80, &max, "the length of a member is 16384 bytes for graph.gln, expected 2932031012864"),
        (80, &0u32.to_le_bytes(), "the entry point is node 7, expected a node below 0"),
        (80, &14u32.to_le_bytes(), "the length of a member is 184 bytes for pq.codes, expected 176"),
        (84, &[2], "the body is"),
        (85, &max, "the entry point is node 4294967295, expected a node below 15"),
        (89, &max, "the number of PQ chunks is 4294967295, expected 1 to 200"),
        (89, &0u32.to_le_bytes(), "the number of PQ chunks is 0"),
        (89, &9u32.to_le_bytes(), "the length of a member is 184 bytes for pq.codes, expected 199"),
        (93, &9u32.to_le_bytes(), "the bytes of neighbour codes in a record is 9, expected 0, or the 8"),
        (97, &1u32.to_le_bytes(), "the entry point is node 7, expected a node below 0"),
        (101, &1u32.to_le_bytes(), "the pages of a posting is 0, expected 1 or more"),
        (105, &[0; 4], "the build list is 0"),
        (109, &f32::NAN.to_le_bytes(), "alpha is NaN"),
        (109, &0.5f32.to_le_bytes(), "alpha is 0.5"),
        (113, &[0; 4], "the number of passes is 0"),
        (125, &u64::MAX.to_le_bytes(), "the body is"),
        (125, &3u64.to_le_bytes(), "the body is"),
        (133, &(1u64 << 40).to_le_bytes(), "the body is"),
        (141, b"z", "the list of options is out of order"),
        (141, &[0xff], "the body is"),
    ] {
        let message = forged_manifest(offset, bytes);
        assert!(message.contains(expected), "byte {offset}: {message}");
    }
}

#[test]
fn member_names_and_kinds() {
    let replaced = |from: &[u8], to: &[u8]| {
        let dir = built();
        forge(&dir.path().join("MANIFEST"), 64, |file| {
            let at = file.windows(from.len()).position(|window| window == from).unwrap();
            file[at..at + to.len()].copy_from_slice(to);
        });
        load_all(dir.path()).unwrap_err().to_string()
    };
    assert!(replaced(b"graph.gln", b"../ph.gln").contains("a member name is \"../ph.gln\""));
    assert!(replaced(b"graph.gln", b"/dev/zero").contains("a member name is \"/dev/zero\""));
    assert!(replaced(b"graph.gln", b"g\nph\0.gln").contains("a member name is"));
    assert!(replaced(b"GRPH", b"WHAT").contains("the kind of a member is \"WHAT\""));
    assert!(
        replaced(b"KEYS", b"GRPH").contains("the number of members is 2 like graph.gln, expected 1 to 1")
    );
    assert!(replaced(b"CODE", b"KEYS").contains("the number of members is 0 like pq.codes"));
    assert!(replaced(b"keys.u64", b"pq.codes").contains("a member name is \"pq.codes\" twice"));
}

/// The bytes of the manifest are what the format's documentation says: nothing may follow them.
#[test]
fn bytes_after_the_manifest() {
    let dir = built();
    forge(&dir.path().join("MANIFEST"), 64, |file| {
        file.push(0);
        let payload = file.len() as u64 - 64;
        file[32..40].copy_from_slice(&payload.to_le_bytes());
    });
    assert!(load_all(dir.path()).unwrap_err().to_string().contains("1 bytes too many"));
    fs::write(dir.path().join("MANIFEST"), vec![0; 70_000]).unwrap();
    assert!(load_all(dir.path()).unwrap_err().to_string().contains("MANIFEST"));
}

#[test]
fn member_headers() {
    for (offset, bytes, expected) in [
        (
            32,
            &u64::MAX.to_le_bytes()[..],
            "the payload length is 18446744073709551615 bytes, expected 120 bytes",
        ),
        (32, &0u64.to_le_bytes(), "the payload length is 0 bytes"),
        (40, &u32::MAX.to_le_bytes(), "the payload offset is 4294967295, expected 64"),
        (40, &[0; 4], "the payload offset is 0, expected 64 or more"),
        (12, &7u32.to_le_bytes(), "pq.codes has format version 7, this program reads version 2"),
    ] {
        let dir = built();
        forge(&dir.path().join("pq.codes"), 64, |file| {
            file[offset..offset + bytes.len()].copy_from_slice(bytes)
        });
        let message = load_all(dir.path()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    // A payload that agrees with its header is still not the one the manifest names.
    let dir = built();
    forge(&dir.path().join("pq.codes"), 64, |file| file[64] ^= 1);
    let message = load_all(dir.path()).unwrap_err().to_string();
    assert!(message.contains("the checksum of the file is"), "{message}");
}

/// Changes record `node` of the graph, seals its block again, and gives load error and problems.
fn forged_record(node: usize, offset: usize, bytes: &[u8]) -> (String, Vec<String>) {
    let dir = built();
    let layout: Layout = Tiny::default().layout::<u8>();
    let block = node / layout.records_per_block();
    let place = node % layout.records_per_block() * layout.record_bytes() + offset;
    forge(&dir.path().join("graph.gln"), 4096, |file| {
        let page = &mut file[4096 * (block + 1)..4096 * (block + 2)];
        page[place..place + bytes.len()].copy_from_slice(bytes);
        seal_block(page, BlockId(block as u32));
    });
    (load_all(dir.path()).unwrap_err().to_string(), check(dir.path()))
}

#[test]
fn records() {
    let (load, check) = forged_record(0, 200, &1_000_000_000u32.to_le_bytes());
    assert!(load.contains("graph.gln, node 0: degree is 1000000000, the index allows 100"), "{load}");
    assert_eq!(check[0], "graph.gln, byte 4096: node 0: degree is 1000000000, the index allows 100");
    assert!(check.last().unwrap().contains("the checksum of the file"), "{check:?}");

    let (load, check) = forged_record(7, 204 + 8, &15u32.to_le_bytes());
    assert!(load.contains("node 7: neighbour 2 is node 15, the index has 15 nodes"), "{load}");
    assert_eq!(check[0], "graph.gln, byte 8796: node 7: neighbour 2 is node 15, the index has 15 nodes");

    // What a search survives is for the check alone to find.
    let (_, check) = forged_record(7, 204 + 4, &8u32.to_le_bytes());
    assert_eq!(check[0], "graph.gln, byte 9000: node 7: neighbour 8 is listed 2 times");
    let (_, check) = forged_record(7, 204, &7u32.to_le_bytes());
    assert_eq!(check[0], "graph.gln, byte 9000: node 7: neighbour 0 is the node itself");
    let (_, check) = forged_record(14, 604, &[1]);
    assert_eq!(check[0], "graph.gln, byte 14100: block 2: bytes after the last record, expected zeros");
}

#[test]
fn infinite_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Tiny { dim: 10, ..Tiny::default() };
    shape.build::<f32>(dir.path()).unwrap();
    let length = shape.layout::<f32>().record_bytes();
    forge(&dir.path().join("graph.gln"), 4096, |file| {
        let page = &mut file[4096..8192];
        page[2 * length + 12..2 * length + 16].copy_from_slice(&f32::NAN.to_le_bytes());
        seal_block(page, BlockId(0));
    });
    assert_eq!(
        check(dir.path())[0],
        format!("graph.gln, byte {}: node 2: component 3 is NaN", 4096 + 2 * length)
    );
}

#[test]
fn codes_codebook_and_keys() {
    let dir = built();
    forge(&dir.path().join("pq.codes"), 64, |file| file[64 + 8 * 3 + 2] = 16);
    assert_eq!(check(dir.path())[0], "pq.codes, byte 90: node 3, chunk 2: code 16 of 16 centroids");

    let dir = built();
    let shape = Tiny { chunks: 7, ..Tiny::default() };
    let id = gleann_storage::IndexDirectory::open(dir.path()).unwrap().manifest().build_id;
    gleann_storage::write_codebook(dir.path(), id, &shape.codebook()).unwrap();
    assert!(check(dir.path())[0].contains("pq.codebook: the length is 92 bytes, expected 96 bytes"));

    let dir = built();
    forge(&dir.path().join("keys.u64"), 64, |file| file.copy_within(64..72, 72));
    // The file is not the one of the manifest, which a load refuses before keys are looked at.
    assert!(check(dir.path())[0].contains("keys.u64: the checksum of the file"));

    // A build that gave one key twice.
    let mut manifest = gleann_storage::IndexDirectory::open(dir.path()).unwrap().manifest().clone();
    let mut keys = Tiny::default().keys();
    keys[3] = keys[11];
    manifest.members[3] = gleann_storage::write_keys(dir.path(), manifest.build_id, &keys).unwrap();
    manifest.publish(dir.path()).unwrap();
    assert_eq!(check(dir.path()), [format!("keys.u64: key {} stands for 2 nodes, expected one", keys[3])]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a manifest says, there is an answer, and a check misses nothing that a load refuses.
    #[test]
    fn any_manifest(changes in prop::collection::vec((64usize..400, any::<u8>()), 1..6)) {
        let dir = built();
        forge(&dir.path().join("MANIFEST"), 64, |file| {
            let length = file.len();
            changes.iter().for_each(|&(at, byte)| file[at % (length - 64) + 64] = byte);
        });
        let (load, problems) = (load_all(dir.path()), check(dir.path()));
        prop_assert!(load.is_ok() || !problems.is_empty(), "{load:?}");
    }

    /// Whatever a sealed block holds, the same.
    #[test]
    fn any_record(changes in prop::collection::vec((0usize..4088, any::<u8>()), 1..6)) {
        let dir = built();
        forge(&dir.path().join("graph.gln"), 4096, |file| {
            let page = &mut file[4096..8192];
            changes.iter().for_each(|&(at, byte)| page[at] = byte);
            seal_block(page, BlockId(0));
        });
        let problems = check(dir.path());
        prop_assert!(load_all(dir.path()).is_ok() || !problems.is_empty(), "{problems:?}");
    }
}
