//! A static graph becomes a live index, and a live index a compact copy.

use crate::model::{Model, bytes_of, number_in, open, place, record, write, write_all};
use gleann_storage::{Area, BuildId, GraphWriter, Layout, NewRecord, OsVolume, SimVolume, Volume};
use gleann_update::{Pages, PagesError, PagesPlace};
use gleann_vector::ElementType;
use std::sync::Arc;

#[test]
fn a_static_graph_is_adopted_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    // Records of two pages.
    let layout = Layout::new(ElementType::F32, 1020, 8, 4096).unwrap();
    let index = BuildId([3; 16]);
    let mut writer = GraphWriter::create(dir.path(), layout, 10, index).unwrap();
    for node in 0..10u32 {
        let record =
            NewRecord { vector: &vec![node as f32; 1020][..], neighbours: &[(node + 1) % 10], codes: &[] };
        writer.push(&record).unwrap();
    }
    writer.finish().unwrap();
    let volume: Arc<dyn Volume> = Arc::new(OsVolume::open(dir.path()).unwrap());
    let place = PagesPlace { volume: Arc::clone(&volume), index, layout: layout.block_layout() };
    let built = bytes_of(&*volume, "graph.gln");
    let message = Pages::adopt(place.clone(), 11, b"").unwrap_err().to_string();
    assert!(message.contains("expected 94208 bytes or more"), "{message}");
    let error = Pages::adopt(place.clone(), (1 << 31) + 1, b"").unwrap_err();
    assert!(matches!(error, PagesError::AreaFull { .. }), "{error}");
    let pages = Pages::adopt(place.clone(), 10, b"root").unwrap();
    assert_eq!(bytes_of(&*volume, "graph.gln"), built);
    assert!(matches!(Pages::adopt(place.clone(), 10, b""), Err(PagesError::Exists { .. })));
    let first = |pages: &Pages, node| {
        let mut block = vec![0; 8192];
        pages.read(&pages.table(), record(node), &mut block).unwrap();
        f32::from_le_bytes(block[..4].try_into().unwrap())
    };
    assert!((0..10).all(|node| first(&pages, node) == node as f32));
    let mut commit = pages.begin().unwrap();
    commit.write(record(4), &mut [0; 8192]).unwrap();
    commit.write(record(10), &mut [0; 8192]).unwrap();
    commit.finish(b"changed").unwrap();
    drop((pages, volume));
    let (pages, root) = Pages::open(place).unwrap();
    assert_eq!(
        (first(&pages, 3), first(&pages, 4), first(&pages, 5), &root[..]),
        (3.0, 0.0, 5.0, &b"changed"[..])
    );
    assert_eq!(pages.table().records(), [0, 1, 2, 3, 10, 5, 6, 7, 8, 9, 11]);
}

#[test]
fn a_new_index_keeps_the_header_page_or_has_zeros() {
    let volume = SimVolume::new();
    Pages::create(place(&volume), b"").unwrap();
    assert_eq!(bytes_of(&volume, "graph.gln"), [0; 4096]);
    let volume = SimVolume::new();
    volume.create("graph.gln").unwrap().write_at(&[9; 3 * 4096], 0).unwrap();
    let pages = Pages::create(place(&volume), b"").unwrap();
    assert_eq!((pages.file_blocks(), pages.free_blocks(), pages.table().blocks()), (2, 2, 0));
    write_all(&pages, 1, 1).unwrap();
    assert_eq!(bytes_of(&volume, "graph.gln")[..4096], [9; 4096]);
}

#[test]
fn a_copy_is_compact_and_has_the_same_content() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    write_all(&pages, 700, 1).unwrap();
    for step in [3, 5, 7] {
        let mut commit = pages.begin().unwrap();
        for index in (0..700).step_by(step) {
            write(&mut commit, record(index), step as u64).unwrap();
        }
        let key = gleann_storage::LogicalBlock { area: Area::Keys, index: (step as u32 - 3) / 2 };
        write(&mut commit, key, 50 + step as u64).unwrap();
        commit.finish(b"").unwrap();
    }
    let (table, content) = (pages.table(), Model::read(&pages, &pages.table()));
    // Commits go on while a table is copied.
    write_all(&pages, 700, 9).unwrap();
    let copy = SimVolume::new();
    pages.copy_to(&table, Arc::new(copy.clone()), b"snapshot").unwrap();
    for seed in [0, 1, u64::MAX] {
        let (copied, root) = open(&copy.crash_image(seed));
        assert_eq!((Model::read(&copied, &copied.table()), &root[..]), (content.clone(), &b"snapshot"[..]));
        assert_eq!((copied.file_blocks(), copied.free_blocks()), (703, 0));
        assert_eq!(copied.table().sequence(), table.sequence());
        assert_eq!(copied.table().keys(), [700, 701, 702]);
    }
    assert!(matches!(pages.copy_to(&table, Arc::new(copy), b""), Err(PagesError::Exists { .. })));
    let other = SimVolume::new();
    other.create("graph.gln").unwrap().write_at(b"a static index", 0).unwrap();
    assert!(matches!(pages.copy_to(&table, Arc::new(other.clone()), b""), Err(PagesError::Exists { .. })));
    assert_eq!(bytes_of(&other, "graph.gln"), b"a static index");
    let mut bytes = vec![0; 4096];
    pages.read(&table, record(3), &mut bytes).unwrap();
    assert_eq!(number_in(&bytes), 3);
}

#[test]
fn an_index_of_nothing_is_opened_and_copied() {
    let volume = SimVolume::new();
    let pages = Pages::create(place(&volume), b"").unwrap();
    let copy = SimVolume::new();
    pages.copy_to(&pages.table(), Arc::new(copy.clone()), b"").unwrap();
    let (copied, root) = open(&copy);
    assert_eq!((copied.table().blocks(), copied.file_blocks(), root.len()), (0, 0, 0));
    write_all(&copied, 1, 1).unwrap();
}
