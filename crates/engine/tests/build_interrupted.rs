//! A process that is killed, a disk that is full, a second build in the same place.
#![allow(clippy::unwrap_used)]

mod building;

use building::{assert_sound, build_sound, clustered, file, files, options};
use gleann::{BuildError, BuildOptions, build};
use gleann_storage::IndexDirectory;
use gleann_vector::{Metric, Progress, Silent, VectorFile};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PLACE: &str = "GLEANN_TEST_BUILD";

/// Runs the ignored test `name` of this binary in a process of its own.
fn child(name: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture"]).env(PLACE, place);
    command
}

fn place() -> PathBuf {
    PathBuf::from(std::env::var_os(PLACE).expect("run by another test"))
}

fn killed_options() -> BuildOptions {
    BuildOptions { degree: 32, build_list: 64, ..options(Metric::L2) }
}

/// Tells its phases line by line.
struct Telling;

impl Progress for Telling {
    fn phase(&self, name: &str, _: u64) {
        println!("phase {name}");
        std::io::stdout().flush().unwrap();
    }

    fn advance(&self, _: u64) {}
}

#[test]
fn a_killed_build_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<u8>(3000, 32, 16));
    let out = dir.path().join("index");
    for phase in ["encode", "insert", "write graph", "pages"] {
        let mut build = child("build_until_killed", dir.path()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(build.stdout.take().unwrap()).lines();
        let reached = lines.map_while(Result::ok).any(|line| line.ends_with(&format!("phase {phase}")));
        assert!(reached, "the build never came to {phase}");
        build.kill().unwrap();
        build.wait().unwrap();
        assert!(out.join(".build").is_dir() || IndexDirectory::is_index(&out));
        if IndexDirectory::is_index(&out) {
            break;
        }
    }
    if !IndexDirectory::is_index(&out) {
        build(&source, &out, &killed_options(), &Silent).unwrap();
    }
    assert_sound(&out, source.rows());
    let expected = dir.path().join("expected");
    build_sound(&source, &expected, &killed_options());
    assert!(files(&out) == files(&expected));
}

#[test]
#[ignore = "run by a_killed_build_is_continued, which kills it"]
fn build_until_killed() {
    let source = VectorFile::open(place().join("data.u8bin")).unwrap();
    build(&source, &place().join("index"), &killed_options(), &Telling).unwrap();
}

#[test]
fn a_full_disk_is_told_and_survived() {
    let dir = tempfile::tempdir().unwrap();
    let probe = Command::new("unshare").args(["-rm", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("no user namespaces here: nothing to mount a small disk in");
        return;
    }
    let script = "mount -t tmpfs -o size=4m tmpfs \"$GLEANN_TEST_BUILD\" && \
                  exec \"$0\" --exact on_a_small_disk --ignored --nocapture";
    let status = Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(PLACE, dir.path())
        .status();
    assert!(status.unwrap().success(), "see above");
}

/// Fills the disk while the build runs, so that the check before it cannot know.
struct Filling {
    at: &'static str,
    filler: PathBuf,
}

impl Progress for Filling {
    fn phase(&self, name: &str, _: u64) {
        if name == self.at {
            let mut file = std::fs::File::create(&self.filler).unwrap();
            while file.write_all(&[1; 4096]).is_ok() {}
        }
    }

    fn advance(&self, _: u64) {}
}

#[test]
#[ignore = "run by a_full_disk_is_told_and_survived, on a disk of 4 MiB"]
fn on_a_small_disk() {
    let disk = place();
    let source = file(&disk, &clustered::<u8>(4000, 32, 17));
    let out = disk.join("index");
    let options = options(Metric::L2);
    for at in ["encode", "write graph", "pages"] {
        let filling = Filling { at, filler: disk.join("filler") };
        let error = build(&source, &out, &options, &filling).unwrap_err();
        assert!(matches!(error, BuildError::DiskFull { .. }), "{at}: {error}");
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert!(!IndexDirectory::is_index(&out));
        std::fs::remove_file(&filling.filler).unwrap();
    }
    std::fs::write(disk.join("filler"), vec![1; 1 << 20]).unwrap();
    let wide = BuildOptions { degree: 400, ..options.clone() };
    let error = build(&source, &disk.join("other"), &wide, &Silent).unwrap_err();
    assert!(matches!(error, BuildError::NoRoom { .. }), "{error}");
    build_sound(&source, &out, &options);
}

#[test]
fn two_builds_in_one_place_do_not_mix() {
    /// Starts a second build inside the first.
    struct Second<'a>(&'a VectorFile, &'a Path);
    impl Progress for Second<'_> {
        fn phase(&self, name: &str, _: u64) {
            if name == "pages" {
                let error = build(self.0, self.1, &options(Metric::L2), &Silent).unwrap_err().to_string();
                assert!(error.contains("another build is running"), "{error}");
            }
        }

        fn advance(&self, _: u64) {}
    }
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), &clustered::<u8>(300, 16, 18));
    let out = dir.path().join("index");
    build(&source, &out, &options(Metric::L2), &Second(&source, &out)).unwrap();
    assert_sound(&out, 300);
}
