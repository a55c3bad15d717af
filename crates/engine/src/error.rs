//! Why an index could not be opened.

use crate::io::Direct;
use crate::options::{EngineChoice, MAX_IN_FLIGHT, MAX_THREADS};
use gleann_storage::StorageError;
use std::path::PathBuf;

/// Why an index could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file of the index is missing, damaged, or of another build.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The index holds no codes to search by.
    #[error("{}: the index has no codebook and codes to search by; build it again", .0.display())]
    NoCodes(PathBuf),
    /// The codebook or the codes make no sense.
    #[error("{}: {message}; run check-index", path.display())]
    Codes {
        /// The index directory.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The sample of queries that a hot cache is chosen by cannot be used.
    #[error("{}: cannot choose a cache by these queries: {message}", path.display())]
    CacheSample {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A search of that sample failed.
    #[error("cannot choose a cache: {0}")]
    CacheSearch(gleann_search::SearchError),
    /// A cache of an index that has nothing to hold in one.
    #[error(
        "{}: a cache holds records of a graph, and this index has postings; open it without a cache", .0.display()
    )]
    CacheOfPostings(PathBuf),
    /// The graph file cannot be read in the way asked for.
    #[error("{} cannot be read {}: {source}", path.display(), manner(.direct))]
    Graph {
        /// The graph file.
        path: PathBuf,
        /// The way asked for.
        direct: Direct,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The engine asked for cannot start here.
    #[error("engine {engine} cannot start: {cause}; {}", remedy(*.engine))]
    Engine {
        /// The engine.
        engine: EngineChoice,
        /// Why.
        cause: String,
    },
    /// A live index could not be brought back to its last state.
    #[error(transparent)]
    Live(#[from] gleann_update::UpdateError),
    /// Another process has the index open.
    #[error("{} is locked: another process has this live index open; close it there, or open a snapshot", .0.display())]
    Locked(PathBuf),
    /// The threads of updates cannot start.
    #[error("the threads of updates cannot start: {cause}; allow more threads and memory (ulimit -u, -v)")]
    Workers {
        /// Why.
        cause: String,
    },
    /// What live indexes do not have.
    #[error("{}: {found}", path.display())]
    NotLive {
        /// The index directory.
        path: PathBuf,
        /// What was asked for, and what to do.
        found: String,
    },
    /// Too many executors or searches a core.
    #[error(
        "{threads} threads with {in_flight} searches each were asked for; expected at most {MAX_THREADS} threads \
         and 1 to {MAX_IN_FLIGHT} searches"
    )]
    Options {
        /// Threads asked for.
        threads: usize,
        /// Searches a core asked for.
        in_flight: usize,
    },
}

fn remedy(engine: EngineChoice) -> &'static str {
    match engine {
        EngineChoice::Glommio => "use the engine auto or pool",
        _ => "allow more threads and memory (ulimit -u, -v, cgroup limits), or open with fewer threads",
    }
}

fn manner(direct: &Direct) -> &'static str {
    match direct {
        Direct::Require => {
            "with O_DIRECT, which was required (Direct::Prefer reads through the page cache then)"
        }
        Direct::Prefer | Direct::Off => "as page reads need it",
    }
}
