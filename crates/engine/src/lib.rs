//! Approximate nearest-neighbour search on a graph that lives on SSD.

mod build;
mod check;

pub use build::{
    BuildError, BuildOptions, BuildPhase, BuildPlan, BuildReport, GraphPlan, MEMORY_OVERHEAD, PhaseMemory,
    PhaseReport, build, build_from_rows,
};
pub use check::{IndexCheck, check_index};
