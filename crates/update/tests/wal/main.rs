//! The write-ahead log against crashes, failures, damage and many threads.
#![allow(clippy::unwrap_used)]

mod commits;
mod crashes;
mod damage;
mod failures;

use gleann_storage::{SimVolume, Volume};
use gleann_update::{Durability, Lsn, Wal, WalError, WalOptions};
use std::sync::Arc;

const ID: [u8; 16] = *b"id of the index.";

type Records = Vec<(Lsn, Vec<u8>)>;

fn options(first_segment: u64, durability: Durability) -> WalOptions {
    WalOptions { id: ID, first_segment, begins: first_segment == 1, segment_bytes: 8192, durability }
}

/// Opens the log of `volume`: the log, and all its records.
fn open(volume: &SimVolume, options: WalOptions) -> Result<(Wal, Records), WalError> {
    open_dyn(Arc::new(volume.clone()), options)
}

fn open_dyn(volume: Arc<dyn Volume>, options: WalOptions) -> Result<(Wal, Records), WalError> {
    let mut records = Vec::new();
    let wal = Wal::open(volume, options, &mut |lsn, payload: &[u8]| {
        records.push((lsn, payload.to_vec()));
        Ok::<_, WalError>(())
    })?;
    Ok((wal, records))
}

/// A volume with a log of the committed records 1 to `count`, and where each lies: (segment name, offset, bytes).
fn committed(count: u64, payload: usize) -> (SimVolume, Vec<(String, u64, u64)>) {
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, Durability::Each)).unwrap();
    let (mut places, mut end) = (Vec::new(), 4096);
    let bytes = (24 + payload as u64).next_multiple_of(8);
    let mut segment = 1;
    for number in 1..=count {
        wal.commit(wal.append(&vec![number as u8; payload]).unwrap()).unwrap();
        let last = *wal.segments().end();
        end = if last > segment { 4096 } else { end };
        segment = last;
        places.push((format!("wal-{segment:016x}.gln"), end, bytes));
        end += bytes;
    }
    (volume, places)
}
