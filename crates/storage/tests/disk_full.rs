//! A full disk: the error says so and names the file, nothing half-written is left, the old index stands.
//!
//! The scenario needs a small disk. A process of its own mounts one in memory where the system lets it;
//! elsewhere the limit on the size of a file stands for it.
#![allow(clippy::unwrap_used)]

mod tiny;

use gleann_storage::{IndexDirectory, replace_file};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use tiny::{Tiny, check};

const MOUNT: &str = "GLEANN_TEST_SMALL_DISK";

/// Runs the ignored test `name` of this binary after `shell`, in namespaces of its own. `None` where the
/// system has none for us.
fn run_apart(name: &str, shell: &str, disk: &Path) -> Option<bool> {
    let probe = Command::new("unshare").args(["-rm", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let script = format!("{shell} && exec \"$0\" --exact {name} --ignored --nocapture");
    let status = Command::new("unshare")
        .args(["-rm", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(MOUNT, disk)
        .status();
    Some(status.unwrap().success())
}

#[test]
fn on_a_small_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=128k tmpfs \"$GLEANN_TEST_SMALL_DISK\"";
    match run_apart("with_every_number_of_free_pages", mount, dir.path()) {
        Some(success) => assert!(success, "see above"),
        None => eprintln!("no user namespaces here: only the limit on file sizes is tested"),
    }
}

#[test]
#[ignore = "run by on_a_small_disk, on a disk of 128 KiB"]
fn with_every_number_of_free_pages() {
    let disk = PathBuf::from(std::env::var_os(MOUNT).expect("run by on_a_small_disk"));
    let (old, new) = (disk.join("old"), disk.join("new"));
    fs::create_dir(&old).unwrap();
    let small = Tiny { nodes: 2, keys: false, ..Tiny::default() };
    small.build::<u8>(&old).unwrap();
    let mut failures = 0;
    for taken in (0..32).rev() {
        // Fill the disk, then free what `taken` leaves: one page more in each round.
        fs::write(disk.join("filler"), vec![1; taken * 4096]).unwrap_or(());
        fs::create_dir(&new).unwrap_or(());
        match Tiny::default().build::<u8>(&new) {
            Ok(_) => {
                assert_eq!(check(&new), [""; 0]);
                assert!(failures >= 8, "only {failures} rounds failed");
                return;
            }
            Err(error) => {
                failures += 1;
                assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull), "{error}");
                assert!(error.to_string().contains("/new/"), "{error}");
                assert!(!IndexDirectory::is_index(&new));
            }
        }
        let left = fs::read_dir(&new).into_iter().flatten().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.filter(|name| name.to_string_lossy().ends_with(".tmp")).count(), 0);
        let _ = fs::remove_dir_all(&new);
        assert_eq!(check(&old), [""; 0], "{taken} pages taken");
    }
    panic!("no round succeeded");
}

#[test]
fn files_may_not_grow() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    replace_file(&path, b"old").unwrap();
    // Through a pipe: the limit would hold for a file that the output goes to as well.
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 64; trap '' XFSZ; exec \"$0\" --exact under_a_limit_on_file_sizes --ignored"])
        .arg(std::env::current_exe().unwrap())
        .env(MOUNT, dir.path())
        .output();
    assert!(output.unwrap().status.success());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
#[ignore = "run by files_may_not_grow, under a limit of 64 blocks"]
fn under_a_limit_on_file_sizes() {
    let dir = PathBuf::from(std::env::var_os(MOUNT).expect("run by files_may_not_grow"));
    let error = replace_file(&dir.join("file"), &vec![1; 1 << 20]).unwrap_err();
    assert_eq!(error.io_kind(), Some(ErrorKind::FileTooLarge), "{error}");
    assert!(error.to_string().starts_with("reserving room for "), "{error}");
    // Without the reservation the write itself fails, half-way.
    let mut file = gleann_storage::AtomicFile::create(&dir.join("file")).unwrap();
    let error = file.write(&vec![1; 1 << 20]).unwrap_err();
    assert_eq!(error.io_kind(), Some(ErrorKind::FileTooLarge), "{error}");
}
