//! Checked reads over a disk that fails in every way it can.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

use gleann_storage::{
    BlockError, BlockId, BlockRead, BlockReader, Fault, Layout, ReadCause, ReadError, ReadTarget, SimDisk,
    SimOptions, VirtualClock, seal_block,
};
use gleann_vector::ElementType;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const BLOCKS: u32 = 12;

fn layout(pages: usize) -> Layout {
    let dim = if pages == 1 { 100 } else { 1500 };
    Layout::new(ElementType::F32, dim, 16, 4096).unwrap()
}

fn image(layout: &Layout) -> Vec<u8> {
    let mut bytes = vec![0u8; layout.offset(BlockId(BLOCKS)) as usize];
    for id in 0..BLOCKS {
        let start = layout.offset(BlockId(id)) as usize;
        let block = &mut bytes[start..start + layout.block_bytes()];
        block.fill(id as u8 + 1);
        seal_block(block, BlockId(id));
    }
    bytes
}

struct Setup {
    pages: usize,
    faults: Vec<(u64, Fault)>,
    seed: u64,
    cut: usize,
}

/// Reads every block once and returns what came for each.
fn read_all(setup: Setup) -> BTreeMap<u32, Result<u8, ReadError>> {
    let layout = layout(setup.pages);
    assert_eq!(layout.pages_per_block(), setup.pages);
    let mut bytes = image(&layout);
    bytes.truncate(bytes.len() - setup.cut);
    let options = SimOptions {
        reorder_seed: setup.seed,
        faults: setup.faults.into_iter().collect(),
        capacity: 5,
        ..SimOptions::default()
    };
    let disk = SimDisk::new(bytes.into(), VirtualClock::default(), options);
    let target = ReadTarget {
        file: Arc::from(Path::new("graph")),
        layout: layout.block_layout(),
        blocks: u64::from(BLOCKS),
    };
    let mut reader = BlockReader::new(disk, target);
    let mut results = BTreeMap::new();
    let mut next = 0;
    while results.len() < BLOCKS as usize {
        while next < BLOCKS && reader.room() > 0 {
            reader.submit(&[BlockRead {
                tag: u64::from(next) + 100,
                block: BlockId(next),
                place: BlockId(next),
            }]);
            next += 1;
        }
        reader.wait(1, Duration::from_millis(1)).unwrap();
        reader.poll(&mut |read, outcome| {
            assert_eq!(read.tag, u64::from(read.block.0) + 100);
            let earlier = results.insert(read.block.0, outcome.map(|bytes| bytes[0]));
            assert!(earlier.is_none(), "block {} delivered twice", read.block.0);
        });
    }
    assert_eq!(reader.in_flight(), 0);
    results
}

fn causes(setup: Setup) -> BTreeMap<u32, ReadCause> {
    read_all(setup)
        .into_iter()
        .filter_map(|(id, outcome)| match outcome {
            Ok(first) => {
                assert_eq!(first, id as u8 + 1, "bytes of another block");
                None
            }
            Err(error) => Some((id, error.cause)),
        })
        .collect()
}

fn read(tag: u64, block: u32) -> BlockRead {
    BlockRead { tag, block: BlockId(block), place: BlockId(block) }
}

#[test]
fn clean_reads_arrive_whatever_the_order() {
    for seed in 0..20 {
        for pages in [1, 2] {
            assert!(causes(Setup { pages, faults: vec![], seed, cut: 0 }).is_empty());
        }
    }
}

#[test]
fn every_nth_read_may_fail_and_only_its_block_does() {
    for n in 0..u64::from(BLOCKS) {
        let failed = causes(Setup { pages: 1, faults: vec![(n, Fault::Errno(libc::EIO))], seed: 7, cut: 0 });
        assert_eq!(failed.len(), 1);
        assert_eq!(failed.values().next(), Some(&ReadCause::Os(libc::EIO)));
    }
}

#[test]
fn interrupted_and_short_reads_are_made_again() {
    for n in 0..u64::from(BLOCKS) {
        for fault in [
            Fault::Errno(libc::EAGAIN),
            Fault::Errno(libc::EINTR),
            Fault::Short(2048),
            Fault::Short(4096),
            Fault::Short(5000),
            Fault::Late(9_000_000),
        ] {
            for pages in [1, 2] {
                assert!(
                    causes(Setup { pages, faults: vec![(n, fault)], seed: 3, cut: 0 }).is_empty(),
                    "{fault:?}"
                );
            }
        }
    }
}

#[test]
fn endless_interruption_ends_as_an_error() {
    let faults = (0..1000).map(|n| (n, Fault::Errno(libc::EAGAIN))).collect();
    let failed = causes(Setup { pages: 1, faults, seed: 0, cut: 0 });
    assert_eq!(failed.len(), BLOCKS as usize);
    assert!(failed.values().all(|cause| *cause == ReadCause::Os(libc::EAGAIN)));
    let faults = (0..1000).map(|n| (n, Fault::Short(100))).collect();
    assert!(
        causes(Setup { pages: 1, faults, seed: 0, cut: 0 }).values().all(|c| *c == ReadCause::Attempts(16))
    );
}

#[test]
fn a_truncated_file_and_a_flipped_bit_are_named() {
    let failed = causes(Setup { pages: 2, faults: vec![], seed: 0, cut: 4096 });
    assert_eq!(failed, [(11, ReadCause::Truncated { found: 4096, expected: 8192 })].into());
    let failed = causes(Setup { pages: 1, faults: vec![(4, Fault::Flip(777))], seed: 0, cut: 0 });
    assert!(matches!(failed[&4], ReadCause::Block(BlockError::Checksum { .. })));
    let message = read_all(Setup { pages: 1, faults: vec![(0, Fault::Errno(libc::EIO))], seed: 0, cut: 0 })
        [&0]
        .clone()
        .unwrap_err()
        .to_string();
    assert!(message.contains("graph, block 0 at byte 4096") && message.contains("os error 5"), "{message}");
}

#[test]
fn a_reader_dropped_with_reads_in_flight_drains_them() {
    let layout = layout(1);
    let disk = SimDisk::new(image(&layout).into(), VirtualClock::default(), SimOptions::default());
    let target = ReadTarget {
        file: Arc::from(Path::new("graph")),
        layout: layout.block_layout(),
        blocks: u64::from(BLOCKS),
    };
    let mut reader = BlockReader::new(disk, target);
    reader.submit(&[read(1, 0), read(2, BLOCKS)]);
    assert_eq!(reader.in_flight(), 2);
    let mut out_of_range = 0;
    reader.poll(&mut |read, outcome| {
        assert_eq!(read.tag, 2);
        assert_eq!(outcome.unwrap_err().cause, ReadCause::Range(u64::from(BLOCKS)));
        out_of_range += 1;
    });
    assert_eq!(out_of_range, 1);
    drop(reader);
}
