//! No damage goes unnoticed: whatever bit is flipped and wherever a file is cut, opening, loading and checking
//! give a clear error that names the file.
#![allow(clippy::unwrap_used)]

mod tiny;

use gleann_storage::IndexDirectory;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use tiny::{MEMBERS, Tiny, check, load_all};

fn built() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    Tiny::default().build::<u8>(dir.path()).unwrap();
    dir
}

fn assert_noticed(dir: &Path, name: &str, what: &str) {
    let load = load_all(dir).expect_err(what).to_string();
    assert!(load.contains(name), "{what}: {load}");
    let check = check(dir);
    assert!(check.iter().any(|problem| problem.contains(name)), "{what}: {check:?}");
}

fn flip(file: &File, offset: u64, mask: u8) {
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ mask], offset).unwrap();
}

#[test]
fn flipped_bits() {
    let dir = built();
    for name in MEMBERS.into_iter().chain(["MANIFEST"]) {
        let path = dir.path().join(name);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        // Every bit of the manifest and of headers; elsewhere one bit of every fifth byte.
        let all = if name == "MANIFEST" { length } else { 64 };
        let step = |offset: &u64| *offset < all || offset.is_multiple_of(5);
        for offset in (0..length).filter(step) {
            let bits = if offset < all { 0..8 } else { offset % 8..offset % 8 + 1 };
            for bit in bits {
                flip(&file, offset, 1 << bit);
                assert_noticed(dir.path(), name, &format!("{name}: bit {bit} of byte {offset}"));
                flip(&file, offset, 1 << bit);
            }
        }
    }
    assert_eq!(check(dir.path()), [""; 0]);
}

#[test]
fn cut_and_lengthened_files() {
    let dir = built();
    for name in MEMBERS.into_iter().chain(["MANIFEST"]) {
        let path = dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        let pages = (0..whole.len()).step_by(4096).chain([64, whole.len()]);
        let lengths = pages.flat_map(|at| [at.saturating_sub(1), at, at + 1, at + 4096]);
        for length in lengths.filter(|&length| length != whole.len()) {
            let mut bytes = whole.clone();
            bytes.resize(length, 0);
            fs::write(&path, &bytes).unwrap();
            assert_noticed(dir.path(), name, &format!("{name} of {length} bytes"));
        }
        fs::write(&path, &whole).unwrap();
    }
    load_all(dir.path()).unwrap();
}

#[test]
fn a_cut_graph_says_so() {
    let dir = built();
    let file = OpenOptions::new().write(true).open(dir.path().join("graph.gln")).unwrap();
    file.set_len(12288).unwrap();
    let message = load_all(dir.path()).unwrap_err().to_string();
    assert!(
        message.contains("graph.gln: the length is 12288 bytes, expected 16384 bytes; a truncated copy?"),
        "{message}"
    );
}

#[test]
fn missing_files() {
    let dir = built();
    for name in MEMBERS {
        let path = dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_noticed(dir.path(), &format!("{name} is missing"), name);
        fs::create_dir(&path).unwrap();
        assert_noticed(dir.path(), name, "a directory in its place");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, whole).unwrap();
    }
    // Searches do not need the report, but a check misses it.
    fs::remove_file(dir.path().join("build.json")).unwrap();
    load_all(dir.path()).unwrap();
    assert!(check(dir.path())[0].contains("build.json"));
    fs::write(dir.path().join("build.json"), "{}").unwrap();
    assert!(check(dir.path())[0].contains("\"build_id\" is absent"));
}

#[test]
fn what_is_not_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let message = |path: &Path| IndexDirectory::open(path).unwrap_err().to_string();
    assert!(
        message(dir.path())
            .contains("is not an index directory: it has no MANIFEST; if a build was interrupted")
    );
    assert!(message(&dir.path().join("absent")).contains("it does not exist"));
    let file = dir.path().join("file");
    fs::write(&file, "text").unwrap();
    assert!(message(&file).contains("it is not a directory"));
    fs::write(dir.path().join("MANIFEST"), [b'x'; 200]).unwrap();
    assert!(message(dir.path()).contains("this is not a file of a gleann index"));
    fs::remove_file(dir.path().join("MANIFEST")).unwrap();
    fs::create_dir(dir.path().join("MANIFEST")).unwrap();
    assert!(message(dir.path()).contains("MANIFEST"));
}

