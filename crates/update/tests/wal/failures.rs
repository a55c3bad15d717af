//! A disk that fails or is full: who is told, and what goes on.

use super::{open, options};
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Durability, Lsn, MAX_PAYLOAD, Wal, WalError};
use std::io::ErrorKind;

fn poisoned<T: std::fmt::Debug>(result: Result<T, WalError>, cause: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, WalError::Poisoned { .. }), "{error}");
    assert_eq!(error.io_kind(), Some(ErrorKind::Other));
    let message = error.to_string();
    assert!(message.contains(cause) && message.contains("wal-0000000000000001.gln"), "{message}");
}

fn all_poisoned(wal: &Wal, cause: &str) {
    poisoned(wal.append(b"more"), cause);
    poisoned(wal.commit(wal.last_lsn()), cause);
    poisoned(wal.flush(), cause);
    poisoned(wal.rotate(), cause);
}

#[test]
fn a_failed_fsync_poisons_the_log() {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
    let first = wal.append(b"first").unwrap();
    wal.commit(first).unwrap();
    let second = wal.append(b"second").unwrap();
    volume.fail_at(volume.operations() + 1, ErrorKind::Other);
    poisoned(wal.commit(second), "fsync of");
    let operations = volume.operations();
    all_poisoned(&wal, "fsync of");
    wal.commit(first).expect("it had been durable before");
    assert_eq!(wal.durable_lsn(), first);
    drop(wal);
    assert_eq!(volume.operations(), operations, "nothing is tried again");
    // The second record can be read from the page cache, so it counts, and is durable once it was replayed.
    let (wal, records) = open(&volume, options(1, Durability::Each)).unwrap();
    assert_eq!((records.len(), wal.append(b"third").unwrap()), (2, Lsn(3)));
    wal.flush().unwrap();
    let (_, records) = open(&volume.crash_image(0), options(1, Durability::Each)).unwrap();
    assert_eq!(records.last(), Some(&(Lsn(3), b"third".to_vec())));
}

#[test]
fn a_failed_write_poisons_the_log() {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::None)).unwrap();
    let lsn = wal.append(&[1; 3000]).unwrap();
    wal.commit(lsn).unwrap();
    volume.fail_at(volume.operations(), ErrorKind::Other);
    poisoned(wal.flush(), "writing");
    all_poisoned(&wal, "writing");
    drop(wal);
    let (_, records) = open(&volume, options(1, Durability::None)).unwrap();
    assert_eq!(records, [], "half a record is none");
}

#[test]
fn a_failure_while_a_segment_is_made_poisons_the_log_unless_the_disk_is_full() {
    // Create, set_len, write_at, sync, rename, sync_dir.
    for operation in 0..6 {
        let volume = SimVolume::new();
        let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
        wal.append(&[1; 4000]).unwrap();
        volume.fail_at(volume.operations() + operation, ErrorKind::Other);
        let error = wal.append(&[2; 4000]).unwrap_err();
        assert!(matches!(error, WalError::Poisoned { .. }), "operation {operation}: {error}");
        assert!(wal.flush().is_err());

        let volume = SimVolume::new();
        let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
        wal.append(&[1; 4000]).unwrap();
        volume.fail_at(volume.operations() + operation, ErrorKind::StorageFull);
        let error = wal.append(&[2; 4000]).unwrap_err();
        assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull));
        assert_eq!(matches!(error, WalError::Full { .. }), operation < 5, "operation {operation}: {error}");
        assert_eq!(wal.append(&[2; 4000]).ok(), (operation < 5).then_some(Lsn(2)));
    }
}

#[test]
fn a_full_disk_shows_in_append_and_the_log_goes_on_when_there_is_room() {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
    volume.set_capacity(3 * 8192 - 1);
    let first = wal.append(&[1; 4000]).unwrap();
    let second = wal.append(&[2; 4000]).unwrap();
    for _ in 0..2 {
        let error = wal.append(&[3; 4000]).unwrap_err();
        assert!(matches!(error, WalError::Full { bytes: 8192, .. }), "{error}");
        assert!(error.to_string().contains("wal-0000000000000003.gln needs 8192 bytes"), "{error}");
        assert!(matches!(wal.rotate(), Err(WalError::Full { .. })));
    }
    assert_eq!((wal.last_lsn(), wal.segments(), volume.used()), (second, 1..=2, 2 * 8192));
    wal.commit(first).unwrap();
    wal.commit(second).unwrap();
    assert_eq!(wal.append(&[3; 10]).unwrap(), Lsn(3), "what fits is taken");
    wal.remove_before(2).unwrap();
    assert_eq!(wal.append(&[4; 4000]).unwrap(), Lsn(4));
    wal.flush().unwrap();
    let (_, records) = open(&volume.crash_image(0), options(2, Durability::Each)).unwrap();
    let lengths: Vec<_> = records.iter().map(|(lsn, payload)| (lsn.0, payload.len())).collect();
    assert_eq!(lengths, [(2, 4000), (3, 10), (4, 4000)]);
}

