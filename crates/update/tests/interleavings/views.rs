//! The writer and the versions it publishes: a search keeps the version it has taken, in which every place holds what it
//! held, whatever is deleted, freed by checkpoints, and put there anew.

use crate::buffer::Buffer;
use crate::explore::explore;
use crate::key_map::KeyMap;
use crate::live::LiveOptions;
use crate::params::LinkParams;
use crate::sync::Mutex;
use crate::writer::{NewNode, Writer};
use gleann_graph::PruneSpace;
use gleann_quant::{Codebook, Codes, PqParams};
use gleann_search::{Changes, Expansion, NodeTable, Overlay, Version, View, Written};
use gleann_storage::{Layout, PageTable};
use gleann_vector::{Distance, ElementType, Matrix, Metric, Silent};
use shuttle::thread;
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, OnceLock};

const DIM: usize = 2;
const PLACES: usize = 16;

fn codebook() -> &'static Codebook {
    static CODEBOOK: OnceLock<Codebook> = OnceLock::new();
    let rows = Matrix::from_rows(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0], DIM);
    CODEBOOK.get_or_init(|| Codebook::train(&rows, PqParams::new(Metric::L2, 1), &Silent).unwrap())
}

fn table(sequence: u64) -> Arc<PageTable> {
    Arc::new(PageTable::new(sequence, [const { Vec::new() }; 3]))
}

/// A writer of an index that holds nothing.
fn begin() -> (Arc<Changes<f32>>, Arc<Mutex<Writer<f32>>>) {
    let codes = Codes::new(Matrix::zeroed(PLACES, codebook().chunks()), codebook()).unwrap();
    let view = View {
        table: table(0),
        overlays: smallvec![Arc::new(Overlay::new())],
        written: Written::default(),
        entry: None,
        nodes: Arc::new(NodeTable::new(codes)),
    };
    let keys = KeyMap::of(&view.nodes, 0).unwrap();
    let changes = Arc::new(Changes::new(Version { view: Arc::new(view.clone()), unmerged: SmallVec::new() }));
    let layout = Layout::new(ElementType::F32, DIM, 4, 4096).unwrap();
    (changes.clone(), Arc::new(Mutex::new(Writer::new(layout, view, keys, changes))))
}

fn insert(writer: &Mutex<Writer<f32>>, key: u64) {
    let mut writer = writer.lock();
    let node = writer.take_place(&[]).unwrap();
    let (vector, code) = ([key as f32; DIM], vec![key as u8; codebook().chunks()]);
    let vector = bytemuck::cast_slice(&vector);
    writer.insert(&NewNode { key, node, list: &[], links: &[], vector, code: &code });
}

/// As a checkpoint does it that takes out what was deleted: one overlay is set aside, and ends with the table.
fn checkpoint(writer: &Mutex<Writer<f32>>, gone: Vec<u32>) {
    let old = {
        let mut writer = writer.lock();
        writer.view.overlays.push(Arc::new(Overlay::new()));
        writer.publish();
        writer.view.table.clone()
    };
    thread::yield_now();
    let mut writer = writer.lock();
    writer.view.table = table(old.sequence() + 1);
    writer.view.overlays.drain(..1);
    writer.free_places(&old, gone);
    writer.publish();
}

/// What a version has at its places, where that is in memory: node, key, vector, code.
fn held(version: &Version<f32>) -> Vec<(u32, u64, f32, u8)> {
    let view = &version.view;
    let mut nodes = Vec::new();
    for node in (0..view.nodes.places() as u32).filter(|&node| view.is_live(node)) {
        view.with_new_record(node, |record| {
            let first = f32::from_le_bytes(record[..4].try_into().unwrap());
            nodes.push((node, view.nodes.key(node), first, view.nodes.codes().code(node)[0]));
        });
    }
    nodes
}

/// Looks so many times at the latest version.
fn search(changes: &Changes<f32>, times: u32) {
    let version = changes.latest();
    let first = held(&version);
    for _ in 0..times {
        thread::yield_now();
        let now = held(&version);
        for &(node, key, vector, code) in &now {
            assert!(vector == key as f32 && code == key as u8, "node {node} is of two: {now:?}");
            let before = first.iter().find(|held| held.0 == node);
            assert!(before.is_none_or(|before| before.1 == key), "node {node} was {before:?} and is {now:?}");
        }
    }
}

#[test]
fn a_version_that_is_held_keeps_its_places() {
    codebook();
    explore(300, || {
        let (changes, writer) = begin();
        let searches: Vec<_> = [3, 15]
            .into_iter()
            .map(|times| {
                let changes = changes.clone();
                thread::spawn(move || (0..2).for_each(|_| search(&changes, times)))
            })
            .collect();
        for key in 1..8 {
            insert(&writer, key);
            if key % 2 == 0 {
                // The oldest: versions of several tables have known it.
                let node = writer.lock().node_of(key / 2).unwrap();
                assert!(writer.lock().remove(key / 2));
                checkpoint(&writer, vec![node]);
            }
            thread::yield_now();
        }
        searches.into_iter().for_each(|search| search.join().unwrap());
        let writer = writer.lock();
        assert_eq!((writer.live(), writer.dead), (4, 0));
    });
}

/// Temporary indexes of one vector each, so that every put publishes another.
#[test]
fn a_version_has_whole_temporary_indexes() {
    let params = LinkParams { degree: 4, alpha: 1.2, candidates: 8, list: 8, expansion: Expansion::Record };
    explore(100, move || {
        let (changes, writer) = begin();
        let options = LiveOptions { link: params, buffer_vectors: 1 };
        let space = PruneSpace::new(Metric::L2, DIM, 0.0);
        let put = move |writer: &Mutex<Writer<f32>>, key: u64| {
            let new = || Buffer::new(Distance::new(Metric::L2, DIM), space, &options);
            let (buffer, slot) = writer.lock().put(key, &[key as f32; DIM], new);
            buffer.with_scratch(|index, scratch| index.link(slot, scratch));
        };
        put(&writer, 5);
        let found = |changes: &Changes<f32>| {
            let mut found = Vec::new();
            for buffer in &changes.latest().unmerged {
                buffer.nearest(&[0.0; DIM], 8, 8, &mut found);
            }
            found
        };
        let searching = {
            let changes = changes.clone();
            thread::spawn(move || {
                for _ in 0..3 {
                    let found = found(&changes);
                    assert!(found.iter().all(|&(key, distance)| distance == 2.0 * (key * key) as f32));
                }
            })
        };
        (6..9).for_each(|key| put(&writer, key));
        assert!(writer.lock().remove(6) && !writer.lock().has(6));
        searching.join().unwrap();
        let mut keys: Vec<u64> = found(&changes).into_iter().map(|(key, _)| key).collect();
        keys.sort_unstable();
        assert_eq!(keys, [5, 7, 8]);
    });
}
