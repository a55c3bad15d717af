//! A file is replaced whole or not at all, and an unfinished build never looks like an index.
#![allow(clippy::unwrap_used)]

mod tiny;

use gleann_storage::{
    AtomicFile, BuildId, GraphWriter, IndexDirectory, MemberKind, MemberWriter, NewRecord, StorageError,
    replace_file,
};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use tiny::Tiny;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn dropping_keeps_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    replace_file(&path, b"old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.reserve(1 << 16).unwrap();
    file.write(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    drop(file);
    assert_eq!((names(dir.path()), fs::read(&path).unwrap()), (vec!["file".into()], b"old".to_vec()));
    replace_file(&path, b"").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn a_failed_rename_leaves_no_temporary_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("taken");
    fs::create_dir(&path).unwrap();
    let error = replace_file(&path, b"new").unwrap_err();
    assert!(matches!(&error, StorageError::Io { action: "renaming to", .. }), "{error:?}");
    assert!(error.to_string().contains("taken"), "{error}");
    assert_eq!(names(dir.path()), ["taken"]);
}

#[test]
fn a_removed_directory_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let mut file = AtomicFile::create(&inner.join("file")).unwrap();
    file.write(b"new").unwrap();
    fs::remove_dir_all(&inner).unwrap();
    let error = file.commit().unwrap_err();
    assert_eq!(error.io_kind(), Some(ErrorKind::NotFound));
    assert!(error.to_string().contains("inner/file"), "{error}");
    let error = replace_file(&inner.join("file"), b"new").unwrap_err();
    assert_eq!(error.io_kind(), Some(ErrorKind::NotFound));
}

#[test]
fn what_a_killed_writer_left_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(dir.path().join("file.tmp"), [7; 1000]).unwrap();
    replace_file(&path, b"new").unwrap();
    assert_eq!((names(dir.path()), fs::read(&path).unwrap()), (vec!["file".into()], b"new".to_vec()));
}

#[test]
fn a_second_writer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let mut first = AtomicFile::create(&path).unwrap();
    first.write(b"first").unwrap();
    let error = AtomicFile::create(&path).unwrap_err();
    assert_eq!(error.io_kind(), Some(ErrorKind::WouldBlock));
    assert!(error.to_string().contains("another process is writing it"), "{error}");
    first.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first");
    replace_file(&path, b"second").unwrap();
}

#[test]
fn a_link_in_place_of_the_temporary_file_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("victim"), "victim").unwrap();
    std::os::unix::fs::symlink(dir.path().join("victim"), dir.path().join("file.tmp")).unwrap();
    assert!(replace_file(&dir.path().join("file"), b"new").is_err());
    assert_eq!(fs::read(dir.path().join("victim")).unwrap(), b"victim");
}

#[test]
fn an_unfinished_build_is_no_index() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Tiny::default();
    let mut graph =
        GraphWriter::create(dir.path(), shape.layout::<u8>(), shape.nodes, BuildId([1; 16])).unwrap();
    graph.push(&NewRecord { vector: &shape.vector::<u8>(0), neighbours: &[1], codes: &[] }).unwrap();
    assert_eq!(names(dir.path()), ["graph.gln.tmp"]);
    assert!(!IndexDirectory::is_index(dir.path()));
    assert!(matches!(IndexDirectory::open(dir.path()), Err(StorageError::NotAnIndex { .. })));
    drop(graph);
    assert_eq!(names(dir.path()), [""; 0]);

    // Everything but the manifest is not enough either.
    shape.build::<u8>(dir.path()).unwrap();
    assert!(IndexDirectory::is_index(dir.path()));
    fs::remove_file(dir.path().join("MANIFEST")).unwrap();
    assert!(matches!(IndexDirectory::open(dir.path()), Err(StorageError::NotAnIndex { .. })));
}

#[test]
fn publishing_asserts_what_opening_will() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Tiny::default().build::<u8>(dir.path()).unwrap();
    let before = fs::read(dir.path().join("MANIFEST")).unwrap();

    let mut wrong = manifest.clone();
    wrong.entry = None;
    assert!(wrong.publish(dir.path()).unwrap_err().to_string().contains("the entry point is absent"));
    let mut wrong = manifest.clone();
    wrong.build_id = BuildId([0; 16]);
    assert!(wrong.publish(dir.path()).unwrap_err().to_string().contains("the build id is"));
    let mut wrong = manifest.clone();
    wrong.parameters.options.insert("long".into(), "x".repeat(70_000));
    assert!(wrong.publish(dir.path()).unwrap_err().to_string().contains("the build options are too long"));
    fs::remove_file(dir.path().join("pq.codes")).unwrap();
    assert!(manifest.publish(dir.path()).unwrap_err().to_string().contains("pq.codes is missing"));

    assert_eq!(fs::read(dir.path().join("MANIFEST")).unwrap(), before);
}

#[test]
#[should_panic(expected = "payload bytes written")]
fn a_short_member_is_not_finished() {
    let dir = tempfile::tempdir().unwrap();
    let member = MemberWriter::create(dir.path(), MemberKind::Codes, BuildId([0; 16]), 10).unwrap();
    let _ = member.finish();
}

#[test]
#[should_panic(expected = "has neighbours [15]")]
fn a_neighbour_that_is_no_node_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Tiny::default();
    let mut graph =
        GraphWriter::create(dir.path(), shape.layout::<u8>(), shape.nodes, BuildId([1; 16])).unwrap();
    let _ = graph.push(&NewRecord { vector: &shape.vector::<u8>(0), neighbours: &[15], codes: &[] });
}
