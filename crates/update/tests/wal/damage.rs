//! Bytes that are not what was written: found, named by file and offset, and never taken for a torn tail where they had
//! been durable.

use super::{committed, open, options};
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Durability, Lsn, WalError};

fn change(volume: &SimVolume, name: &str, offset: u64, change: impl Fn(u8) -> u8) {
    let file = volume.open(name).unwrap().unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, offset).unwrap();
    file.write_at(&[change(byte[0])], offset).unwrap();
}

/// The message of the error, which has to name file and offset.
fn refused(volume: &SimVolume, name: &str, offset: u64) -> String {
    let before: Vec<_> = volume.list().unwrap();
    let error = open(volume, options(1, Durability::Each)).unwrap_err();
    let WalError::Damaged { path, offset: found, .. } = &error else { panic!("{error}") };
    assert_eq!((path, *found), (&volume.path(name), offset), "{error}");
    assert_eq!(volume.list().unwrap(), before, "nothing is removed from a damaged log");
    error.to_string()
}

#[test]
fn every_flipped_bit_before_the_last_record_is_found() {
    let (volume, places) = committed(4, 21);
    for (name, offset, bytes) in &places[..3] {
        for bit in 0..8 * bytes {
            let image = volume.crash_image(u64::MAX);
            change(&image, name, offset + bit / 8, |byte| byte ^ (1 << (bit % 8)));
            refused(&image, name, *offset);
        }
    }
}

#[test]
fn a_flipped_bit_in_the_last_record_is_a_torn_tail() {
    let (volume, places) = committed(4, 21);
    let (name, offset, bytes) = &places[3];
    for byte in 0..*bytes {
        let image = volume.crash_image(u64::MAX);
        change(&image, name, offset + byte, |byte| byte ^ 4);
        let (wal, records) = open(&image, options(1, Durability::Each)).unwrap();
        assert_eq!(records.len(), 3);
        assert_eq!(wal.append(b"other").unwrap(), Lsn(4));
        wal.flush().unwrap();
        let (_, records) = open(&image.crash_image(0), options(1, Durability::Each)).unwrap();
        assert_eq!(records[3], (Lsn(4), b"other".to_vec()));
    }
}

#[test]
fn zeros_in_the_place_of_records_are_found() {
    for gone in 0..9 {
        let (volume, places) = committed(10, 1500);
        let (name, offset, bytes) = &places[gone];
        volume.open(name).unwrap().unwrap().write_at(&vec![0; *bytes as usize], *offset).unwrap();
        let message = refused(&volume, name, *offset);
        assert!(
            message.contains(&format!("found the end of the records, expected record {}", gone + 1)),
            "{message}"
        );
    }
}

#[test]
fn the_last_record_of_a_segment_is_missed_though_the_next_is_empty() {
    let (volume, places) = committed(3, 100);
    let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
    assert_eq!(wal.rotate().unwrap(), 2);
    drop(wal);
    let (name, offset, _) = &places[2];
    change(&volume, name, offset + 30, |byte| !byte);
    let message = refused(&volume, name, *offset);
    assert!(message.contains("before segment 2 was made") && message.contains("checksum"), "{message}");
}

#[test]
fn records_in_the_next_segment_tell_that_those_before_were_durable() {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::None)).unwrap();
    for number in 0..3 {
        wal.append(&[number; 2000]).unwrap();
    }
    assert_eq!((wal.segments(), wal.durable_lsn()), (1..=2, Lsn(0)), "nothing was when segment 2 was made");
    drop(wal);
    let name = "wal-0000000000000001.gln";
    change(&volume, name, 4096 + 2024 + 100, |byte| !byte);
    let message = refused(&volume, name, 4096 + 2024);
    assert!(message.contains("before the records in segment 2"), "{message}");
}

#[test]
fn segments_that_are_missing_or_wrong_are_named() {
    let (volume, places) = committed(10, 1500);
    let [one, two, three] = [1, 2, 3].map(|number| format!("wal-{number:016x}.gln"));
    assert_eq!(places.last().unwrap().0, format!("wal-{:016x}.gln", 5), "two records a segment");
    let told = |broken: &dyn Fn(&SimVolume)| {
        let image = volume.crash_image(u64::MAX);
        broken(&image);
        open(&image, options(1, Durability::Each)).unwrap_err().to_string()
    };
    let message = told(&|image| image.remove(&two).unwrap());
    assert!(
        message.contains(&format!("{two} is missing")) && message.contains("segments 1 and 3"),
        "{message}"
    );
    let message = told(&|image| image.remove(&one).unwrap());
    assert!(
        message.contains(&format!("{one} is missing")) && message.contains("segment 2 is there"),
        "{message}"
    );
    let message = told(&|image| image.rename(&three, &two).unwrap());
    assert!(
        message.contains(&format!("{} is missing", three)) || message.contains("the segment number"),
        "{message}"
    );
    let message = told(&|image| image.open(&two).unwrap().unwrap().set_len(8000).unwrap());
    assert!(message.contains("at least 8192"), "{message}");
    let message = told(&|image| image.open(&two).unwrap().unwrap().set_len(9000).unwrap());
    assert!(message.contains("found a file of 9000 bytes, expected 8192"), "{message}");
    let message = told(&|image| change(image, &two, 0, |byte| byte ^ 1));
    assert!(message.contains(&two) && message.contains("at byte 0"), "{message}");
    let message = told(&|image| change(image, &two, 12, |_| 9));
    assert!(message.contains("the log version is 9, expected 1"), "{message}");
}

#[test]
fn a_log_that_lost_all_its_segments_is_not_begun_anew() {
    let error = open(&SimVolume::new(), options(3, Durability::Each)).unwrap_err().to_string();
    assert!(error.contains("wal-0000000000000003.gln is missing"), "{error}");
}

#[test]
fn the_log_of_another_index_is_refused() {
    let (volume, _) = committed(2, 10);
    let other = gleann_update::WalOptions { id: [7; 16], ..options(1, Durability::Each) };
    let error = open(&volume, other).unwrap_err();
    assert!(matches!(error, WalError::Foreign { field: "the index id", .. }), "{error}");
}

#[test]
fn leftovers_are_removed_and_other_files_left_alone() {
    let (volume, _) = committed(10, 1500);
    volume.create("graph.gln").unwrap();
    volume.create("wal-0000000000000009.gln.tmp").unwrap();
    let (wal, records) = open(&volume, options(4, Durability::Each)).unwrap();
    assert_eq!(records.first().map(|(lsn, _)| *lsn), Some(Lsn(7)));
    assert_eq!(wal.segments(), 4..=5);
    let left = ["graph.gln", "wal-0000000000000004.gln", "wal-0000000000000005.gln"];
    assert_eq!(volume.crash_image(0).list().unwrap(), left);
}
