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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        mem_graph: MemGraphArgs,
    }

    fn options(line: &str) -> Result<Option<MemGraphOptions>, String> {
        let line = Line::try_parse_from(std::iter::once("build-index").chain(line.split_whitespace()));
        line.map(|line| line.mem_graph.options()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_share_makes_one_and_the_rest_is_about_it() {
        assert_eq!(options(""), Ok(None));
        assert_eq!(options("--mem-graph 0.001"), Ok(Some(MemGraphOptions::default())));
        let all = "--mem-graph 0.01 --mem-graph-sampling clustered --mem-graph-degree 32 --mem-graph-list 64";
        let expected = MemGraphOptions { sampling: Sampling::Clustered, share: 0.01, degree: 32, list: 64 };
        assert_eq!(options(all), Ok(Some(expected)));
        for bad in
            ["--mem-graph-sampling clustered", "--mem-graph many", "--mem-graph 0.1 --mem-graph-sampling k"]
        {
            assert!(options(bad).is_err(), "{bad}");
        }
    }
}
