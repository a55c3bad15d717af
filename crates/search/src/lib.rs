//! Graph traversal on disk as a state machine without I/O, and the one loop that drives it.
//!
//! Invariant: this crate opens no file, starts no thread and reads no wall clock; it knows nothing of update
//! scheduling. The traversal says which blocks to read next; the driver reads them.

mod arrival;
mod beam;
mod cache;
mod drive;
mod entry;
mod error;
mod estimates;
mod harvest;
mod index;
mod lists;
mod live;
mod mem_graph;
mod options;
mod page_search;
mod pipe;
mod plan;
mod stats;
mod stop;
mod traversal;
mod visited;
mod width;

pub use cache::{Cache, Demand, Records, breadth_first};
pub use drive::{Driver, Finished, Query, Turn};
pub use entry::{Entry, EntryPoints};
pub use error::SearchError;
pub use estimates::Estimates;
pub use harvest::{Harvest, InsertSearch, Met, ToInsert};
pub use index::SearchIndex;
pub use live::{Changes, Link, NodeState, NodeTable, Overlay, Unmerged, Version, View, Written, join, room};
pub use mem_graph::{MemGraph, Points};
pub use options::{MAX_LIST, MAX_WIDTH, OptionsError, SearchKind, SearchOptions};
pub use page_search::Expansion;
pub use plan::{Next, Plan, Searched};
pub use stats::{Found, Hit, Nearest, QueryStats};
pub use stop::Stop;
pub use traversal::Traversal;
pub use width::Width;
