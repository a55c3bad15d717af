//! Files that are cut, absurd or of another kind: always an error that says so, never a panic, never an answer.

#![allow(clippy::unwrap_used)] // outside of test functions too: this is all test code

use gleann_vector::{FileFormat, FileProblem, GroundTruth, NO_ID, VectorFile, VectorWriter, read_keys};
use std::path::PathBuf;
use tempfile::TempDir;

fn file(dir: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    // Some file systems flush a file that is overwritten in place.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn big_ann(n: u32, d: u32, body: usize) -> Vec<u8> {
    let mut bytes = words(&[n, d]);
    // Floats of everyday size, whatever the type.
    bytes.extend([0, 0, 0x80, 0x3f].into_iter().cycle().take(body));
    bytes
}

fn open_error(path: &PathBuf) -> String {
    VectorFile::open(path).expect_err("opened").to_string()
}

#[test]
fn a_cut_at_every_byte_is_seen() {
    let dir = TempDir::new().unwrap();
    for format in FileFormat::ALL {
        let whole = dir.path().join(format!("whole.{format}"));
        macro_rules! write {
            ($type:ty) => {{
                let one = <$type as gleann_vector::Element>::from_f32(1.0).unwrap();
                let mut writer = VectorWriter::<$type>::create(&whole, format, 6).unwrap();
                writer.push_rows(&[one; 30]).unwrap();
                writer.finish().unwrap();
            }};
        }
        match format {
            FileFormat::Fbin | FileFormat::Fvecs => write!(f32),
            FileFormat::U8bin | FileFormat::Bvecs | FileFormat::Npy => write!(u8),
            FileFormat::I8bin => write!(i8),
            FileFormat::F16bin => write!(half::f16),
        }
        let bytes = std::fs::read(&whole).unwrap();
        let row = bytes.len() / 5;
        for length in 0..bytes.len() {
            let cut = file(&dir, &format!("cut.{format}"), &bytes[..length]);
            let is_rows = matches!(format, FileFormat::Fvecs | FileFormat::Bvecs);
            if is_rows && length > 0 && length % row == 0 {
                // The format cannot know of rows that are gone as a whole.
                assert_eq!(VectorFile::open(&cut).unwrap().rows(), (length / row) as u64);
                continue;
            }
            let error = open_error(&cut);
            let says = if length == 0 { "the file is empty" } else { "bytes are missing" };
            assert!(
                error.contains(says) || format == FileFormat::Npy && length < 6,
                "{format} {length}: {error}"
            );
        }
        let long = file(&dir, &format!("long.{format}"), &[&bytes[..], &[0]].concat());
        let error = open_error(&long);
        assert!(
            error.contains("1 bytes too many") || error.contains("bytes are missing"),
            "{format}: {error}"
        );
    }
}

