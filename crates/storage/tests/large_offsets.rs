//! Blocks beyond 4 GiB, in a sparse file.
#![allow(clippy::unwrap_used)]

mod tiny;

use gleann_storage::{
    BlockId, BuildId, BuildParameters, CodeFormat, GraphFile, IndexKind, Layout, Manifest, MemberEntry,
    MemberKind, NewRecord, Packing, Record, StorageError, encode_record, record_bytes, seal_block,
};
use gleann_vector::{ElementType, Matrix, Metric, NodeId};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The header that is drawn in the format's documentation, from scratch.
fn header(id: BuildId, payload: u64, offset: u32) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..12].copy_from_slice(b"\x89gleann\nGRPH");
    bytes[12] = 1;
    bytes[16..32].copy_from_slice(&id.0);
    bytes[32..40].copy_from_slice(&payload.to_le_bytes());
    bytes[40..44].copy_from_slice(&offset.to_le_bytes());
    let crc = tiny::masked(crc32c::crc32c(&bytes[..60]));
    bytes[60..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn a_record_beyond_4_gib() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(ElementType::F32, 8192, 128, 4096).unwrap();
    let nodes = 150_000u32;
    let id = BuildId([3; 16]);
    let bytes = layout.file_bytes(nodes.into());
    assert!(bytes > 5 << 30);
    let file = File::create_new(dir.path().join("graph.gln")).unwrap();
    file.set_len(bytes).unwrap();
    file.write_all_at(&header(id, bytes - 4096, 4096), 0).unwrap();

    let far = NodeId(nodes - 1);
    let vector = vec![2.5f32; 8192];
    let mut block = vec![0; layout.block_bytes()];
    let length = layout.record_bytes();
    let new = NewRecord { vector: &vector, neighbours: &[0, nodes - 2], codes: &[] };
    encode_record(&layout, &new, &mut block[..length]);
    seal_block(&mut block, layout.block_of(far));
    file.write_all_at(&block, bytes - layout.block_bytes() as u64).unwrap();

    let manifest = Manifest {
        build_id: id,
        kind: IndexKind::Graph,
        layout,
        metric: Metric::L2,
        nodes,
        entry: Some(far),
        packing: Packing::ById,
        codes: CodeFormat::None,
        parameters: BuildParameters {
            build_list: 1,
            alpha: 1.0,
            passes: 1,
            seed: 0,
            options: Default::default(),
        },
        members: vec![MemberEntry { kind: MemberKind::Graph, name: "graph.gln".into(), bytes, crc32c: 0 }],
    };
    manifest.publish(dir.path()).unwrap();
    let graph = GraphFile::open(dir.path(), &Manifest::read(dir.path()).unwrap()).unwrap();
    let mut read = Matrix::<u8>::zeroed(1, layout.block_bytes());
    graph.read_block(layout.block_of(far), read.as_mut_slice()).unwrap();
    let record = Record::decode(&layout, record_bytes(&layout, read.as_slice(), 0), nodes).unwrap();
    assert_eq!((record.vector::<f32>(), record.neighbours().last()), (&vector[..], Some(nodes - 2)));
    // The hole before it is not mistaken for a block.
    let error = graph.read_block(BlockId(layout.block_of(far).0 - 1), read.as_mut_slice()).unwrap_err();
    assert!(matches!(error, StorageError::Block { .. }), "{error}");
}
