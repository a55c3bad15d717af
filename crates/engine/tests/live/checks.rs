//! What a check finds in live indexes.

use crate::model::{BACKENDS, made_live, new_vectors, open, options};
use crate::support::watchdog;
use gleann::{Backend, EngineChoice, Index, IndexCheck, OpenOptions, UpdateOptions, check_index};
use gleann_storage::{BLOCK_TRAILER, BlockId, Manifest, seal_block};
use gleann_vector::Silent;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn check(path: &Path) -> IndexCheck {
    check_index(path, &Silent).unwrap()
}

fn problems(path: &Path) -> Vec<String> {
    check(path).problems.iter().map(ToString::to_string).collect()
}

/// Changes one byte of a file; the same call again brings it back.
fn flip(path: &Path, file: &str, offset: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path.join(file)).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
}

#[test]
fn a_sound_live_index_is_found_sound_and_described() {
    let _watchdog = watchdog("checks");
    for backend in BACKENDS {
        let (_dir, path, mut model) = made_live::<f32>(500, backend);
        assert_eq!(problems(&path), [""; 0], "{backend}");
        let updates = UpdateOptions { consolidate_share: 2.0, ..UpdateOptions::default() };
        let index = Index::open(&path, OpenOptions { updates, ..options(EngineChoice::Auto) }).unwrap();
        let error = check_index(&path, &Silent).unwrap_err().to_string();
        assert!(error.contains("is open"), "{error}");
        for (key, vector) in (450u64..).zip(new_vectors::<f32>(100, 3)) {
            model.upsert(&index, key, &vector);
        }
        index.merge().unwrap();
        (0..40).for_each(|key| model.delete(&index, key));
        drop(index);
        let found = check(&path);
        assert_eq!(found.problems, []);
        let live = found.live.as_ref().unwrap();
        // The deletes are in the log only; a merge takes deleted nodes out, a checkpoint leaves them.
        let dead = if backend == Backend::Fresh { 0 } else { 50 };
        assert_eq!((live.backend, live.live, live.dead, live.operations), (Some(backend), 550, dead, 40));
        assert_eq!((found.rows, found.records, found.reachable), (550, 550 + dead, Some(550)));
        assert_eq!((found.codes_compared, found.degrees.iter().sum::<u64>()), (550 + dead, 550));
        assert!(live.overlap_ratio().unwrap() > 0.0 && live.log_bytes == 40 * 9);
        model.check(&open(&path), &format!("{backend}: checked and opened"));
    }
}

#[test]
fn every_damaged_byte_is_found() {
    let _watchdog = watchdog("damaged bytes");
    let (_dir, path, mut model) = made_live::<u8>(100, Backend::Odin);
    let index = open(&path);
    for (key, vector) in (100u64..).zip(new_vectors::<u8>(40, 3)) {
        model.upsert(&index, key, &vector);
    }
    index.merge().unwrap();
    for (key, vector) in (140u64..).zip(new_vectors::<u8>(10, 4)) {
        model.upsert(&index, key, &vector);
    }
    index.flush().unwrap();
    drop(index);
    let sound = check(&path);
    assert!(sound.is_sound() && sound.live.unwrap().operations == 10);
    let layout = Manifest::read(&path).unwrap().layout;
    let blocks = std::fs::metadata(path.join("graph.gln")).unwrap().len() / layout.block_bytes() as u64;
    // Blocks that no table names may hold anything.
    let found: usize = (0..blocks as u32 - 1)
        .filter(|&block| {
            let offset = layout.offset(BlockId(block)) + 100;
            flip(&path, "graph.gln", offset);
            let problems = problems(&path);
            flip(&path, "graph.gln", offset);
            assert!(problems.iter().all(|problem| problem.starts_with("graph.gln, byte ")), "{problems:?}");
            assert!(problems.iter().all(|problem| problem.contains(" block ")), "{problems:?}");
            !problems.is_empty()
        })
        .count();
    let named = 150usize.div_ceil(layout.records_per_block());
    assert!(found > named, "{found} of {blocks} blocks matter, there are {named} of records alone");
    for (file, offset) in [("table.gln", 20), ("table.gln", 200), ("pq.codebook", 300)] {
        flip(&path, file, offset);
        let problems = problems(&path);
        flip(&path, file, offset);
        assert!(problems.len() == 1 && problems[0].starts_with(file), "{file}: {problems:?}");
    }
    let log =
        std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let log = log.filter(|name| name.starts_with("wal-")).max().unwrap();
    flip(&path, &log, 50);
    assert!(problems(&path).iter().any(|problem| problem.starts_with(&log)));
    flip(&path, &log, 50);
    assert_eq!(problems(&path), [""; 0]);
    model.check(&open(&path), "as before");
}

#[test]
fn wrong_neighbours_in_whole_blocks_are_found() {
    let (_dir, path, _) = made_live::<f32>(301, Backend::Odin);
    let layout = Manifest::read(&path).unwrap().layout;
    let places = 301u32.next_multiple_of(layout.records_per_block() as u32);
    assert!(places > 301, "there is a free place");
    let file = fs::OpenOptions::new().read(true).write(true).open(path.join("graph.gln")).unwrap();
    let mut block = vec![0; layout.block_bytes()];
    file.read_exact_at(&mut block, layout.offset(BlockId(0))).unwrap();
    let list = layout.vector_bytes() + 4;
    for (id, what) in [(301, "a place that holds nothing"), (0, "the node itself"), (places, "neighbour 0")] {
        let mut wrong = block.clone();
        wrong[list..list + 4].copy_from_slice(&u32::to_le_bytes(id));
        seal_block(&mut wrong, BlockId(0));
        file.write_all_at(&wrong, layout.offset(BlockId(0))).unwrap();
        let problems = problems(&path);
        assert!(problems.len() == 1 && problems[0].contains(what), "{what}: {problems:?}");
        assert!(problems[0].contains("record block 0, node 0"), "{problems:?}");
    }
    assert!(block.len() > BLOCK_TRAILER);
    // A vector that is another than its code says.
    let mut wrong = block.clone();
    wrong[..4].copy_from_slice(&900.0f32.to_le_bytes());
    seal_block(&mut wrong, BlockId(0));
    file.write_all_at(&wrong, layout.offset(BlockId(0))).unwrap();
    let problems = problems(&path);
    assert!(problems.len() == 1 && problems[0].contains("the code of node 0"), "{problems:?}");
}