#[test]
fn a_short_download_says_how_much_is_missing() {
    let dir = TempDir::new().unwrap();
    let error = open_error(&file(&dir, "base.u8bin", &big_ann(1000, 128, 100_000)));
    let expected = "the file is cut short: the header and 1000 rows × 128 u8 take 128008 bytes, \
                    the file has 100008: 28000 bytes are missing";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn absurd_headers_are_refused() {
    let dir = TempDir::new().unwrap();
    for (n, d, message) in [
        (u32::MAX, 128, "take 549755813768 bytes"),
        (u32::MAX, 8192, "bytes are missing"),
        (u32::MAX, u32::MAX, "the dimension is 4294967295; expected 1 to 8192"),
        (10, 0, "the dimension is 0; expected 1 to 8192"),
        (10, 8193, "the dimension is 8193"),
        (0, 0, "the dimension is 0"),
    ] {
        for suffix in ["u8bin", "i8bin", "f16bin", "fbin"] {
            let error = open_error(&file(&dir, &format!("a.{suffix}"), &big_ann(n, d, 64)));
            assert!(error.contains(message) || n == u32::MAX, "{suffix} {n} {d}: {error}");
            assert!(error.contains("missing") || error.contains("the dimension is"), "{error}");
        }
    }
    for d in [0, 8193, u32::MAX] {
        for suffix in ["fvecs", "bvecs"] {
            let error = open_error(&file(&dir, &format!("a.{suffix}"), &words(&[d, 1, 2, 3])));
            assert!(error.contains(&format!("the dimension is {d}; expected 1 to 8192")), "{error}");
        }
    }
    for (queries, k) in [(u32::MAX, u32::MAX), (1 << 31, 1 << 31), (u32::MAX, 100)] {
        let error = GroundTruth::read(file(&dir, "gt", &big_ann(queries, k, 64))).unwrap_err().to_string();
        assert!(error.contains("expected something that fits") || error.contains("missing"), "{error}");
    }
    let error = GroundTruth::read(file(&dir, "gt", &big_ann(10, 0, 0))).unwrap_err().to_string();
    assert!(error.contains("k is 0; expected at least 1"), "{error}");
    let error = read_keys(file(&dir, "k.u64bin", &big_ann(u32::MAX, 1, 64)), 8).unwrap_err().to_string();
    assert!(error.contains("4294967295 keys take 34359738368 bytes"), "{error}");
    let error = read_keys(file(&dir, "k.u64bin", &big_ann(8, 2, 64)), 8).unwrap_err().to_string();
    assert!(error.contains("the second header word is 2; expected 1"), "{error}");
}

#[test]
fn a_wrong_kind_is_named_by_its_shape() {
    let dir = TempDir::new().unwrap();
    let texmex = |d: u32, n: usize, row: usize| {
        let mut row_bytes = d.to_le_bytes().to_vec();
        row_bytes.extend([0, 0, 0x80, 0x3f].into_iter().cycle().take(row));
        row_bytes.repeat(n)
    };
    let sparse = [&words(&[3, 0, 50, 0, 2, 0])[..], &[1; 4 * 8 + 2 * 8]].concat();
    for (name, bytes, looks) in [
        ("a.fbin", big_ann(10, 16, 160), "a .u8bin or .i8bin file of 10 × 16"),
        ("a.u8bin", big_ann(10, 16, 640), "an .fbin file of 10 × 16"),
        ("a.u8bin", big_ann(10, 16, 320), "an .f16bin file of 10 × 16"),
        ("a.f16bin", big_ann(10, 16, 160), "a .u8bin or .i8bin file of 10 × 16"),
        ("a.fbin", big_ann(10, 100, 8000), "a ground-truth file with distances (10 queries, k = 100)"),
        ("a.u8bin", big_ann(10, 100, 8000), "a ground-truth file with distances (10 queries, k = 100)"),
        ("a.fbin", big_ann(10, 77, 10 * 4 + 77 * 8), "a range ground-truth file (10 queries, 77 results)"),
        ("a.u8bin", big_ann(10, 1, 80), "a .u64bin key file of 10 keys"),
        ("a.fbin", texmex(16, 10, 64), "an .fvecs or .ivecs file of 10 × 16"),
        ("a.u8bin", texmex(16, 10, 16), "a .bvecs file of 10 × 16"),
        ("a.fvecs", texmex(18, 11, 18), "a .bvecs file of 11 × 18"),
        ("a.bvecs", texmex(18, 11, 72), "an .fvecs or .ivecs file of 11 × 18"),
        ("a.fvecs", big_ann(10, 16, 640), "an .fbin file of 10 × 16"),
        ("a.npy", big_ann(10, 16, 640), "an .fbin file of 10 × 16"),
        ("a.u8bin", sparse, "a sparse matrix (.csr, .spmat) of 3 × 50"),
    ] {
        let error = open_error(&file(&dir, name, &bytes));
        assert!(error.contains("it looks like") && error.contains(looks), "{name}, not {looks}: {error}");
    }
    // Neither has size to tell it by.
    let error = open_error(&file(&dir, "a.npy", b"hello, world"));
    assert!(error.contains("not a NumPy .npy file; it looks like none that is known here"), "{error}");
}

#[test]
fn a_wrong_kind_is_named_by_its_first_bytes() {
    let dir = TempDir::new().unwrap();
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let heads: [(&[u8], &str); 9] = [
        (b"\x89HDF\r\n\x1a\n\0\0\0\0", "an HDF5 file"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\0", "a gzip archive"),
        (b"\x93NUMPY\x01\0v\0{", "a NumPy .npy file"),
        (b"PK\x03\x04\0\0\0\0\0\0", "a zip or .npz archive"),
        (b"<!DOCTYPE html><html>404", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer"),
        (b"PAR1\0\0\0\0\0\0", "a Parquet file"),
        (b"\x28\xb5\x2f\xfd\0\0\0\0\0", "a zstd archive"),
        (&tar, "a tar archive"),
    ];
    for (head, looks) in heads {
        for format in
            FileFormat::ALL.into_iter().filter(|f| *f != FileFormat::Npy || !head.starts_with(b"\x93"))
        {
            let error = open_error(&file(&dir, &format!("a.{format}"), head));
            assert!(error.contains(&format!("file; it looks like {looks}")), "{format}: {error}");
        }
        for name in ["gt", "gt.ivecs"] {
            let error = GroundTruth::read(file(&dir, name, head)).unwrap_err().to_string();
            assert!(error.contains(looks), "{error}");
        }
        for name in ["keys.u64bin", "keys.txt"] {
            let error = read_keys(file(&dir, name, head), 1).unwrap_err().to_string();
            assert!(error.contains(looks), "{error}");
        }
    }
}

#[test]
fn names_that_tell_of_something_else() {
    let dir = TempDir::new().unwrap();
    let content = big_ann(1, 1, 4);
    for (name, message) in [
        ("a.bin", "expected a name that ends in .fbin, .u8bin, .i8bin, .f16bin, .fvecs, .bvecs, .npy"),
        ("a.ivecs", "hold ids, not vectors"),
        ("a.hdf5", "convert the file to .fbin or .npy first"),
        ("a.fbin.gz", "unpack the file first"),
        ("a.u64bin", "hold keys, not vectors"),
    ] {
        let error = open_error(&file(&dir, name, &content));
        assert!(error.contains(name) && error.contains(message), "{error}");
    }
    let opened = VectorFile::open_as(dir.path().join("a.bin"), FileFormat::Fbin).unwrap();
    assert_eq!(opened.rows(), 1);
    let missing = VectorFile::open(dir.path().join("none.fbin")).unwrap_err();
    assert!(matches!(missing.problem, FileProblem::Io { action: "opening", .. }), "{missing}");
    std::fs::create_dir(dir.path().join("dir.fbin")).unwrap();
    assert!(open_error(&dir.path().join("dir.fbin")).contains("not a regular file"));
    let error = GroundTruth::read(file(&dir, "base.fbin", &content)).unwrap_err().to_string();
    assert!(error.contains("a .fbin file holds vectors, not ground truth"), "{error}");
}

#[test]
fn ids_are_not_taken_for_floats() {
    let dir = TempDir::new().unwrap();
    let ids: Vec<u32> = (0..1000).collect();
    let error = open_error(&file(&dir, "gt.fbin", &[words(&[10, 100]), words(&ids)].concat()));
    assert!(error.contains("it looks like a file of 32-bit ids: ground truth"), "{error}");
    // Zeros are floats like others.
    VectorFile::open(file(&dir, "zeros.fbin", &[words(&[10, 100]), vec![0; 4000]].concat())).unwrap();
}

#[test]
fn a_row_of_another_length_is_found_wherever_it_is() {
    let dir = TempDir::new().unwrap();
    let mut rows = [2u8, 0, 0, 0, 7, 8].repeat(5);
    rows[12] = 3;
    let opened = VectorFile::open(file(&dir, "a.bvecs", &rows)).unwrap();
    let message = "row 2 says it has 3 elements; every row of this file has 2";
    assert!(opened.map::<u8>().unwrap_err().to_string().contains(message));
    assert!(opened.read_all::<u8>().unwrap_err().to_string().contains(message));
    rows[12] = 2;
    rows[24] = 1;
    let error = open_error(&file(&dir, "a.bvecs", &rows));
    assert!(error.contains("row 4 says it has 1 elements"), "{error}");
    let ids = words(&[2, 1, 2, 3, 1, 2, 2, 1, 2]);
    let error = GroundTruth::read(file(&dir, "gt.ivecs", &ids)).unwrap_err().to_string();
    assert!(error.contains("row 1 says it has 3 elements"), "{error}");
}

#[test]
fn a_file_that_shrinks_is_an_error_of_the_read() {
    let dir = TempDir::new().unwrap();
    let path = file(&dir, "a.u8bin", &big_ann(10, 16, 160));
    let opened = VectorFile::open(&path).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    let error = opened.read_all::<u8>().unwrap_err().to_string();
    assert!(error.contains("reading rows 0..10 of") && error.contains("a.u8bin"), "{error}");
}

#[test]
fn truth_files_are_told_apart_by_size() {
    let dir = TempDir::new().unwrap();
    let truth = GroundTruth {
        queries: 2,
        k: 3,
        ids: vec![0, 5, 2, 7, 1, NO_ID],
        distances: Some(vec![0.0, 1.0, 2.0, 0.5, 0.5, f32::INFINITY]),
    };
    let bare = GroundTruth { distances: None, ..truth.clone() };
    let path = dir.path().join("gt");
    truth.write(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 + 2 * 3 * 8);
    assert_eq!(GroundTruth::read(&path).unwrap(), truth);
    let bytes = std::fs::read(&path).unwrap();
    for length in (0..bytes.len()).filter(|&length| length != 8 + 2 * 3 * 4) {
        assert!(GroundTruth::read(file(&dir, "cut", &bytes[..length])).is_err(), "{length}");
    }
    assert!(GroundTruth::read(file(&dir, "long", &[&bytes[..], &[0]].concat())).is_err());
    bare.write(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 + 2 * 3 * 4);
    assert_eq!(GroundTruth::read(&path).unwrap(), bare);
    let ivecs = dir.path().join("gt.ivecs");
    truth.write(&ivecs).unwrap();
    assert_eq!(std::fs::read(&ivecs).unwrap()[..8], words(&[3, 0]));
    assert_eq!(GroundTruth::read(&ivecs).unwrap(), bare);
    let nan = GroundTruth { distances: Some(vec![f32::NAN; 6]), ..truth.clone() };
    nan.write(&path).unwrap();
    let error = GroundTruth::read(&path).unwrap_err().to_string();
    assert!(error.contains("query 0, neighbour 0: the distance is NaN"), "{error}");
    truth.check_ids(&path, 8).unwrap();
    let error = truth.check_ids(&path, 7).unwrap_err().to_string();
    assert!(error.contains("query 1, neighbour 0: id 7 is no row of a base of 7 rows"), "{error}");
}
