//! Approximate nearest-neighbour search on a graph that lives on SSD.
//!
//! [`build`] makes an index directory of a vector file, [`build_from_rows`] of rows in memory; [`Index::open`]
//! opens it; [`Index::search`] may be called from any thread.
//!
//! ```
//! use gleann::{BuildOptions, Index, Matrix, OpenOptions, SearchOptions, Silent, build_from_rows};
//!
//! // 1000 points on a spiral.
//! let points = (0..1000).map(|i| i as f32 / 100.0).flat_map(|t| [t * t.cos(), t * t.sin(), t]);
//! let rows = Matrix::from_rows(&points.collect::<Vec<f32>>(), 3);
//!
//! let place = tempfile::tempdir()?;
//! let dir = place.path().join("spiral.index");
//! let options = BuildOptions { degree: 16, build_list: 32, pq_bytes: 3, ..BuildOptions::default() };
//! assert_eq!(build_from_rows(&rows, &dir, &options, &Silent)?.rows, 1000);
//!
//! let index = Index::open(&dir, OpenOptions::default())?;
//! let result = index.search(rows.row(250), 10, &SearchOptions::default())?;
//! assert_eq!(result.hits.len(), 10);
//! assert_eq!((result.hits[0].key, result.hits[0].distance), (250, 0.0));
//! println!("{} reads through {}", result.stats.reads, index.info().engine);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariant: this is the only crate that starts threads, reads the wall clock and names glommio and io_uring.

mod build;
mod cache;
mod check;
mod check_postings;
mod device;
mod error;
mod executor;
mod generation;
mod import;
mod index;
mod info;
mod io;
mod keys;
mod live;
mod load;
mod mem_graph;
mod open;
mod options;
mod shared;
mod size;
mod stored_codes;
mod update;

pub use build::{
    BuildError, BuildOptions, BuildPhase, BuildPlan, BuildReport, CodePlacement, GraphPlan, MEMORY_OVERHEAD,
    MemGraphOptions, MemGraphPlan, PhaseMemory, PhaseReport, Sampling, SpannOptions, SpannPlan, SpannReport,
    UnknownPlacement, build, build_from_rows, build_spann, build_spann_from_rows,
};
pub use cache::{CachePolicy, CacheSize};
pub use check::{IndexCheck, check_index};
pub use device::{DeviceFigures, DeviceLoad, measure_device, process_cpu};
pub use error::OpenError;
pub use gleann_lios::{
    BudgetKind, CoreTotals, FloorOptions, LiosOptions, Statistic, TracePoint, TunerOptions, TunerState,
    Utilisation,
};
pub use gleann_search::{
    Entry, Expansion, Hit, OptionsError, QueryStats, SearchError, SearchKind, SearchOptions, Stop, Width,
};
pub use gleann_storage::{IndexKind, Packing, PostingLayout, UnknownPacking};
pub use gleann_update::{
    Backend, Delete, Durability, Insert, LiveCheck, LiveFigures, RepairPolicy, Survey, UpdateError, Upsert,
};
pub use gleann_vector::{Element, ElementType, FileError, Key, Matrix, Metric, Progress, Silent, VectorFile};
pub use import::{
    DiskAnnFiles, ExportOptions, ExportReport, GraphSource, ImportError, build_from_graph, export_diskann,
};
pub use index::{CancelToken, Index, SearchResult};
pub use info::{IndexInfo, MemGraphInfo};
pub use io::Direct;
pub use live::{CreateError, LiosStats, LiveStats, UpdateOptions, make_live};
pub use options::{EngineChoice, MAX_IN_FLIGHT, MAX_THREADS, OpenOptions};
pub use size::{bytes, parse_bytes};
