//! Many threads: commits share fsyncs, and nobody who appends waits for one.

use super::{open, open_dyn, options};
use gleann_storage::{OsVolume, SimVolume, Volume, VolumeFile};
use gleann_update::{Durability, Lsn};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const THREADS: u8 = 8;
const EACH: u32 = 40;

fn many_threads(durability: Durability) {
    let directory = tempfile::tempdir().unwrap();
    let volume = || -> Arc<dyn Volume> { Arc::new(OsVolume::open(directory.path()).unwrap()) };
    let (wal, _) = open_dyn(volume(), options(1, durability)).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let wal = &wal;
            scope.spawn(move || {
                for number in 0..EACH {
                    let mut payload = vec![thread; 200];
                    payload.extend_from_slice(&number.to_le_bytes());
                    let lsn = wal.append(&payload).unwrap();
                    wal.commit(lsn).unwrap();
                    assert!(durability == Durability::None || wal.durable_lsn() >= lsn);
                    if thread == 0 && number % 10 == 5 {
                        wal.rotate().unwrap();
                    }
                }
            });
        }
    });
    wal.flush().unwrap();
    // Read beside the log that is still open.
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    drop(wal);
    for directory in [copy, directory] {
        let volume = Arc::new(OsVolume::open(directory.path()).unwrap());
        let (_, records) = open_dyn(volume, options(1, durability)).unwrap();
        assert_eq!(records.len(), THREADS as usize * EACH as usize);
        let mut next = [0_u32; THREADS as usize];
        for (index, (lsn, payload)) in records.iter().enumerate() {
            assert_eq!(lsn.0, index as u64 + 1);
            let expected = &mut next[payload[0] as usize];
            assert_eq!(payload[200..], expected.to_le_bytes(), "a thread's records keep their order");
            *expected += 1;
        }
    }
}

#[test]
fn many_threads_commit_each() {
    many_threads(Durability::Each);
}

#[test]
fn many_threads_commit_in_groups() {
    many_threads(Durability::Group(Duration::from_millis(1)));
}

#[test]
fn many_threads_commit_without_waiting() {
    many_threads(Durability::None);
}

/// A simulated volume whose file syncs wait at a gate, once it is closed.
#[derive(Default)]
struct Gated {
    volume: SimVolume,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    moved: Condvar,
    /// Syncs that have come to the gate.
    syncs: AtomicU64,
}

impl Gate {
    fn close(&self) {
        *self.closed.lock().unwrap() = true;
        self.syncs.store(0, Ordering::SeqCst);
    }

    fn open(&self) {
        *self.closed.lock().unwrap() = false;
        self.moved.notify_all();
    }

    fn pass(&self) {
        let mut closed = self.closed.lock().unwrap();
        self.syncs.fetch_add(1, Ordering::SeqCst);
        self.moved.notify_all();
        while *closed {
            closed = self.moved.wait(closed).unwrap();
        }
    }

    fn wait_for_sync(&self) {
        let mut closed = self.closed.lock().unwrap();
        while self.syncs.load(Ordering::SeqCst) == 0 {
            closed = self.moved.wait(closed).unwrap();
        }
    }
}

struct GatedFile(Box<dyn VolumeFile>, Arc<Gate>);

impl VolumeFile for GatedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(bytes, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
    fn sync(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync()
    }
}

impl Gated {
    fn gated(&self, file: Box<dyn VolumeFile>) -> Box<dyn VolumeFile> {
        Box::new(GatedFile(file, self.gate.clone()))
    }
}

impl Volume for Gated {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        Ok(self.volume.open(name)?.map(|file| self.gated(file)))
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        self.volume.create(name).map(|file| self.gated(file))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.volume.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.volume.remove(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.volume.list()
    }
    fn sync_dir(&self) -> io::Result<()> {
        self.volume.sync_dir()
    }
    fn path(&self, name: &str) -> PathBuf {
        self.volume.path(name)
    }
}

