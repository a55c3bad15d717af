//! The phases of a build, in their order.

use serde::{Deserialize, Serialize};

/// A part of a build whose result is kept when the build stops after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Every row is read once: finite, and what is their hash?
    Scan,
    /// The codebook is trained on a sample.
    Train,
    /// Every row gets its code.
    Encode,
    /// Rows become clusters with replicas. Only in a build of postings.
    Cluster,
    /// Rows are dealt to shards. Not in a build at once.
    Partition,
    /// The graph, or the graph of every shard.
    Graph,
    /// The lists of all shards become one graph. Not in a build at once.
    Merge,
    /// Every vector is made reachable from the entry point.
    Repair,
    /// The order is found in which neighbours share pages. Not in a build by id.
    Shuffle,
    /// Vectors and lists are written as pages.
    Pages,
    /// The navigation graph. Only where one is wanted.
    MemGraph,
}

impl Phase {
    /// The name in progress, reports and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Scan => "scan",
            Phase::Train => "train",
            Phase::Encode => "encode",
            Phase::Cluster => "cluster",
            Phase::Partition => "partition",
            Phase::Graph => "graph",
            Phase::Merge => "merge",
            Phase::Repair => "repair",
            Phase::Shuffle => "shuffle",
            Phase::Pages => "pages",
            Phase::MemGraph => "memgraph",
        }
    }
}
