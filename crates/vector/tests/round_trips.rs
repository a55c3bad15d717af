//! Every format gives back what was written, by every way of access, whole and in slices.

#![allow(clippy::unwrap_used)] // outside of test functions too: this is all test code

use gleann_vector::{
    Element, ElementType, FileFormat, FileProblem, Matrix, RowSource, VectorFile, VectorWriter, crop_big_ann,
    read_keys, write_keys,
};
use half::f16;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn formats_of(element: ElementType) -> Vec<FileFormat> {
    FileFormat::ALL.into_iter().filter(|f| f.element_type().is_none_or(|own| own == element)).collect()
}

/// Rows whose every element tells where it belongs.
fn rows<T: Element>(count: usize, dim: usize) -> Vec<T> {
    (0..count * dim).map(|i| T::from_f32((i % 101) as f32).expect("fits every type")).collect()
}

fn written<T: Element>(dir: &TempDir, format: FileFormat, elements: &[T], dim: usize) -> PathBuf {
    let path = dir.path().join(format!("{dim}.{format}"));
    let mut writer = VectorWriter::<T>::create(&path, format, dim).unwrap();
    for rows in elements.chunks(3 * dim) {
        writer.push_rows(rows).unwrap();
    }
    assert!(!path.exists(), "the file appeared before it was finished");
    assert_eq!(writer.finish().unwrap(), (elements.len() / dim) as u64);
    path
}

fn comes_back<T: Element>(path: &Path, format: FileFormat, elements: &[T], dim: usize) {
    let file = VectorFile::open(path).unwrap();
    assert_eq!((file.format(), file.element_type(), file.dim()), (format, T::TYPE, dim));
    assert_eq!(file.rows() as usize * dim, elements.len());
    assert_eq!(file.read_all::<T>().unwrap().as_slice(), elements);
    let (source, map) = (file.source::<T>().unwrap(), file.map::<T>().unwrap());
    for start in 0..file.rows() {
        let expected = &elements[start as usize * dim..][..dim.min(elements.len())];
        assert_eq!(map.row(start), expected);
        let rest = &elements[start as usize * dim..];
        let mut read = vec![T::zeroed(); rest.len()];
        source.read_rows(start, &mut read).unwrap();
        assert_eq!(read, rest);
        map.read_rows(start, &mut read).unwrap();
        assert_eq!(read, rest);
    }
    let mut one = vec![T::zeroed(); dim];
    for (start, end) in [(file.rows(), file.rows() + 1), (u64::MAX, u64::MAX)] {
        for error in
            [source.read_rows(start, &mut one).unwrap_err(), map.read_rows(start, &mut one).unwrap_err()]
        {
            assert_eq!((error.start, error.end), (start, end));
            assert!(error.to_string().contains(&format!("there are {} rows", file.rows())), "{error}");
        }
    }
}

fn every_format<T: Element>() {
    let dir = TempDir::new().unwrap();
    for format in formats_of(T::TYPE) {
        for (count, dim) in [(1, 1), (7, 3), (10, 128), (2, 8192)] {
            let elements = rows::<T>(count, dim);
            comes_back(&written(&dir, format, &elements, dim), format, &elements, dim);
        }
    }
}

#[test]
fn every_format_comes_back() {
    every_format::<f32>();
    every_format::<f16>();
    every_format::<u8>();
    every_format::<i8>();
}

