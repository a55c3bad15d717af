//! Graphs that are there already, as the source of a build: another gleann index, or an index of DiskANN's family.
//!
//! A source gives rows, their lists, an entry point, and where it fits a codebook; the build takes them in place of its
//! own and goes on from there. `docs/INTEROP.md` says what becomes of what.

mod copy;
mod diskann;
mod error;
mod export;
mod index;
mod mem_graph;
mod nodes;
mod order;
mod rows;
mod source;

pub use diskann::DiskAnnFiles;
pub use error::ImportError;
pub use export::{ExportOptions, ExportReport, export_diskann};
pub(crate) use source::{CODEBOOK, GRAPH, Given, MEM_GRAPH_OF, identity, is_own};
pub use source::{GraphSource, build_from_graph};
