//! The executors of an index: one per core, each running searches over a disk of its own.

mod core;
mod cpus;
mod host;
mod job;

pub(crate) use cpus::allowed_cpus;
pub(crate) use host::{Executors, HostError, HostOptions};
pub(crate) use job::{Batch, Job, Reply, Single};
