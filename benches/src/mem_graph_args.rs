//! The arguments of `build-index` that are about the navigation graph.

use clap::Args;
use gleann::{MemGraphOptions, Sampling};

/// Whether an index gets a navigation graph, and which.
#[derive(Debug, Args)]
pub struct MemGraphArgs {
    /// Build a navigation graph in memory over this share of the vectors, such as 0.001, for searches to begin at
    #[arg(long, value_name = "SHARE")]
    mem_graph: Option<f64>,
    /// How its vectors are chosen: random or clustered
    #[arg(long, default_value = "random", requires = "mem_graph")]
    mem_graph_sampling: Sampling,
    /// The most neighbours a vector has in it
    #[arg(long, default_value_t = 48, requires = "mem_graph")]
    mem_graph_degree: usize,
    /// Candidates kept while a vector's neighbours in it are sought
    #[arg(long, default_value_t = 128, requires = "mem_graph")]
    mem_graph_list: usize,
}

impl MemGraphArgs {
    /// The options of the build; `None` where no navigation graph is wanted.
    pub fn options(&self) -> Option<MemGraphOptions> {
        self.mem_graph.map(|share| MemGraphOptions {
            sampling: self.mem_graph_sampling,
            share,
            degree: self.mem_graph_degree,
            list: self.mem_graph_list,
        })
    }
}
