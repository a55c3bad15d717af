//! A process that updates an index is killed at a random moment, again and again: whatever it had acknowledged is there.
//!
//! The child is this test itself. It prints a line for every operation that was acknowledged; a line that was printed whole
//! was acknowledged before the kill.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{
    Backend, Delete, Durability, Index, LiosOptions, Metric, OpenOptions, SearchOptions, UpdateOptions,
    Upsert, Utilisation, check_index, make_live,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{built, clustered};

const MARK: &str = "GLEANN_TEST_KILLED";
const ROWS: usize = 600;
const DIM: usize = 12;
/// Keys that are put and deleted, beyond those of the build.
const KEYS: u64 = 400;

/// How a child updates.
#[derive(Clone, Copy)]
struct How {
    backend: Backend,
    /// On the searching core, in the stalls of searches, with no thread for updates.
    in_stalls: bool,
}

fn options(how: How) -> OpenOptions {
    let lios = LiosOptions { utilisation: Utilisation::Fixed(1.0), ..LiosOptions::new(0.05) };
    let updates = UpdateOptions {
        threads: usize::from(!how.in_stalls),
        lios: how.in_stalls.then_some(lios),
        durability: Durability::Group(Duration::from_millis(1)),
        memory: 1 << 16,
        buffer_vectors: 100,
        consolidate_share: 0.1,
        ..UpdateOptions::default()
    };
    OpenOptions { threads: 1, updates, ..OpenOptions::default() }
}

/// The vector of a key at its `version`.
fn vector(key: u64, version: u64) -> Vec<f32> {
    clustered::<f32>(1, DIM, key * 1_000_003 + version).row(0).to_vec()
}

/// Updates until it is killed, beside searches if it does so in their stalls. Versions go on from `start`.
fn update(dir: &Path, start: u64, how: How) {
    let index = Index::open(dir, options(how)).unwrap();
    std::thread::scope(|scope| {
        if how.in_stalls {
            scope.spawn(|| {
                for number in 0.. {
                    index.search(&vector(number, 0), 5, &SearchOptions::default()).unwrap();
                }
            });
        }
        change(&index, start);
    });
}

fn change(index: &Index, start: u64) {
    let mut out = std::io::stdout().lock();
    for number in start.. {
        let key = ROWS as u64 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % KEYS;
        // Said before and after: what was begun and not acknowledged may be there or not.
        if number % 3 == 2 {
            writeln!(out, "begin delete {key} {number}").unwrap();
            index.delete(key).unwrap();
        } else {
            writeln!(out, "begin put {key} {number}").unwrap();
            index.upsert(key, &vector(key, number)).unwrap();
        }
        writeln!(out, "done").unwrap();
        out.flush().unwrap();
    }
}

/// What each key may be: the version it has, or none.
type State = BTreeMap<u64, Option<u64>>;

/// Runs a child, kills it after `lines` lines, and gives back what it had said.
fn run_and_kill(name: &str, dir: &Path, start: u64, lines: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MARK, format!("{start}:{}", dir.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while said.len() < lines && out.read_line(&mut line).unwrap() > 0 {
        // The harness's own words stand before ours.
        if let Some(at) = line.find("begin ").or(line.find("done")) {
            said.push(line[at..].trim_end().to_owned());
        }
        line.clear();
    }
    child.kill().unwrap();
    // What it had said when it was killed.
    while out.read_line(&mut line).unwrap() > 0 {
        if line.ends_with('\n') {
            said.push(line.trim_end().to_owned());
        }
        line.clear();
    }
    child.wait().unwrap();
    said
}

/// Takes over what was said; what was begun last and not acknowledged is given back.
fn take(state: &mut State, said: &[String]) -> Option<(u64, Option<u64>)> {
    let mut open = None;
    for line in said {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[..] {
            ["begin", "put", ..] => open = Some((number(2), Some(number(3)))),
            ["begin", "delete", ..] => open = Some((number(2), None)),
            ["done"] => {
                let (key, version) = open.take().unwrap();
                state.insert(key, version);
            }
            _ => {}
        }
    }
    open
}

fn check(dir: &Path, state: &mut State, open: Option<(u64, Option<u64>)>, how: How) {
    let index = Index::open(dir, options(how)).unwrap();
    if let Some((key, version)) = open {
        let there = index.get::<f32>(key).unwrap();
        if there == version.map(|version| vector(key, version)) {
            state.insert(key, version);
        }
    }
    for (&key, &version) in &*state {
        let expected = version.map(|version| vector(key, version));
        assert_eq!(index.get::<f32>(key).unwrap(), expected, "key {key} at version {version:?}");
        if let Some(vector) = expected {
            let found = index.search(&vector, 5, &SearchOptions { list: 200, ..SearchOptions::default() });
            let found = found.unwrap().hits;
            assert!(found.iter().any(|hit| hit.key == key && hit.distance == 0.0), "key {key}: {found:?}");
        }
    }
    let live = state.values().flatten().count() + ROWS;
    assert_eq!(index.live_stats().unwrap().figures.live, live as u64);
    drop(index);
    let report = check_index(dir, &gleann::Silent).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// Held by the one test that runs: a process that is being started has the locks of its parent until it has become itself.
static ALONE: Mutex<()> = Mutex::new(());

fn kill_again_and_again(name: &str, how: How, rounds: usize) {
    if let Ok(mark) = std::env::var(MARK) {
        let (start, dir) = mark.split_once(':').unwrap();
        return update(Path::new(dir), start.parse().unwrap(), how);
    }
    let _alone = ALONE.lock();
    let index = built::<f32>(Metric::L2, ROWS, DIM);
    make_live(&index.path(), how.backend).unwrap();
    let mut state = State::new();
    let mut start = 0;
    for round in 0..rounds {
        let lines = 40 + round * 7919 % 400;
        let said = run_and_kill(name, &index.path(), start, lines);
        assert!(said.len() >= lines, "the child ended by itself after {} lines", said.len());
        let open = take(&mut state, &said);
        start += said.len() as u64;
        check(&index.path(), &mut state, open, how);
    }
    let opened = Index::open(index.path(), options(how)).unwrap();
    let (&key, _) = state.iter().find(|(_, version)| version.is_some()).unwrap();
    assert_eq!(opened.upsert(key, &vector(key, 0)).unwrap(), Upsert::Replaced);
    assert_eq!(opened.delete(key).unwrap(), Delete::Deleted);
}

/// Rounds: more where somebody asks for more.
fn rounds() -> usize {
    std::env::var("GLEANN_KILLS").map_or(12, |rounds| rounds.parse().expect("GLEANN_KILLS is a number"))
}

#[test]
fn what_odin_acknowledged_survives_kills() {
    let how = How { backend: Backend::Odin, in_stalls: false };
    kill_again_and_again("what_odin_acknowledged_survives_kills", how, rounds());
}

#[test]
fn what_fresh_acknowledged_survives_kills() {
    let how = How { backend: Backend::Fresh, in_stalls: false };
    kill_again_and_again("what_fresh_acknowledged_survives_kills", how, rounds());
}

#[test]
fn what_odin_acknowledged_in_stalls_survives_kills() {
    let how = How { backend: Backend::Odin, in_stalls: true };
    kill_again_and_again("what_odin_acknowledged_in_stalls_survives_kills", how, rounds());
}

#[test]
fn what_fresh_acknowledged_in_stalls_survives_kills() {
    let how = How { backend: Backend::Fresh, in_stalls: true };
    kill_again_and_again("what_fresh_acknowledged_in_stalls_survives_kills", how, rounds());
}
