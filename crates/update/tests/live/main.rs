//! A live index against a model (a map and brute force), on the simulated volume: random operations, crashes and failures
//! at every operation of the disk.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod churn;
mod crash;
mod edges;
mod failures;
mod meddling;
mod model;
mod navigation;
mod operations;
mod readers;
mod snapshots;
mod steps;
mod threads;
mod walk;
mod watched;
mod world;
