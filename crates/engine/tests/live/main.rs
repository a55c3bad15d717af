//! Live indexes as users have them: on a real disk, from many threads, opened again and again.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod checks;
mod compaction;
mod errors;
mod from_nothing;
mod lios;
mod model;
mod snapshots;
mod updates;
mod upserts;
