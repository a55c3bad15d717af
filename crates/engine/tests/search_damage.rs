//! Damaged indexes: opening names the file, or the searches that meet the damage name file and offset and all
//! others answer as before. Never a panic, never a wrong answer.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{
    BuildOptions, Direct, EngineChoice, Hit, Index, Metric, OpenOptions, SearchError, SearchOptions,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fs;
use std::path::{Path, PathBuf};
use support::{Built, ENGINES, built_with, clustered, copy_index, disk_dir, small_options, watchdog};
use tempfile::TempDir;

const MEMBERS: [&str; 5] = ["MANIFEST", "graph.gln", "pq.codebook", "pq.codes", "keys.u64"];
const PAGE: u64 = 4096;

/// An index, the answers it gives, and a copy to be damaged.
struct Victim {
    set: Built<u8>,
    expected: Vec<Vec<Hit>>,
    dir: TempDir,
}

const QUERY: SearchOptions = SearchOptions {
    list: 20,
    kind: gleann::SearchKind::Beam,
    width: gleann::Width::Fixed(4),
    ..SearchOptions::DEFAULT
};

fn index_with_seed(seed: u64) -> Built<u8> {
    let keys = (0..300).map(|row| 1_000_000 + row).collect();
    let options = BuildOptions { seed, keys: Some(keys), ..small_options(Metric::L2, 32) };
    built_with(clustered::<u8>(300, 32, 7 + seed), options, disk_dir())
}

impl Victim {
    fn new() -> Self {
        let set = index_with_seed(0);
        let index = set.open(EngineChoice::Mmap);
        let expected = (0..300).map(|row| index.search(set.rows.row(row), 5, &QUERY).unwrap().hits).collect();
        Self { set, expected, dir: disk_dir() }
    }

    /// A fresh copy.
    fn copy(&self) -> PathBuf {
        let copy = self.dir.path().join("copy");
        let _ = fs::remove_dir_all(&copy);
        copy_index(&self.set.path(), &copy);
        copy
    }

    fn options(engine: EngineChoice) -> OpenOptions {
        OpenOptions { engine, direct: Direct::Off, threads: 1, ..OpenOptions::default() }
    }

