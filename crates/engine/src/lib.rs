//! Approximate nearest-neighbour search on a graph that lives on SSD.
//!
//! [`Index::open`] opens what a build has made; [`Index::search`] may be called from any thread.
//!
//! Invariant: this is the only crate that starts threads, reads the wall clock and names glommio and io_uring.

mod build;
mod check;
mod device;
mod error;
mod executor;
mod index;
mod info;
mod io;
mod keys;
mod open;
mod options;

pub use build::{
    BuildError, BuildOptions, BuildPhase, BuildPlan, BuildReport, GraphPlan, MEMORY_OVERHEAD, PhaseMemory,
    PhaseReport, build, build_from_rows,
};
pub use check::{IndexCheck, check_index};
pub use device::{DeviceFigures, DeviceLoad, measure_device, process_cpu};
pub use error::OpenError;
pub use gleann_search::{Hit, OptionsError, QueryStats, SearchError, SearchKind, SearchOptions, Width};
pub use gleann_vector::{Element, ElementType, Key, Metric};
pub use index::{CancelToken, Index, SearchResult};
pub use info::IndexInfo;
pub use io::Direct;
pub use options::{EngineChoice, MAX_IN_FLIGHT, MAX_THREADS, OpenOptions};