/// Copies a member of another index over ours and gives the message.
fn with_foreign(name: &str, other: &Tiny) -> String {
    let (dir, foreign) = (built(), tempfile::tempdir().unwrap());
    other.build::<u8>(foreign.path()).unwrap();
    fs::copy(foreign.path().join(name), dir.path().join(name)).unwrap();
    assert_noticed(dir.path(), name, "a foreign member");
    load_all(dir.path()).unwrap_err().to_string()
}

#[test]
fn members_of_another_build() {
    for name in MEMBERS {
        let message = with_foreign(name, &Tiny { seed: 2, ..Tiny::default() });
        assert!(message.contains("the build id is"), "{message}");
        assert!(message.contains("not from the build that wrote the MANIFEST"), "{message}");
    }
    let message = with_foreign("MANIFEST", &Tiny { seed: 2, ..Tiny::default() });
    assert!(message.contains("the build id is"), "{message}");
}

#[test]
fn members_that_changed_places() {
    let dir = built();
    let at = |name: &str| dir.path().join(name);
    fs::rename(at("pq.codes"), at("spare")).unwrap();
    fs::rename(at("keys.u64"), at("pq.codes")).unwrap();
    fs::rename(at("spare"), at("keys.u64")).unwrap();
    let message = load_all(dir.path()).unwrap_err().to_string();
    assert!(message.contains("the kind of file is \"KEYS\", expected \"CODE\""), "{message}");
}

#[test]
fn blocks_that_changed_places() {
    let dir = built();
    let path = dir.path().join("graph.gln");
    let mut bytes = fs::read(&path).unwrap();
    let (a, b) = bytes[4096..12288].split_at_mut(4096);
    a.swap_with_slice(b);
    fs::write(&path, bytes).unwrap();
    let problems = check(dir.path());
    assert!(
        problems[0].starts_with("graph.gln, byte 4096: block 0: block number is 1, expected 0"),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("graph.gln, byte 8192: block 1: block number is 0, expected 1"),
        "{problems:?}"
    );
    assert!(problems[2].contains("the checksum of the payload"), "{problems:?}");
    let message = load_all(dir.path()).unwrap_err().to_string();
    assert!(message.contains("graph.gln, block 0 at byte 4096: block number is 1"), "{message}");
}

/// Sealed blocks of the right numbers, but from another index: only the checksum over the file can tell.
#[test]
fn blocks_of_another_build() {
    let (dir, foreign) = (built(), tempfile::tempdir().unwrap());
    Tiny { seed: 2, ..Tiny::default() }.build::<u8>(foreign.path()).unwrap();
    let path = dir.path().join("graph.gln");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].copy_from_slice(&fs::read(foreign.path().join("graph.gln")).unwrap()[4096..]);
    fs::write(&path, bytes).unwrap();
    assert_noticed(dir.path(), "graph.gln: the checksum of the payload", "foreign blocks");
}

/// A record of two pages of which only the first landed.
#[test]
fn torn_records() {
    let shape = Tiny { dim: 1200, degree: 10, nodes: 3, ..Tiny::default() };
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    shape.build::<f32>(old.path()).unwrap();
    Tiny { seed: 2, ..shape }.build::<f32>(new.path()).unwrap();
    let path = old.path().join("graph.gln");
    let mut bytes = fs::read(&path).unwrap();
    bytes[12288..16384].copy_from_slice(&fs::read(new.path().join("graph.gln")).unwrap()[12288..16384]);
    fs::write(&path, bytes).unwrap();
    let problems = check(old.path());
    assert!(problems[0].starts_with("graph.gln, byte 12288: block 1: checksum is"), "{problems:?}");
}
