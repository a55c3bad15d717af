//! Searches read by a table while commits go on.

use crate::model::{Model, place, write_all};
use gleann_storage::SimVolume;
use gleann_update::Pages;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn threads_that_read_see_one_commit_whole() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let blocks = 40;
    write_all(&pages, blocks, 1).unwrap();
    let done = AtomicBool::new(false);
    let read = || {
        let mut tables = 0;
        while !done.load(Ordering::Relaxed) {
            let table = pages.table();
            let numbers = Model::read(&pages, &table);
            assert_eq!(numbers, Model::of_records(blocks, table.sequence()));
            tables += 1;
        }
        tables
    };
    thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        for number in 2..=150 {
            write_all(&pages, blocks, number).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| assert!(reader.join().unwrap() > 0));
    });
    assert_eq!(pages.retired_blocks(), 0);
}

#[test]
fn one_commit_at_a_time_from_any_thread() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let commit = is_send(pages.begin().unwrap());
    let message = pages.begin().err().unwrap().to_string();
    assert!(message.contains("graph.gln") && message.contains("another commit"), "{message}");
    thread::spawn(move || drop(commit)).join().unwrap();
    pages.begin().unwrap();
}
