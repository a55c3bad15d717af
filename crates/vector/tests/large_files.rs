//! Offsets beyond 4 GiB, in files with a hole: they take a few pages on disk.

#![allow(clippy::unwrap_used)] // outside of test functions too: this is all test code

use gleann_vector::{RowSource, VectorFile};
use std::fs::File;
use std::os::unix::fs::FileExt;
use tempfile::TempDir;

const DIM: u64 = 128;

fn sparse(dir: &TempDir, name: &str, length: u64, header: &[u32]) -> File {
    let path = dir.path().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
    file.set_len(length).unwrap();
    let header: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.write_all_at(&header, 0).unwrap();
    file
}

#[test]
fn rows_beyond_four_gib_are_found() {
    let dir = TempDir::new().unwrap();
    // 5 GiB of u8: row 2³² / 128 and those after it lie beyond what 32 bits can address.
    let rows = (5u64 << 30) / DIM;
    let written = sparse(&dir, "a.u8bin", 8 + rows * DIM, &[rows as u32, DIM as u32]);
    let (middle, last) = ((1u64 << 32) / DIM + 3, rows - 1);
    for row in [middle, last] {
        written.write_all_at(&[row as u8 | 1; DIM as usize], 8 + row * DIM).unwrap();
    }
    let file = VectorFile::open(dir.path().join("a.u8bin")).unwrap();
    assert_eq!(file.rows(), rows);
    let (source, map) = (file.source::<u8>().unwrap(), file.map::<u8>().unwrap());
    let mut row = [0; DIM as usize];
    for wanted in [middle, last] {
        let expected = [wanted as u8 | 1; DIM as usize];
        source.read_rows(wanted, &mut row).unwrap();
        assert_eq!(row, expected);
        assert_eq!(map.row(wanted), expected);
        let slice = file.slice(wanted, 1).unwrap();
        assert_eq!(slice.read_all::<u8>().unwrap().row(0), expected);
        assert_eq!(slice.map::<u8>().unwrap().row(0), expected);
        source.read_rows(wanted - 1, &mut row).unwrap();
        assert_eq!(row, [0; DIM as usize]);
    }
    let cut = File::options().write(true).open(dir.path().join("a.u8bin")).unwrap();
    cut.set_len(2_147_483_648).unwrap();
    let error = VectorFile::open(dir.path().join("a.u8bin")).unwrap_err().to_string();
    assert!(error.contains("3221225480 bytes are missing"), "{error}");
}

#[test]
fn more_rows_than_i32_counts() {
    let dir = TempDir::new().unwrap();
    let rows = (1u64 << 31) + 1;
    let written = sparse(&dir, "a.i8bin", 8 + rows * 2, &[rows as u32, 2]);
    written.write_all_at(&[5, 6], 8 + (rows - 1) * 2).unwrap();
    let file = VectorFile::open(dir.path().join("a.i8bin")).unwrap();
    assert_eq!(file.rows(), rows);
    assert_eq!(file.slice(rows - 1, 1).unwrap().read_all::<i8>().unwrap().row(0), [5, 6]);
    assert_eq!(file.map::<i8>().unwrap().row(rows - 1), [5, 6]);
}

#[test]
fn texmex_rows_beyond_four_gib_are_found() {
    let dir = TempDir::new().unwrap();
    let stride = 4 + 8192;
    let rows = (5u64 << 30) / stride;
    let written = sparse(&dir, "a.bvecs", rows * stride, &[8192]);
    written.write_all_at(&8192u32.to_le_bytes(), (rows - 1) * stride).unwrap();
    written.write_all_at(&[9; 8192], (rows - 1) * stride + 4).unwrap();
    let file = VectorFile::open(dir.path().join("a.bvecs")).unwrap();
    assert_eq!(file.rows(), rows);
    let last = file.slice(rows - 1, 1).unwrap();
    assert_eq!(last.read_all::<u8>().unwrap().row(0), [9; 8192]);
    assert_eq!(last.map::<u8>().unwrap().row(0), [9; 8192]);
    let hole = file.slice(rows - 2, 1).unwrap().read_all::<u8>().unwrap_err().to_string();
    assert!(hole.contains("says it has 0 elements; every row of this file has 8192"), "{hole}");
}
