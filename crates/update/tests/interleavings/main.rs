//! Threads in the orders that a scheduler picks, thousands of them: the log, the page store, the temporary index and the
//! writer, compiled here once more with locks, condition variables and atomics that hand control over (`sync`). What a
//! scheduler finds is the wrong order of steps and the lost wake-up; memory is sequentially consistent here.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test
#![allow(dead_code, unused_imports)] // what is compiled once more has more uses than these tests

#[path = "../../src/buffer.rs"]
mod buffer;
#[path = "../../src/key_map.rs"]
mod key_map;
#[path = "../../src/operation.rs"]
mod operation;
#[path = "../../src/pages/mod.rs"]
mod pages;
#[path = "../../src/params.rs"]
mod params;
#[path = "../../src/placement.rs"]
mod placement;
#[path = "../../src/wal/mod.rs"]
mod wal;
#[path = "../../src/writer.rs"]
mod writer;

mod explore;
mod lists;
mod live;
mod log;
mod readers;
mod stepped;
mod sync;
mod temp;
mod views;
