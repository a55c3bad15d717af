//! The file stays small: places are used again, the lowest first, and an idle end is cut off.

use crate::model::{Model, layout, open, place, record, write, write_all};
use gleann_storage::{Area, SimVolume};
use gleann_update::Pages;

const BLOCKS: u32 = 3000;

#[test]
fn commits_that_rewrite_everything_take_twice_the_space() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    for number in 1..=100 {
        write_all(&pages, BLOCKS, number).unwrap();
        let copies = f64::from(pages.file_blocks()) / f64::from(BLOCKS);
        assert!(copies <= 2.1, "{copies} copies after {number} commits");
    }
    assert_eq!(pages.retired_blocks(), 0);
    assert_eq!(Model::read(&pages, &pages.table()), Model::of_records(BLOCKS, 100));
    let file = volume.used() - 100 - 4 * u64::from(BLOCKS) - 8;
    assert_eq!(file, layout().file_bytes(pages.file_blocks().into()));
}

#[test]
fn a_reader_that_stays_keeps_one_copy_and_no_more() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let blocks = 1000;
    let mut held = Vec::new();
    for number in 1..=60 {
        let table = write_all(&pages, blocks, number).unwrap();
        if number == 5 || number == 20 {
            held.push((table, number));
        }
        // In force, being written, one a reader; and a step of growth.
        let copies = (2 + held.len() as u32) * blocks;
        assert!(pages.file_blocks() <= copies + 256, "{} blocks", pages.file_blocks());
        for (table, number) in &held {
            assert_eq!(Model::read(&pages, table), Model::of_records(blocks, *number));
        }
    }
    assert_eq!(pages.retired_blocks(), 2 * blocks);
    held.remove(1);
    assert_eq!(pages.retired_blocks(), blocks);
    held.clear();
    assert_eq!(pages.retired_blocks(), 0);
    assert_eq!(pages.free_blocks() + blocks, pages.file_blocks());
}

#[test]
fn an_end_that_is_idle_for_long_is_cut_off() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    write_all(&pages, 2000, 1).unwrap();
    let mut commit = pages.begin().unwrap();
    commit.truncate(Area::Records, 100);
    let reader = commit.finish(b"").unwrap();
    for number in 2..=8 {
        write_all(&pages, 100, number).unwrap();
        assert!(pages.file_blocks() >= 2000, "not at once");
    }
    for number in 9..=20 {
        write_all(&pages, 100, number).unwrap();
    }
    assert!(pages.file_blocks() <= 300 + 256, "{} blocks", pages.file_blocks());
    assert_eq!(Model::read(&pages, &reader), Model::of_records(100, 1));
    // It grows again, and what is there is found again.
    write_all(&pages, 1000, 21).unwrap();
    for seed in [0, 3, u64::MAX] {
        let (pages, _) = open(&volume.crash_image(seed));
        assert_eq!(Model::read(&pages, &pages.table()), Model::of_records(1000, 21));
    }
}

#[test]
fn blocks_that_follow_each_other_are_one_write() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let before = volume.operations();
    write_all(&pages, 256, 1).unwrap();
    // Growth, one write of 1 MiB, sync; then the table: create, reserve, prefix, places, root, header, sync, rename,
    // sync of the directory.
    assert_eq!(volume.operations() - before, 3 + 9);
    let before = volume.operations();
    write_all(&pages, 257, 2).unwrap();
    // Growth twice, and a second write for what goes beyond 1 MiB.
    assert_eq!(volume.operations() - before, 5 + 9);
}

#[test]
fn places_come_free_as_readers_let_go() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let reader = write_all(&pages, 256, 1).unwrap();
    write_all(&pages, 256, 2).unwrap();
    assert_eq!((pages.file_blocks(), pages.free_blocks()), (512, 0));
    // In the middle of a commit: its blocks come first, the file does not grow.
    let mut commit = pages.begin().unwrap();
    drop(reader);
    (0..10).for_each(|index| write(&mut commit, record(index), 3).unwrap());
    let reader = commit.finish(b"").unwrap();
    assert_eq!((pages.file_blocks(), reader.records()[0]), (512, 0));
    // Between two commits: the lowest place is taken, though there are free ones.
    write_all(&pages, 5, 4).unwrap();
    drop(reader);
    assert_eq!(write_all(&pages, 1, 5).unwrap().records()[0], 0);
}

#[test]
fn a_dropped_commit_gives_everything_back() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    write_all(&pages, 300, 1).unwrap();
    let (free, file) = (pages.free_blocks(), pages.file_blocks());
    let mut commit = pages.begin().unwrap();
    (0..400).for_each(|index| write(&mut commit, record(index), 2).unwrap());
    commit.truncate(Area::Records, 350);
    (0..400).for_each(|index| write(&mut commit, record(index), 3).unwrap());
    drop(commit);
    assert_eq!(pages.file_blocks() - pages.free_blocks(), file - free);
    assert_eq!(Model::read(&pages, &pages.table()), Model::of_records(300, 1));
}
