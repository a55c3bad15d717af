//! What a build can be told.

use super::mem_graph_options::MemGraphOptions;
use super::{BuildError, CodePlacement};
use gleann_graph::BuildParams;
use gleann_quant::PqParams;
use gleann_storage::{Layout, Packing};
use gleann_vector::{ElementType, Key, Metric};

/// How an index is built.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildOptions {
    /// How near two vectors are.
    pub metric: Metric,
    /// R: the most neighbours a vector has, 1 to 1024.
    pub degree: usize,
    /// L: length of the candidate pool while the graph is built; best 1 to 2 times the degree.
    pub build_list: usize,
    /// α of the prune, on squared distances, ≥ 1.
    pub alpha: f32,
    /// Passes over the vectors, 1 or 2.
    pub passes: u32,
    /// Bytes of the compressed vector, 1 to the dimension. Not looked at where there are none.
    pub pq_bytes: usize,
    /// Where the compressed vectors are kept.
    pub codes: CodePlacement,
    /// Which vectors share a page.
    pub packing: Packing,
    /// Bytes of a page, the unit of a read: 4096, 8192 or 16384.
    pub page_size: usize,
    /// The navigation graph at which searches may begin; `None`: there is none, they begin at the entry point.
    pub mem_graph: Option<MemGraphOptions>,
    /// Most bytes of memory the build may take, beside 64 MiB for the program itself. The graph is built in
    /// shards where it does not fit at once.
    pub memory_budget: u64,
    /// Threads; 0: as many as this process may run on. They do not change the index.
    pub threads: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// The key of every row, all different; `None`: row numbers.
    pub keys: Option<Vec<Key>>,
    /// Throw away what an interrupted build has left in the directory, instead of continuing it.
    pub restart: bool,
}

impl Default for BuildOptions {
    /// L2, R = 64, L = 125, α = 1.2, 32 PQ bytes in memory, pages of 4096 bytes in the order of rows, no navigation
    /// graph, 8 GiB, all threads, seed 0, row numbers.
    fn default() -> Self {
        Self {
            metric: Metric::L2,
            degree: 64,
            build_list: 125,
            alpha: 1.2,
            passes: BuildParams::default().passes,
            pq_bytes: 32,
            codes: CodePlacement::Memory,
            packing: Packing::ById,
            page_size: 4096,
            mem_graph: None,
            memory_budget: 8 << 30,
            threads: 0,
            seed: 0,
            keys: None,
            restart: false,
        }
    }
}

impl BuildOptions {
    /// The graph's parameters.
    pub(crate) fn graph(&self) -> BuildParams {
        let defaults = BuildParams::default();
        BuildParams {
            degree: self.degree,
            list: self.build_list,
            alpha: self.alpha,
            max_candidates: defaults.max_candidates.max(self.degree),
            passes: self.passes,
            seed: self.seed,
            ..defaults
        }
    }

    /// The quantiser's parameters.
    pub(crate) fn quantiser(&self) -> PqParams {
        PqParams { seed: self.seed, ..PqParams::new(self.metric, self.pq_bytes) }
    }

    /// Bytes of a code; 0 where there are none.
    pub(crate) fn code_bytes(&self) -> usize {
        if self.codes == CodePlacement::Off { 0 } else { self.pq_bytes }
    }

    /// Holds the options against the data they are to be used on.
    pub(crate) fn check(&self, rows: u64, dim: usize, element: ElementType) -> Result<Layout, BuildError> {
        let layout = Layout::new(element, dim, self.degree, self.page_size)?;
        self.graph().check()?;
        self.mem_graph.as_ref().map_or(Ok(()), MemGraphOptions::check)?;
        if self.codes != CodePlacement::Off {
            self.quantiser().check(dim)?;
        }
        let layout = match self.codes {
            CodePlacement::Record => layout.with_codes(self.pq_bytes)?,
            CodePlacement::Memory | CodePlacement::Off => layout,
        };
        check_rows(rows, self.keys.as_deref())?;
        Ok(layout)
    }
}

/// Holds the number of rows against the ids there are, and against the keys.
pub(crate) fn check_rows(rows: u64, keys: Option<&[Key]>) -> Result<(), BuildError> {
    let most = u64::from(u32::MAX) - 1;
    if rows > most {
        let expected = format!("at most {most}; split the data over several indexes");
        return Err(BuildError::option("rows", rows, expected));
    }
    match keys {
        Some(keys) if keys.len() as u64 != rows => {
            Err(BuildError::option("keys", format!("{} keys", keys.len()), format!("{rows}, one a row")))
        }
        _ => Ok(()),
    }
}