#[test]
fn a_log_is_not_begun_on_a_full_disk() {
    let volume = SimVolume::new();
    volume.set_capacity(8191);
    let error = open(&volume, options(1, Durability::Each)).unwrap_err();
    assert!(matches!(error, WalError::Full { .. }), "{error}");
    assert_eq!((volume.list().unwrap(), volume.used()), (vec![], 0));
    volume.set_capacity(8192);
    open(&volume, options(1, Durability::Each)).unwrap();
}

#[test]
fn what_cannot_be_is_refused_and_harms_nothing() {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
    let error = wal.append(&vec![0; MAX_PAYLOAD + 1]).unwrap_err();
    assert!(matches!(error, WalError::TooLong { .. }), "{error}");
    for durability in [Durability::Each, Durability::None] {
        let (wal, _) = open(&SimVolume::new(), options(1, durability)).unwrap();
        let error = wal.commit(Lsn(1)).unwrap_err();
        assert!(matches!(error, WalError::NeverAppended { lsn: Lsn(1), last: Lsn(0) }), "{error}");
        wal.commit(Lsn(0)).unwrap();
    }
    assert_eq!(wal.append(b"").unwrap(), Lsn(1));
    wal.flush().unwrap();
    drop(wal);
    let (_, records) = open(&volume, options(1, Durability::Each)).unwrap();
    assert_eq!(records, [(Lsn(1), vec![])]);
}

#[test]
fn the_error_of_a_replay_is_handed_on() {
    let (volume, _) = super::committed(3, 10);
    let mut seen = 0;
    let result = Wal::open(std::sync::Arc::new(volume), options(1, Durability::Each), &mut |lsn, _| {
        seen += 1;
        if lsn == Lsn(2) { Err(WalError::TooLong { found: 2 }) } else { Ok(()) }
    });
    assert!(matches!(result, Err(WalError::TooLong { found: 2 })));
    assert_eq!(seen, 2);
}

#[test]
fn a_large_record_gets_a_segment_of_its_length() {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::None)).unwrap();
    wal.append(b"small").unwrap();
    wal.append(&[7; 100_000]).unwrap();
    wal.append(b"small").unwrap();
    assert_eq!(wal.segments(), 1..=2, "the rounding to blocks leaves room");
    assert_eq!(wal.bytes(), 32 + 100_024 + 32);
    let length = volume.open("wal-0000000000000002.gln").unwrap().unwrap().len().unwrap();
    assert_eq!(length, (4096_u64 + 100_024).next_multiple_of(4096));
    drop(wal);
    let (wal, records) = open(&volume.crash_image(0), options(1, Durability::None)).unwrap();
    assert_eq!(records.iter().map(|(_, payload)| payload.len()).collect::<Vec<_>>(), [5, 100_000, 5]);
    assert_eq!(wal.bytes(), 32 + 100_024 + 32);
}

#[test]
fn an_empty_segment_is_not_followed_by_another_and_numbers_go_on_after_all_were_removed() {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
    assert_eq!((wal.rotate().unwrap(), wal.rotate().unwrap()), (1, 1));
    wal.append(b"one").unwrap();
    assert_eq!((wal.rotate().unwrap(), wal.rotate().unwrap()), (2, 2));
    wal.remove_before(u64::MAX).unwrap();
    assert_eq!((wal.segments(), wal.bytes()), (2..=2, 0));
    drop(wal);
    let (wal, records) = open(&volume.crash_image(0), options(2, Durability::Each)).unwrap();
    assert_eq!(records, []);
    assert_eq!((wal.last_lsn(), wal.append(b"two").unwrap()), (Lsn(1), Lsn(2)));
}
