//! `build-index --from-index` and `--from-diskann`: a graph that is there already.

use anyhow::Result;
use clap::Args;
use gleann::{DiskAnnFiles, GraphSource};
use gleann_vector::{ElementType, Metric};
use std::path::PathBuf;

/// Where a graph is that need not be built.
#[derive(Debug, Args)]
pub struct GivenGraphArgs {
    /// Take graph, vectors and keys of this index: another layout of the same
    #[arg(long, value_name = "DIR", conflicts_with_all = ["degree", "build_list", "alpha", "keys", "rows", "metric"])]
    pub from_index: Option<PathBuf>,
    /// Take graph and vectors of the DiskANN or PipeANN index whose files begin so (PREFIX_disk.index, …)
    #[arg(long, value_name = "PREFIX", conflicts_with_all = ["from_index", "degree", "keys", "rows"])]
    pub from_diskann: Option<PathBuf>,
    /// Its element type: f32, u8 or i8 [default: found by looking]
    #[arg(long, value_name = "TYPE", requires = "from_diskann", value_parser = parse_element)]
    element: Option<ElementType>,
    /// Its partition file, for what shares a page [default: PREFIX_partition.bin.aligned or PREFIX_partition.bin, if
    /// there is one]
    #[arg(long, value_name = "FILE", requires = "from_diskann")]
    partition: Option<PathBuf>,
}

impl GivenGraphArgs {
    /// Opens the graph, if there is one to be taken over; `metric` is that of an index that may not say its own.
    pub fn open(&self, metric: Option<Metric>) -> Result<Option<GraphSource>> {
        if let Some(dir) = &self.from_index {
            return Ok(Some(GraphSource::from_index(dir)?));
        }
        let Some(prefix) = &self.from_diskann else { return Ok(None) };
        let files = DiskAnnFiles {
            metric,
            element: self.element,
            partition: self.partition.clone(),
            ..DiskAnnFiles::new(prefix)
        };
        Ok(Some(GraphSource::from_diskann(&files)?))
    }
}

fn parse_element(text: &str) -> Result<ElementType, String> {
    let found = ElementType::ALL.into_iter().find(|element| element.name() == text);
    found.ok_or_else(|| format!("`{text}` is no element type; expected f32, u8 or i8"))
}
