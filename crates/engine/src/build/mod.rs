//! The build: from a vector file to an index directory, in phases that can each be continued.
//!
//! The phases and the files between them are described in `docs/design/build.md`.

mod adjacency;
mod again;
mod begin;
mod code_placement;
mod codes;
mod cost;
mod disk;
mod error;
mod finish;
mod gather;
mod input;
mod lists;
mod mem_graph;
mod mem_graph_options;
mod memory;
mod merge;
mod meter;
mod options;
mod pages;
mod phase;
mod placement;
mod plan;
mod repair;
mod report;
mod run;
mod scan;
mod shards;
mod shuffle;
mod spann;
mod state;
mod threads;
mod whole;
mod work;

pub(crate) use adjacency::AdjacencyWriter;
pub(crate) use again::options_again;
pub use code_placement::{CodePlacement, UnknownPlacement};
pub use error::BuildError;
pub(crate) use mem_graph::stored as stored_mem_graph;
pub use mem_graph_options::{MemGraphOptions, MemGraphPlan, Sampling};
pub use memory::MEMORY_OVERHEAD;
pub use options::BuildOptions;
pub use phase::Phase as BuildPhase;
pub use plan::{BuildPlan, GraphPlan, PhaseMemory};
pub(crate) use report::read_report;
pub use report::{BuildReport, PhaseReport};
pub(crate) use run::{ADJACENCY, Run, run_given};
pub use run::{build, build_from_rows};
pub(crate) use scan::LIMIT as LARGEST_COMPONENT;
pub(crate) use spann::read_spann_report;
pub use spann::{SpannOptions, SpannPlan, SpannReport, build_spann, build_spann_from_rows};
pub(crate) use threads::thread_pool;
