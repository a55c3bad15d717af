//! What is written is read back, and the bytes follow from the input alone.
#![allow(clippy::unwrap_used)]

mod tiny;

use gleann_storage::{BlockId, CodeFormat, IndexDirectory, Record, check_index, record_bytes};
use gleann_vector::{Element, Matrix, NodeId, Silent};
use half::f16;
use proptest::prelude::*;
use std::fs;
use tiny::{MEMBERS, Tiny, centroids, check, load_all};

fn round_trip<T: Element>(shape: &Tiny) {
    let dir = tempfile::tempdir().unwrap();
    let manifest = shape.build::<T>(dir.path()).unwrap();
    let index = IndexDirectory::open(dir.path()).unwrap();
    assert_eq!(index.manifest(), &manifest);
    assert_eq!(
        index.codes().unwrap().map(|codes| codes.as_slice().to_vec()),
        match shape.chunks {
            0 => None,
            _ => Some(shape.codes().as_slice().to_vec()),
        }
    );
    assert_eq!(index.codebook().unwrap(), (shape.chunks > 0).then(|| shape.codebook()));
    assert_eq!(index.keys().unwrap(), shape.keys.then(|| shape.keys()));
    assert_eq!(index.report().unwrap()["seconds"], 1.5);

    let graph = index.graph().unwrap();
    let mut seen = 0;
    let visit = |node: NodeId, record: Record<'_>| {
        assert_eq!(node.0, seen);
        assert_eq!(record.vector::<T>(), shape.vector::<T>(seen));
        assert_eq!(record.neighbours().collect::<Vec<_>>(), shape.neighbours(seen));
        seen += 1;
    };
    graph.for_each_record(&Silent, visit).unwrap();
    assert_eq!(seen, shape.nodes);

    let layout = *graph.layout();
    let mut block = Matrix::<u8>::zeroed(1, layout.block_bytes());
    for id in (0..graph.blocks()).map(BlockId) {
        graph.read_block(id, block.as_mut_slice()).unwrap();
        for node in graph.nodes_of(id) {
            assert_eq!((layout.block_of(node), id), (id, layout.block_of(node)));
            let bytes = record_bytes(&layout, block.as_slice(), layout.slot_of(node));
            let record = Record::decode(&layout, bytes, shape.nodes).unwrap();
            assert_eq!(record.vector::<T>(), shape.vector::<T>(node.0));
        }
    }

    let report = check_index(dir.path(), &centroids, &Silent).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.records, u64::from(shape.nodes));
    let edges: usize = (0..shape.nodes).map(|node| shape.neighbours(node).len()).sum();
    assert_eq!(report.edges(), edges as u64);
}

#[test]
fn every_element_type_and_shape() {
    let shape = Tiny::default();
    round_trip::<u8>(&shape);
    round_trip::<i8>(&shape);
    round_trip::<f32>(&shape);
    round_trip::<f16>(&shape);
    // Records of two pages; a vector whose bytes are padded; one node; more than one write buffer.
    round_trip::<f32>(&Tiny { dim: 1200, degree: 10, nodes: 5, ..shape.clone() });
    round_trip::<f16>(&Tiny { dim: 5, degree: 3, chunks: 5, nodes: 2000, page_size: 16384, ..shape.clone() });
    round_trip::<u8>(&Tiny { nodes: 1, keys: false, ..shape.clone() });
    round_trip::<u8>(&Tiny { dim: 4000, degree: 1, chunks: 0, nodes: 1100, ..shape });
}

#[test]
fn an_empty_index() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Tiny { nodes: 0, ..Tiny::default() };
    let manifest = shape.build::<u8>(dir.path()).unwrap();
    assert_eq!((manifest.entry, manifest.codes), (None, CodeFormat::Pq { chunks: 8 }));
    load_all(dir.path()).unwrap();
    assert_eq!(check(dir.path()), [""; 0]);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let manifest = Tiny::default().build::<u8>(a.path()).unwrap();
    // The report may differ from run to run without a trace in the manifest.
    Tiny::default().build::<u8>(b.path()).unwrap();
    gleann_storage::write_report(b.path(), manifest.build_id, serde_json::Map::new()).unwrap();
    for name in MEMBERS.into_iter().chain(["MANIFEST"]) {
        let read = |dir: &tempfile::TempDir| fs::read(dir.path().join(name)).unwrap();
        assert_eq!(read(&a), read(&b), "{name}");
    }
    assert_eq!(check(b.path()), [""; 0]);
}

/// Version 1 of the format, byte for byte. A change here is a new format version.
#[test]
fn the_bytes_of_version_2() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Tiny::default().build::<u8>(dir.path()).unwrap();
    assert_eq!(manifest.build_id.to_string(), "ba0d665822a81270ec051be6e2e1e2b5");
    let crcs: Vec<String> = MEMBERS
        .into_iter()
        .chain(["MANIFEST"])
        .map(|name| format!("{name} {:#010x}", crc32c::crc32c(&fs::read(dir.path().join(name)).unwrap())))
        .collect();
    assert_eq!(
        crcs,
        [
            "graph.gln 0xf60815ab",
            "pq.codebook 0x7d0bdadb",
            "pq.codes 0x4a2c3093",
            "keys.u64 0xe8fdd707",
            "MANIFEST 0x73ad022e"
        ]
    );
    for (entry, text) in manifest.members.iter().zip(&crcs) {
        assert_eq!(&format!("{} {:#010x}", entry.name, entry.crc32c), text);
        assert_eq!(fs::metadata(dir.path().join(&entry.name)).unwrap().len(), entry.bytes);
    }
}

#[test]
fn the_build_id_follows_input_and_parameters_but_not_results() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Tiny::default().build::<u8>(dir.path()).unwrap();
    let id = manifest.derive_build_id(b"input");
    assert_eq!(id, manifest.build_id);
    assert_ne!(manifest.derive_build_id(b"other input"), id);
    let with = |change: &dyn Fn(&mut gleann_storage::Manifest)| {
        let mut changed = manifest.clone();
        change(&mut changed);
        changed.derive_build_id(b"input")
    };
    assert_eq!(with(&|m| m.entry = Some(NodeId(0))), id);
    assert_eq!(with(&|m| m.members.clear()), id);
    assert_ne!(with(&|m| m.parameters.seed = 2), id);
    assert_ne!(with(&|m| m.parameters.alpha = 1.3), id);
    assert_ne!(with(&|m| m.metric = gleann_vector::Metric::L2), id);
    assert_ne!(with(&|m| drop(m.parameters.options.insert("shards".into(), "2".into()))), id);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_shape(
        dim in 1usize..600, degree in 1usize..80, page in 0usize..3, nodes in 0u32..60, keys: bool, seed: u64,
    ) {
        let chunks = dim.min(8) as u32;
        let shape = Tiny { dim, degree, page_size: 4096 << page, nodes, chunks, keys, seed: seed % 1000 };
        if nodes > 0 {
            round_trip::<i8>(&shape);
            round_trip::<f32>(&shape);
        }
    }
}
