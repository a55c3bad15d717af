//! How an index is opened.

use crate::cache::CachePolicy;
use crate::io::Direct;
use crate::live::UpdateOptions;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What reads the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineChoice {
    /// glommio where it can start, else the pool, with one warning.
    #[default]
    Auto,
    /// A glommio executor per core with an io_uring each; opening fails where that is impossible.
    Glommio,
    /// Threads that call `pread`.
    Pool,
    /// A memory map of the graph file, for indexes that fit into memory.
    Mmap,
}

impl EngineChoice {
    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            EngineChoice::Auto => "auto",
            EngineChoice::Glommio => "glommio",
            EngineChoice::Pool => "pool",
            EngineChoice::Mmap => "mmap",
        }
    }
}

impl std::fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for EngineChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Auto, Self::Glommio, Self::Pool, Self::Mmap]
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or_else(|| format!("unknown engine `{name}`; expected auto, glommio, pool or mmap"))
    }
}

/// How an index is opened.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOptions {
    /// What reads the pages.
    pub engine: EngineChoice,
    /// Executors; 0: one per core this process may run on.
    pub threads: usize,
    /// Searches that a core interleaves. One search cannot keep an SSD busy: more of them raise throughput
    /// until the disk or the core is saturated, at the price of latency.
    pub in_flight: usize,
    /// How long a core with a single search looks for its reads before it sleeps over them. Lowers the latency of
    /// one query at a time by what waking up costs, at the price of a busy core while that query runs. Cores that
    /// interleave searches never spin.
    pub spin: Duration,
    /// Whether each executor is bound to its core.
    pub pin: bool,
    /// Which records are held in memory.
    pub cache: CachePolicy,
    /// Whether the navigation graph is loaded, where the index has one: it costs little memory, and searches that
    /// begin at it ([`Entry::MemGraph`](crate::Entry)) need it.
    pub mem_graph: bool,
    /// How a live index takes updates.
    pub updates: UpdateOptions,
    /// Whether reads go past the page cache. Of no meaning to [`EngineChoice::Mmap`].
    pub direct: Direct,
}

impl Default for OpenOptions {
    /// Auto, an executor per core, 16 searches each, 200 µs of spinning, pinned, no cache, with the navigation graph,
    /// direct reads preferred.
    fn default() -> Self {
        Self {
            engine: EngineChoice::Auto,
            threads: 0,
            in_flight: 16,
            spin: Duration::from_micros(200),
            pin: true,
            cache: CachePolicy::None,
            mem_graph: true,
            updates: UpdateOptions::default(),
            direct: Direct::Prefer,
        }
    }
}

/// Most executors an index may have.
pub const MAX_THREADS: usize = 1024;
/// Most searches a core may interleave.
pub const MAX_IN_FLIGHT: usize = 1024;
