//! The verb `convert`: files of other benchmarks into those that are read here.

mod command;
mod described;
mod hdf5;
mod tables;
mod truth;

pub use command::{ConvertArgs, run};
