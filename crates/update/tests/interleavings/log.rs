//! The log: whoever's commit has returned finds the record after a power loss, and nobody waits for ever, which the
//! scheduler tells as a deadlock.

use crate::explore::explore;
use crate::stepped::Stepped;
use crate::wal::{Durability, Lsn, Wal, WalError, WalOptions};
use gleann_storage::{SimVolume, Volume};
use shuttle::rand::Rng;
use shuttle::thread;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ID: [u8; 16] = *b"id of the index.";
const GROUP: Durability = Durability::Group(Duration::from_millis(1));
/// A segment has room for three records.
const PAYLOAD: usize = 1200;

/// A log, what was appended to it, and the volume below.
struct World {
    volume: SimVolume,
    wal: Wal,
    appended: Mutex<BTreeMap<Lsn, u8>>,
}

impl World {
    fn new(durability: Durability) -> Arc<Self> {
        let volume = SimVolume::new();
        let below: Arc<dyn Volume> = Arc::new(Stepped(volume.clone()));
        let options = WalOptions { id: ID, first_segment: 1, begins: true, segment_bytes: 8192, durability };
        let wal = Wal::open::<WalError>(below, options, &mut |_, _| Ok(())).unwrap();
        Arc::new(Self { volume, wal, appended: Mutex::default() })
    }

    fn append(&self, thread: u8) -> Result<Lsn, WalError> {
        let lsn = self.wal.append(&[thread; PAYLOAD])?;
        let before = self.appended.lock().unwrap().insert(lsn, thread);
        assert_eq!(before, None, "{lsn} was given out twice");
        Ok(lsn)
    }

    /// What a power loss leaves of which nothing survives but what was synced, read by the log as it is built.
    fn after_power_loss(&self, first_segment: u64) -> BTreeMap<u64, u8> {
        let image = Arc::new(self.volume.crash_image(0));
        let options = gleann_update::WalOptions {
            id: ID,
            first_segment,
            begins: true,
            segment_bytes: 8192,
            durability: gleann_update::Durability::Each,
        };
        let mut records = BTreeMap::new();
        gleann_update::Wal::open::<gleann_update::WalError>(image, options, &mut |lsn, payload| {
            assert_eq!(payload, [payload[0]; PAYLOAD]);
            records.insert(lsn.0, payload[0]);
            Ok(())
        })
        .unwrap();
        records
    }

    fn expect_durable(&self, lsn: Lsn, thread: u8) {
        assert!(self.wal.durable_lsn() >= lsn, "{lsn} was acknowledged too early");
        assert_eq!(self.after_power_loss(1).get(&lsn.0), Some(&thread), "{lsn} was acknowledged and is lost");
    }
}

fn spawn_all(world: &Arc<World>, threads: u8, work: impl Fn(&World, u8) + Send + Sync + Copy + 'static) {
    let spawned = (0..threads).map(|thread| {
        let world = world.clone();
        thread::spawn(move || work(&world, thread))
    });
    spawned.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}

fn commits_last(durability: Durability) {
    explore(250, move || {
        let world = World::new(durability);
        spawn_all(&world, 3, |world, thread| {
            for _ in 0..2 {
                let lsn = world.append(thread).unwrap();
                world.wal.commit(lsn).unwrap();
                world.expect_durable(lsn, thread);
            }
        });
        assert_eq!(world.after_power_loss(1).len(), 6);
    });
}

#[test]
fn a_commit_returns_when_its_record_lasts() {
    commits_last(Durability::Each);
}

#[test]
fn a_commit_in_a_group_returns_when_its_record_lasts() {
    commits_last(GROUP);
}

/// One thread commits, one in a group's time, one only appends and flushes, one begins segments and drops old ones.
#[test]
fn segments_come_and_go_amid_commits() {
    explore(250, || {
        let world = World::new(GROUP);
        spawn_all(&world, 4, |world, thread| match thread {
            0 => {
                let last = (0..4).map(|_| world.append(thread).unwrap()).last().unwrap();
                world.wal.flush().unwrap();
                assert!(world.wal.durable_lsn() >= last);
            }
            1 => {
                let lsn = world.append(thread).unwrap();
                let before: Vec<_> = world.appended.lock().unwrap().clone().into_iter().collect();
                let number = world.wal.rotate().unwrap();
                assert!(number >= *world.wal.segments().start());
                world.wal.commit(lsn).unwrap();
                // As a checkpoint has it: what was appended before is elsewhere, what came after is in the log.
                world.wal.flush().unwrap();
                let kept = world.after_power_loss(number);
                assert!(before.iter().all(|(lsn, _)| !kept.contains_key(&lsn.0)), "{before:?} and {kept:?}");
                world.wal.remove_before(number).unwrap();
            }
            _ => {
                let lsn = world.append(thread).unwrap();
                world.wal.commit(lsn).unwrap();
                assert!(world.wal.durable_lsn() >= lsn);
            }
        });
        let first = *world.wal.segments().start();
        let left = world.after_power_loss(first);
        let appended = world.appended.lock().unwrap();
        assert!(left.iter().all(|(&lsn, thread)| appended[&Lsn(lsn)] == *thread));
        // All from some record on; none where the segment was begun after the last.
        let from = left.keys().next().copied().unwrap_or(world.wal.last_lsn().0 + 1);
        assert!(left.keys().copied().eq(from..=world.wal.last_lsn().0), "{left:?}");
    });
}

/// A write, a sync or the making of a segment fails at some time: what was acknowledged lasts, and everybody is told.
#[test]
fn a_failure_is_told_to_everybody() {
    explore(400, || {
        let world = World::new(if shuttle::rand::thread_rng().r#gen() { GROUP } else { Durability::Each });
        let at = world.volume.operations() + shuttle::rand::thread_rng().gen_range(0..12);
        world.volume.fail_at(at, ErrorKind::Other);
        spawn_all(&world, 3, |world, thread| {
            for _ in 0..2 {
                let done = world.append(thread).and_then(|lsn| world.wal.commit(lsn).map(|()| lsn));
                match done {
                    Ok(lsn) => world.expect_durable(lsn, thread),
                    Err(WalError::Poisoned { .. }) => {
                        assert!(world.wal.append(&[9; PAYLOAD]).is_err() && world.wal.flush().is_err());
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
    });
}

/// A disk without room refuses records, which are then not in the log; with room it goes on.
#[test]
fn a_full_disk_refuses_whole_records() {
    explore(250, || {
        let world = World::new(GROUP);
        let at = world.volume.operations() + shuttle::rand::thread_rng().gen_range(0..12);
        // A full disk shows when room is taken; writes and syncs of what has room do not meet it.
        world.volume.set_capacity(8192 + 8192 * (at % 2));
        spawn_all(&world, 4, |world, thread| {
            for _ in 0..2 {
                match world.append(thread) {
                    Ok(lsn) => {
                        world.wal.commit(lsn).unwrap();
                        world.expect_durable(lsn, thread);
                    }
                    Err(WalError::Full { .. }) => world.volume.set_capacity(u64::MAX),
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let records = world.after_power_loss(1);
        assert_eq!(records.len(), world.appended.lock().unwrap().len(), "a refused record is none");
    });
}
