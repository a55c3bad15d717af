//! Damaged files are named, whatever is wrong with them, and never believed.

use crate::model::{Model, bytes_of, filled, layout, open, place, record, write_all};
use gleann_storage::{Area, BuildId, Layout, LogicalBlock, SimVolume, Volume};
use gleann_update::{Pages, PagesError, PagesPlace, TABLE_NAME};
use gleann_vector::ElementType;

fn small() -> SimVolume {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let mut commit = pages.begin().unwrap();
    for area in Area::ALL {
        for index in 0..3 {
            commit.write(LogicalBlock { area, index }, &mut filled(layout(), 5)).unwrap();
        }
    }
    commit.finish(b"the root").unwrap();
    volume
}

fn replace(volume: &SimVolume, bytes: &[u8]) {
    let file = volume.create(TABLE_NAME).unwrap();
    file.write_at(bytes, 0).unwrap();
}

fn error(volume: &SimVolume) -> String {
    Pages::open(place(volume)).unwrap_err().to_string()
}

#[test]
fn every_damaged_byte_and_every_length_is_an_error() {
    let volume = small();
    let whole = bytes_of(&volume, TABLE_NAME);
    assert_eq!(whole.len(), 100 + 9 * 4 + 8);
    for at in 0..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            replace(&volume, &bytes);
            assert!(error(&volume).contains(TABLE_NAME), "byte {at}");
        }
        replace(&volume, &whole[..at]);
        assert!(error(&volume).contains(TABLE_NAME), "{at} bytes");
    }
    replace(&volume, &[&whole[..], b"x"].concat());
    assert!(error(&volume).contains("the length is 145 bytes, expected 144 bytes"));
    replace(&volume, &whole);
    assert_eq!(open(&volume).1, b"the root");
}

#[test]
fn another_index_another_layout_or_a_short_block_file_is_refused() {
    let volume = small();
    let message =
        Pages::open(PagesPlace { index: BuildId([8; 16]), ..place(&volume) }).unwrap_err().to_string();
    assert!(message.contains(&"07".repeat(16)) && message.contains(&"08".repeat(16)), "{message}");
    let other = Layout::new(ElementType::U8, 16, 8, 8192).unwrap().block_layout();
    let message = Pages::open(PagesPlace { layout: other, ..place(&volume) }).unwrap_err().to_string();
    assert!(message.contains("1 pages of 4096 bytes, expected 1 pages of 8192"), "{message}");
    let file = volume.open("graph.gln").unwrap().unwrap();
    file.set_len(4096 * 9 + 4095).unwrap();
    let message = error(&volume);
    assert!(message.contains("8 for key block 2, expected a number below 8"), "{message}");
    file.set_len(4095).unwrap();
    let message = error(&volume);
    assert!(message.contains("graph.gln") && message.contains("4096 bytes or more"), "{message}");
    volume.remove("graph.gln").unwrap();
    assert!(matches!(Pages::open(place(&volume)), Err(PagesError::Missing { .. })));
}

#[test]
fn a_damaged_block_is_named_with_its_place() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    write_all(&pages, 3, 1).unwrap();
    let table = write_all(&pages, 2, 2).unwrap();
    // Blocks 0 and 1 lie in places 3 and 4 now.
    assert_eq!(table.records(), [3, 4, 2]);
    let file = volume.open("graph.gln").unwrap().unwrap();
    let swap = |from: u64, to: u64| {
        let mut bytes = vec![0; 4096];
        file.read_at(&mut bytes, (from + 1) * 4096).unwrap();
        file.write_at(&bytes, (to + 1) * 4096).unwrap();
    };
    let mut bytes = vec![0; 4096];
    swap(2, 3);
    let message = pages.read(&table, record(0), &mut bytes).unwrap_err().to_string();
    assert!(message.contains("graph.gln, record block 0 at byte 16384: block number is 2"), "{message}");
    file.write_at(b"x", 5 * 4096 + 99).unwrap();
    let message = pages.read(&table, record(1), &mut bytes).unwrap_err().to_string();
    assert!(message.contains("record block 1 at byte 20480: checksum"), "{message}");
    let message = pages.read(&table, record(3), &mut bytes).unwrap_err().to_string();
    assert!(message.contains("record block 3 is not in the page table, which has 3"), "{message}");
    // A copy of damaged blocks is not made.
    let copy = SimVolume::new();
    assert!(matches!(
        pages.copy_to(&table, std::sync::Arc::new(copy.clone()), b""),
        Err(PagesError::Block { .. })
    ));
    assert!(matches!(Pages::open(place(&copy)), Err(PagesError::Missing { .. })));
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let volume = small();
    volume.create("table.gln.tmp").unwrap().write_at(b"half a table", 0).unwrap();
    let (pages, _) = open(&volume);
    assert_eq!(volume.list().unwrap(), ["graph.gln", "table.gln"]);
    assert_eq!(Model::read(&pages, &pages.table()), Model([vec![5; 3], vec![5; 3], vec![5; 3]]));
}
