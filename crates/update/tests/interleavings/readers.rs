//! The page store: a table that somebody holds keeps its blocks, whatever commits and drops of tables go on; of several
//! commits at once one is made at a time.

use crate::explore::explore;
use crate::pages::{Pages, PagesError, PagesPlace};
use crate::stepped::Stepped;
use gleann_storage::{Area, BuildId, Layout, LogicalBlock, PageTable, SimVolume};
use gleann_vector::ElementType;
use shuttle::rand::Rng;
use shuttle::thread;
use std::sync::Arc;

const BLOCKS: u32 = 3;
/// The sequence number of the last commit.
const LAST: u64 = 8;

fn place(volume: &SimVolume) -> PagesPlace {
    let layout = Layout::new(ElementType::U8, 16, 8, 4096).unwrap().block_layout();
    PagesPlace { volume: Arc::new(Stepped(volume.clone())), index: BuildId([7; 16]), layout }
}

fn record(index: u32) -> LogicalBlock {
    LogicalBlock { area: Area::Records, index }
}

/// The first word of a block.
fn stamp(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

fn stamped(stamp: u64) -> Vec<u8> {
    stamp.to_le_bytes().repeat(512)
}

/// Every block says when it was written. `blocks` of them are written.
fn commit(pages: &Pages, blocks: std::ops::Range<u32>) -> Result<Arc<PageTable>, PagesError> {
    let mut commit = pages.begin()?;
    let next = pages.table().sequence() + 1;
    for block in blocks {
        commit.write(record(block), &mut stamped(next))?;
    }
    commit.finish(b"")
}

fn begin(volume: &SimVolume) -> Arc<Pages> {
    let pages = Pages::create(place(volume), b"").unwrap();
    commit(&pages, 0..BLOCKS).unwrap();
    Arc::new(pages)
}

/// Reads everything by a table, again and again: every block was written by its commit, or by one before, and stays.
fn read_through(pages: &Pages, table: &PageTable) {
    let mut bytes = vec![0; 4096];
    let mut read = |block| {
        pages.read(table, record(block), &mut bytes).unwrap();
        stamp(&bytes)
    };
    let first: Vec<u64> = (0..BLOCKS).map(&mut read).collect();
    assert_eq!(*first.iter().max().unwrap(), table.sequence(), "the blocks of another commit");
    assert_eq!((0..BLOCKS).map(&mut read).collect::<Vec<_>>(), first, "a block was written over");
}

/// Takes a table, and reads by it once it is a few commits old.
fn read_late(pages: &Pages) {
    let table = pages.table();
    read_through(pages, &table);
    let age = shuttle::rand::thread_rng().gen_range(1..4);
    while pages.table().sequence() < (table.sequence() + age).min(LAST) {
        thread::yield_now();
    }
    read_through(pages, &table);
}

/// Some read at once what they have taken, some late. A block that a commit leaves alone has its place from an older one.
#[test]
fn a_table_that_is_held_keeps_its_blocks() {
    explore(200, || {
        let volume = SimVolume::new();
        let pages = begin(&volume);
        let readers: Vec<_> = (0..3)
            .map(|number| {
                let pages = pages.clone();
                thread::spawn(move || match number {
                    0 => (0..3).for_each(|_| read_through(&pages, &pages.table())),
                    _ => (0..2).for_each(|_| read_late(&pages)),
                })
            })
            .collect();
        while pages.table().sequence() < LAST {
            if pages.table().sequence() == 4 {
                // One that is dropped gives its places back, and nobody else's.
                let mut dropped = pages.begin().unwrap();
                dropped.write(record(0), &mut stamped(99)).unwrap();
                dropped.truncate(Area::Records, 1);
            }
            let first = shuttle::rand::thread_rng().gen_range(0..BLOCKS);
            commit(&pages, first..shuttle::rand::thread_rng().gen_range(first + 1..=BLOCKS)).unwrap();
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert_eq!(pages.retired_blocks(), 0);
        assert_eq!(pages.free_blocks() + BLOCKS, pages.file_blocks());
        read_through(&pages, &pages.table());
    });
}

/// A copy of an old table while it is replaced, and its places would be written.
#[test]
fn a_copy_is_that_of_one_table() {
    explore(150, || {
        let volume = SimVolume::new();
        let pages = begin(&volume);
        let copier = {
            let pages = pages.clone();
            thread::spawn(move || {
                let (table, copy) = (pages.table(), SimVolume::new());
                pages.copy_to(&table, place(&copy).volume, b"root").unwrap();
                drop(table);
                let (copied, root) = Pages::open(place(&copy)).unwrap();
                assert_eq!(root, b"root");
                read_through(&copied, &copied.table());
            })
        };
        (0..3).for_each(|_| drop(commit(&pages, 0..BLOCKS).unwrap()));
        copier.join().unwrap();
    });
}

/// Three threads add to the same block. Whoever is refused tries again, so that every sum counts.
#[test]
fn commits_are_made_one_at_a_time() {
    explore(200, || {
        let volume = SimVolume::new();
        let pages = begin(&volume);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let pages = pages.clone();
                thread::spawn(move || {
                    let mut commit = loop {
                        match pages.begin() {
                            Ok(commit) => break commit,
                            Err(PagesError::Busy { .. }) => thread::yield_now(),
                            Err(error) => panic!("{error}"),
                        }
                    };
                    let mut bytes = vec![0; 4096];
                    commit.read(record(1), &mut bytes).unwrap();
                    commit.write(record(1), &mut stamped(stamp(&bytes) + 100)).unwrap();
                    commit.finish(b"").unwrap();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut bytes = vec![0; 4096];
        pages.read(&pages.table(), record(1), &mut bytes).unwrap();
        assert_eq!(stamp(&bytes), 1 + 300, "a commit was lost");
    });
}