#[test]
fn bytes_are_those_of_the_formats() {
    let dir = TempDir::new().unwrap();
    let bytes = |format| std::fs::read(written::<u8>(&dir, format, &[1, 2, 3, 4, 5, 6], 3)).unwrap();
    assert_eq!(bytes(FileFormat::U8bin), [2, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(bytes(FileFormat::Bvecs), [3, 0, 0, 0, 1, 2, 3, 3, 0, 0, 0, 4, 5, 6]);
    let npy = bytes(FileFormat::Npy);
    assert_eq!(&npy[..10], b"\x93NUMPY\x01\x00\x76\x00");
    assert!(npy[10..].starts_with(b"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }"));
    assert_eq!((npy[127], &npy[128..]), (b'\n', &[1u8, 2, 3, 4, 5, 6][..]));
    let float = std::fs::read(written::<f32>(&dir, FileFormat::Fvecs, &[1.0, -2.0], 2)).unwrap();
    assert_eq!(float, [2, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
}

#[test]
fn files_without_rows_are_valid_where_they_can_be() {
    let dir = TempDir::new().unwrap();
    for format in formats_of(ElementType::U8) {
        let path = dir.path().join(format!("none.{format}"));
        let finished = VectorWriter::<u8>::create(&path, format, 5).unwrap().finish();
        if format == FileFormat::Bvecs {
            assert!(finished.unwrap_err().to_string().contains("cannot tell its dimension"));
            assert!(!path.exists());
            continue;
        }
        assert_eq!(finished.unwrap(), 0);
        let file = VectorFile::open(&path).unwrap();
        assert_eq!((file.rows(), file.dim()), (0, 5));
        assert_eq!(file.read_all::<u8>().unwrap().rows(), 0);
        assert_eq!(file.map::<u8>().unwrap().rows(), 0);
        file.source::<u8>().unwrap().read_rows(0, &mut []).unwrap();
    }
}

#[test]
fn an_unfinished_writer_leaves_nothing_and_harms_nothing() {
    let dir = TempDir::new().unwrap();
    let path = written::<u8>(&dir, FileFormat::U8bin, &[1, 2, 3], 3);
    let mut writer = VectorWriter::<u8>::create(&path, FileFormat::U8bin, 3).unwrap();
    writer.push_rows(&[9; 30]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(VectorFile::open(&path).unwrap().read_all::<u8>().unwrap().as_slice(), [1, 2, 3]);
}

#[test]
fn writers_refuse_what_a_format_cannot_hold() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("x");
    let refused = |error: gleann_vector::FileError| error.to_string();
    let message = refused(VectorWriter::<i8>::create(&path, FileFormat::Bvecs, 3).unwrap_err());
    assert!(message.contains(".bvecs files hold u8, not i8; write .i8bin or .npy"), "{message}");
    for dim in [0, 8193] {
        let message = refused(VectorWriter::<u8>::create(&path, FileFormat::U8bin, dim).unwrap_err());
        assert!(message.contains(&format!("the dimension is {dim}; expected 1 to 8192")), "{message}");
    }
    let missing = dir.path().join("no/such/dir.u8bin");
    let message = refused(VectorWriter::<u8>::create(&missing, FileFormat::U8bin, 3).unwrap_err());
    assert!(message.contains("creating failed"), "{message}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn slices_are_views_and_crops() {
    let dir = TempDir::new().unwrap();
    let elements = rows::<u8>(10, 4);
    for format in formats_of(ElementType::U8) {
        let file = VectorFile::open(written(&dir, format, &elements, 4)).unwrap();
        let middle = file.slice(3, 5).unwrap().slice(1, 3).unwrap();
        assert_eq!(middle.rows(), 3);
        assert_eq!(middle.read_all::<u8>().unwrap().as_slice(), &elements[16..28]);
        assert_eq!(middle.map::<u8>().unwrap().row(2), &elements[24..28]);
        assert_eq!(file.slice(10, 0).unwrap().rows(), 0);
        for (start, rows) in [(0, 11), (10, 1), (u64::MAX, 2)] {
            let error = file.slice(start, rows).unwrap_err().to_string();
            assert!(error.contains("the file has 10"), "{error}");
        }
        let mut row = [0u8; 4];
        assert!(middle.source::<u8>().unwrap().read_rows(3, &mut row).is_err());
        let crop = dir.path().join("crop.u8bin.crop_nb_3");
        middle.copy_to(&crop, FileFormat::U8bin).unwrap();
        let bytes = std::fs::read(&crop).unwrap();
        assert_eq!((&bytes[..8], &bytes[8..]), (&[3u8, 0, 0, 0, 4, 0, 0, 0][..], &elements[16..28]));
        comes_back(&crop, FileFormat::U8bin, &elements[16..28], 4);
    }
}

#[test]
fn a_partial_download_becomes_a_crop() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("base.1B.u8bin.crop_nb_2");
    let mut bytes = [1_000_000_000u32.to_le_bytes(), 4u32.to_le_bytes()].concat();
    bytes.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    std::fs::write(&path, &bytes).unwrap();
    let error = crop_big_ann(&path, 3).unwrap_err().to_string();
    assert!(error.contains("3 bytes are missing"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    crop_big_ann(&path, 2).unwrap();
    assert_eq!(
        VectorFile::open(&path).unwrap().read_all::<u8>().unwrap().as_slice(),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    let error = crop_big_ann(&path, 3).unwrap_err().to_string();
    assert!(error.contains("rows 0..3 were asked for; the file has 2"), "{error}");
    assert!(crop_big_ann(dir.path().join("x.fvecs"), 1).unwrap_err().to_string().contains(".fbin, .u8bin"));
}

#[test]
fn the_wrong_element_type_names_both() {
    let dir = TempDir::new().unwrap();
    let file = VectorFile::open(written::<u8>(&dir, FileFormat::U8bin, &[1, 2, 3], 3)).unwrap();
    let errors = [
        file.source::<f32>().unwrap_err(),
        file.map::<f32>().unwrap_err(),
        file.read_all::<f32>().unwrap_err(),
    ];
    for error in errors {
        let wrong = matches!(error.problem, FileProblem::WrongElement { asked, found }
            if (asked, found) == (ElementType::F32, ElementType::U8));
        assert!(wrong && error.to_string().contains("3.u8bin: the file holds u8 elements, f32"), "{error}");
    }
}

#[test]
fn npy_of_every_version_and_alignment() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.npy");
    let file = |version: u8, text: &str, body: &[u8]| {
        let mut bytes = [b"\x93NUMPY".as_slice(), &[version, 0]].concat();
        match version {
            1 => bytes.extend_from_slice(&(text.len() as u16).to_le_bytes()),
            _ => bytes.extend_from_slice(&(text.len() as u32).to_le_bytes()),
        }
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(body);
        std::fs::write(&path, bytes).unwrap();
        VectorFile::open(&path)
    };
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
    let body: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    for version in 1..=3 {
        for padding in 0..8 {
            let opened = file(version, &format!("{header}{}", " ".repeat(padding)), &body).unwrap();
            assert_eq!(opened.read_all::<f32>().unwrap().as_slice(), [1.5, -2.0]);
            let start = if version == 1 { 10 } else { 12 } + header.len() + padding;
            match opened.map::<f32>() {
                Ok(map) => assert!(start.is_multiple_of(4) && map.row(1) == [-2.0]),
                Err(error) => {
                    assert!(
                        !start.is_multiple_of(4) && error.to_string().contains("read it instead"),
                        "{error}"
                    )
                }
            }
        }
    }
    for (change, to, message) in [
        ("<f4", "<f8", "element type is `<f8`; expected <f4, <f2, |u1 or |i1"),
        ("<f4", "<i8", "element type is `<i8`"),
        ("<f4", "|O", "element type is `|O`"),
        ("<f4", ">f4", "big-endian"),
        ("False", "True", "Fortran (column-major) order"),
        ("(2, 1)", "(2,)", "1 dimension(s); expected 2"),
        ("(2, 1)", "(2, 1, 1)", "3 dimension(s); expected 2"),
        ("(2, 1)", "(2, 0)", "the dimension is 0; expected 1 to 8192"),
        ("(2, 1)", "(0, 8193)", "the dimension is 8193"),
        ("(2, 1)", "(3, 1)", "4 bytes are missing"),
        ("(2, 1)", "(1, 1)", "4 bytes too many"),
        ("(2, 1)", "(18446744073709551615, 8192)", "overflow"),
        ("'shape'", "'shapes'", "unknown key `shapes`"),
    ] {
        let error = file(1, &header.replace(change, to), &body).unwrap_err().to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
    assert!(file(4, header, &body).unwrap_err().to_string().contains("format version 4; expected 1, 2 or 3"));
}

#[test]
fn keys_come_back_from_both_forms() {
    let dir = TempDir::new().unwrap();
    let (binary, text) = (dir.path().join("k.u64bin"), dir.path().join("k.txt"));
    let keys = [7, u64::MAX, 0, 1 << 33];
    write_keys(&binary, &keys).unwrap();
    assert_eq!(std::fs::read(&binary).unwrap()[..16], [4, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(read_keys(&binary, 4).unwrap(), keys);
    for end in ["\n", "\r\n"] {
        let lines = keys.map(|key| key.to_string()).join(end);
        std::fs::write(&text, &lines).unwrap();
        assert_eq!(read_keys(&text, 4).unwrap(), keys);
        std::fs::write(&text, lines + end).unwrap();
        assert_eq!(read_keys(&text, 4).unwrap(), keys);
    }
    for path in [&binary, &text] {
        for rows in [3, 5] {
            let error = read_keys(path, rows).unwrap_err().to_string();
            assert!(error.contains(&format!("the file has 4 keys; expected {rows}")), "{error}");
        }
    }
    write_keys(&binary, &[5, 9, 5, 9]).unwrap();
    let error = read_keys(&binary, 4).unwrap_err().to_string();
    assert!(error.contains("rows 0 and 2 have the same key 5"), "{error}");
    for (lines, message) in [
        ("1\n-2\n", "line 2: `-2` is no key"),
        ("1\n\n2\n", "line 2: `` is no key"),
        ("+1\n2\n", "line 1: `+1` is no key"),
        ("1\n18446744073709551616\n", "line 2: `18446744073709551616` is no key"),
        ("1 2\n", "line 1: `1 2` is no key"),
        ("\u{1f}\u{8b}", "line 1"),
    ] {
        std::fs::write(&text, lines).unwrap();
        let error = read_keys(&text, 2).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    std::fs::write(&text, vec![b'1'; 1 << 20]).unwrap();
    assert!(read_keys(&text, 2).unwrap_err().to_string().len() < 400);
    std::fs::write(&text, "").unwrap();
    assert_eq!(read_keys(&text, 0).unwrap(), Vec::<u64>::new());
}

#[test]
fn a_matrix_is_a_source_too() {
    let dir = TempDir::new().unwrap();
    let matrix = Matrix::from_rows(&rows::<f32>(5, 2), 2);
    let path = written(&dir, FileFormat::Fvecs, matrix.as_slice(), 2);
    let file = VectorFile::open(&path).unwrap();
    let sources: [&dyn RowSource<f32>; 3] =
        [&matrix, &file.source::<f32>().unwrap(), &file.map::<f32>().unwrap()];
    for source in sources {
        let mut two = [0.0; 4];
        source.read_rows(3, &mut two).unwrap();
        assert_eq!(two, matrix.as_slice()[6..10]);
    }
}
