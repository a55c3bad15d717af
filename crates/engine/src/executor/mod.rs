//! The executors of an index: one per core, each running searches over a disk of its own.

mod cpus;
mod host;
mod job;
mod stalls;
mod worker;

pub(crate) use cpus::{allowed_cpus, bind_thread};
pub(crate) use host::{Executors, HostOptions};
pub(crate) use job::{Batch, Job, Outcome, Single};
pub(crate) use stalls::{SpareWork, StallOptions};
pub(crate) use worker::WallClock;
