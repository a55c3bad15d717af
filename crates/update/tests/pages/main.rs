//! The shadow page store on a simulated disk: what every table names stays as it was, through crashes, failures and a
//! full disk.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod adopting;
mod crashes;
mod damage;
mod failures;
mod model;
mod readers;
mod scripts;
mod space;