#[test]
fn appends_go_on_during_an_fsync_and_their_commits_share_the_next() {
    for durability in [Durability::Each, Durability::Group(Duration::from_micros(1))] {
        let gated = Gated::default();
        let (volume, gate) = (gated.volume.clone(), gated.gate.clone());
        let (wal, _) = open_dyn(Arc::new(gated), options(1, durability)).unwrap();
        gate.close();
        thread::scope(|scope| {
            let first = wal.append(b"first").unwrap();
            let (wal, gate) = (&wal, &gate);
            scope.spawn(move || wal.commit(first).unwrap());
            gate.wait_for_sync();
            let others: Vec<_> = (0..3).map(|number| wal.append(&[number]).unwrap()).collect();
            assert_eq!(wal.durable_lsn(), Lsn(0));
            for lsn in others {
                scope.spawn(move || wal.commit(lsn).unwrap());
            }
            gate.open();
        });
        assert_eq!(gate.syncs.load(Ordering::SeqCst), 2, "one for the first, one for the three others");
        let (_, records) = open(&volume.crash_image(0), options(1, durability)).unwrap();
        assert_eq!(records.len(), 4);
    }
}

#[test]
fn a_group_waits_for_others_and_a_flush_does_not_wait_for_a_group() {
    let hour = Durability::Group(Duration::from_secs(3600));
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, hour)).unwrap();
    thread::scope(|scope| {
        let lsns: Vec<_> = (0..4).map(|number| wal.append(&[number]).unwrap()).collect();
        for lsn in lsns {
            let wal = &wal;
            scope.spawn(move || wal.commit(lsn).unwrap());
        }
        // Whoever has begun to collect is released by this, and whoever has not finds its record durable.
        wal.flush().unwrap();
    });
    assert_eq!(wal.durable_lsn(), Lsn(4));
}

#[test]
fn who_commits_alone_does_not_wait_for_a_group() {
    let hour = Durability::Group(Duration::from_secs(3600));
    let volume = SimVolume::new();
    let (wal, _) = open(&volume, options(1, hour)).unwrap();
    for number in 0..3 {
        wal.commit(wal.append(&[number]).unwrap()).unwrap();
        assert_eq!(wal.durable_lsn(), Lsn(u64::from(number) + 1));
    }
}

#[test]
fn a_failure_reaches_everyone_who_waits() {
    let gated = Gated::default();
    let (volume, gate) = (gated.volume.clone(), gated.gate.clone());
    let (wal, _) = open_dyn(Arc::new(gated), options(1, Durability::Each)).unwrap();
    gate.close();
    thread::scope(|scope| {
        let (wal, gate) = (&wal, &gate);
        let first = wal.append(b"first").unwrap();
        let leader = scope.spawn(move || wal.commit(first));
        gate.wait_for_sync();
        let second = wal.append(b"second").unwrap();
        let follower = scope.spawn(move || wal.commit(second));
        volume.fail_from(volume.operations(), io::ErrorKind::Other);
        gate.open();
        for thread in [leader, follower] {
            assert!(thread.join().unwrap().unwrap_err().to_string().contains("fsync of"));
        }
    });
}

#[test]
fn without_durability_bytes_are_written_when_there_are_many() {
    let volume = SimVolume::new();
    let many = gleann_update::WalOptions { segment_bytes: 1 << 20, ..options(1, Durability::None) };
    let (wal, _) = open(&volume, many).unwrap();
    let operations = volume.operations();
    for _ in 0..63 {
        wal.commit(wal.append(&[1; 4072]).unwrap()).unwrap();
    }
    assert_eq!(volume.operations(), operations);
    wal.append(&[1; 4072]).unwrap();
    assert_eq!(volume.operations(), operations + 1, "256 KiB go in one write, without a sync");
    assert_eq!(wal.durable_lsn(), Lsn(0));
    wal.append(&[1; 8]).unwrap();
    wal.rotate().unwrap();
    assert_eq!(open(&volume.crash_image(u64::MAX), options(1, Durability::None)).unwrap().1.len(), 65);
    assert_eq!(open(&volume.crash_image(0), options(1, Durability::None)).unwrap().1.len(), 0);
    wal.flush().unwrap();
    assert_eq!(open(&volume.crash_image(0), options(1, Durability::None)).unwrap().1.len(), 65);
}
