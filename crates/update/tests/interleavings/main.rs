//! Threads in the orders that a scheduler picks, thousands of them: the log, the page store, the temporary index and the
//! writer, compiled here once more with locks, condition variables and atomics that hand control over (`sync`). What a
//! scheduler finds is the wrong order of steps and the lost wake-up; memory is sequentially consistent here.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

#[allow(dead_code, unused_imports)]
#[path = "../../src/pages/mod.rs"]
mod pages;
#[allow(dead_code)]
mod temp;
#[allow(dead_code, unused_imports)]
#[path = "../../src/wal/mod.rs"]
mod wal;

mod explore;
mod lists;
mod log;
mod readers;
mod stepped;
mod sync;