    /// Opening `copy` fails with the name of the file.
    fn refuses(&self, copy: &Path, name: &str, what: &str) -> String {
        let error = match Index::open(copy, Self::options(EngineChoice::Mmap)) {
            Ok(_) => panic!("{name}, {what}: opened"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(name), "{name}, {what}: the file is not named: {error}");
        error
    }

    /// Every search answers as before, or names the graph file and a byte; how many failed.
    fn failures(&self, index: &Index) -> usize {
        let mut failed = 0;
        for (row, expected) in self.expected.iter().enumerate() {
            match index.search(self.set.rows.row(row), 5, &QUERY) {
                Ok(found) => assert_eq!(&found.hits, expected, "a wrong answer"),
                Err(error @ SearchError::Read(_)) => {
                    let text = error.to_string();
                    assert!(text.contains("graph.gln, block ") && text.contains(" at byte "), "{text}");
                    failed += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        failed
    }
}

fn flip(file: &Path, bit: u64) {
    let mut bytes = fs::read(file).unwrap();
    bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
    fs::write(file, bytes).unwrap();
}

fn cut(file: &Path, length: u64) {
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length).unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let _watchdog = watchdog("missing");
    let victim = Victim::new();
    for name in MEMBERS {
        let copy = victim.copy();
        fs::remove_file(copy.join(name)).unwrap();
        let error = victim.refuses(&copy, name, "missing");
        assert!(error.contains("MANIFEST"), "{error}");
        fs::create_dir(copy.join(name)).unwrap();
        victim.refuses(&copy, name, "a directory");
    }
    // What the build measured is no part of the index.
    let copy = victim.copy();
    fs::remove_file(copy.join("build.json")).unwrap();
    assert_eq!(victim.failures(&Index::open(copy, Victim::options(EngineChoice::Auto)).unwrap()), 0);
}

#[test]
fn what_is_no_index_is_named() {
    let _watchdog = watchdog("no index");
    let dir = disk_dir();
    for path in [dir.path().join("absent"), dir.path().to_owned()] {
        let error = Index::open(&path, OpenOptions::default()).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
    let file = dir.path().join("file");
    fs::write(&file, b"text").unwrap();
    let error = Index::open(&file, OpenOptions::default()).unwrap_err().to_string();
    assert!(error.contains(&file.display().to_string()), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_named() {
    let _watchdog = watchdog("cut");
    let victim = Victim::new();
    for name in MEMBERS {
        let length = fs::metadata(victim.set.path().join(name)).unwrap().len();
        let pages = (0..length.div_ceil(PAGE)).map(|page| page * PAGE);
        for keep in pages.chain([1, 63, 64, length / 2, length - 1, length + 1, length + PAGE]) {
            if keep != length {
                let copy = victim.copy();
                cut(&copy.join(name), keep);
                victim.refuses(&copy, name, &format!("{keep} of {length} bytes"));
            }
        }
    }
}

#[test]
fn a_flipped_bit_is_found_at_open_or_harms_nobody() {
    let _watchdog = watchdog("flipped");
    let victim = Victim::new();
    let mut random = Pcg64Mcg::seed_from_u64(5);
    for name in MEMBERS.iter().filter(|name| **name != "graph.gln") {
        let bits = 8 * fs::metadata(victim.set.path().join(name)).unwrap().len();
        for round in 0..60 {
            let bit =
                if round < 20 { random.random_range(0..bits.min(512)) } else { random.random_range(0..bits) };
            let copy = victim.copy();
            flip(&copy.join(name), bit);
            victim.refuses(&copy, name, &format!("bit {bit}"));
        }
    }
}

#[test]
fn a_damaged_block_fails_the_searches_that_read_it() {
    let _watchdog = watchdog("damaged block");
    let victim = Victim::new();
    let mut random = Pcg64Mcg::seed_from_u64(6);
    let bits = 8 * fs::metadata(victim.set.path().join("graph.gln")).unwrap().len();
    let mut harmed = 0;
    for round in 0..24 {
        let copy = victim.copy();
        let file = copy.join("graph.gln");
        let bit =
            if round < 6 { random.random_range(0..8 * 64) } else { random.random_range(8 * PAGE..bits) };
        flip(&file, bit);
        match Index::open(&copy, Victim::options(ENGINES[round % 3])) {
            Ok(index) => {
                assert!(round >= 6, "bit {bit} of the header was not noticed");
                let failed = victim.failures(&index);
                assert!(failed > 0, "bit {bit}: nobody noticed");
                harmed += usize::from(failed < 300);
            }
            Err(error) => assert!(round < 6 && error.to_string().contains("graph.gln"), "{error}"),
        }
    }
    assert!(harmed > 0, "some searches go on");
}

#[test]
fn blocks_that_change_places_are_noticed() {
    let _watchdog = watchdog("changed places");
    let victim = Victim::new();
    for engine in ENGINES {
        let copy = victim.copy();
        let file = copy.join("graph.gln");
        let mut bytes = fs::read(&file).unwrap();
        let (first, second) = (2 * PAGE as usize, 3 * PAGE as usize);
        let block = bytes[first..second].to_vec();
        bytes[second..second + PAGE as usize].copy_from_slice(&block);
        fs::write(&file, bytes).unwrap();
        assert!(victim.failures(&Index::open(&copy, Victim::options(engine)).unwrap()) > 0);
    }
}

#[test]
fn damage_under_an_open_index_fails_searches_and_heals() {
    let _watchdog = watchdog("under an open index");
    let victim = Victim::new();
    for (engine, direct) in [
        (EngineChoice::Glommio, Direct::Prefer),
        (EngineChoice::Glommio, Direct::Off),
        (EngineChoice::Pool, Direct::Prefer),
        (EngineChoice::Pool, Direct::Off),
    ] {
        let copy = victim.copy();
        let file = copy.join("graph.gln");
        let sound = fs::read(&file).unwrap();
        let index = Index::open(&copy, OpenOptions { direct, ..Victim::options(engine) }).unwrap();
        assert_eq!(victim.failures(&index), 0);
        for keep in [sound.len() as u64 - PAGE, sound.len() as u64 / 2, 2 * PAGE + 512, PAGE, 0] {
            cut(&file, keep);
            assert!(victim.failures(&index) > 0, "{engine}: cut to {keep}");
        }
        fs::write(&file, &sound).unwrap();
        assert_eq!(victim.failures(&index), 0, "{engine}: a healed file");
    }
}

#[test]
fn a_file_of_another_build_is_named() {
    let _watchdog = watchdog("another build");
    let victim = Victim::new();
    let other = index_with_seed(1);
    for name in MEMBERS.iter().filter(|name| **name != "MANIFEST") {
        let copy = victim.copy();
        fs::copy(other.path().join(name), copy.join(name)).unwrap();
        let error = victim.refuses(&copy, name, "of another build");
        let told = error.contains("the file is not from the build that wrote the MANIFEST")
            || error.contains("the length is");
        assert!(told, "{error}");
    }
    let copy = victim.copy();
    fs::copy(other.path().join("MANIFEST"), copy.join("MANIFEST")).unwrap();
    victim.refuses(&copy, "copy", "another MANIFEST");
    // Members of one another's kind.
    let copy = victim.copy();
    fs::copy(copy.join("pq.codes"), copy.join("keys.u64")).unwrap();
    victim.refuses(&copy, "keys.u64", "codes in its place");
}
