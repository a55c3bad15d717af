//! What a build can be told of a navigation graph, and what it takes.

use super::BuildError;
use super::memory::Sizes;
use gleann_graph::{BuildParams, Rows, Saturate, memory_estimate};
use gleann_storage::{MAX_DEGREE, mem_graph_bytes};
use serde::{Deserialize, Serialize};

/// Rows that are clustered for each node that is wanted, where memory allows.
const ROWS_OF_CLUSTER: u64 = 32;
/// Clusters of one k-means: more are sought in groups of the rows.
const CLUSTERED_AT_ONCE: u64 = 256;
/// Rows of which k-means has one set of sums, at least.
const SUMMED_ROWS: u64 = 4096;
/// Most bytes that these sums take.
const CLUSTER_SUMS: u64 = 64 << 20;
/// Buffers of fixed size.
const BUFFERS: u64 = 4 << 20;

/// How the nodes of a navigation graph are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// By chance (Starling, PipeANN).
    #[default]
    Random,
    /// The nodes nearest to the centroids of as many clusters (DiskANN++).
    Clustered,
}

impl std::fmt::Display for Sampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Random => "random",
            Self::Clustered => "clustered",
        })
    }
}

impl std::str::FromStr for Sampling {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "random" => Ok(Self::Random),
            "clustered" => Ok(Self::Clustered),
            _ => Err(format!("unknown sampling `{name}`; expected random or clustered")),
        }
    }
}

/// A navigation graph in memory (MemGraph), at whose nearest nodes searches may begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemGraphOptions {
    /// How its nodes are chosen.
    pub sampling: Sampling,
    /// Its share of all vectors, above 0 and at most 1; usual are 0.0001 to 0.01. At least one vector is taken.
    pub share: f64,
    /// R: the most neighbours of a node of it, 1 to 1024.
    pub degree: usize,
    /// L: length of the candidate pool while it is built.
    pub list: usize,
}

impl Default for MemGraphOptions {
    /// A random 0.1 %, R = 48, L = 128.
    fn default() -> Self {
        Self { sampling: Sampling::Random, share: 0.001, degree: 48, list: 128 }
    }
}

impl MemGraphOptions {
    /// Holds every field against its range.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            let expected = "a share of the vectors above 0 and at most 1, such as 0.001";
            return Err(BuildError::option("mem-graph", self.share, expected));
        }
        if !(1..=MAX_DEGREE).contains(&self.degree) {
            let expected = format!("1 to {MAX_DEGREE}, usually 48");
            return Err(BuildError::option("mem-graph-degree", self.degree, expected));
        }
        if !(1..=1 << 20).contains(&self.list) {
            return Err(BuildError::option("mem-graph-list", self.list, "1 to 1048576, usually 128"));
        }
        Ok(())
    }

    /// The options of a graph that describes itself so, over `rows` vectors; none where there was none.
    pub(crate) fn of_description(text: &str, rows: u32) -> Option<Self> {
        let mut parts = text.split(", ");
        let (nodes, sampling) = parts.next()?.split_once(' ')?;
        let mut number = |name: &str| parts.next()?.strip_prefix(name)?.strip_prefix(' ');
        let (degree, list) = (number("degree")?.parse().ok()?, number("list")?.parse().ok()?);
        let share = match number("share") {
            Some(share) => share.parse().ok()?,
            None => nodes.parse::<f64>().ok()? / f64::from(rows.max(1)),
        };
        let sampling = sampling.split(' ').next()?.parse().ok()?;
        Some(Self { sampling, share, degree, list })
    }

    /// Nodes of the graph for `rows` vectors.
    fn nodes(&self, rows: u64) -> u64 {
        ((rows as f64 * self.share).round() as u64).max(1).min(rows)
    }

    fn params(&self, seed: u64) -> BuildParams {
        let defaults = BuildParams::default();
        BuildParams {
            degree: self.degree,
            list: self.list,
            max_candidates: defaults.max_candidates.max(self.degree),
            saturate: Saturate::Off,
            seed,
            ..defaults
        }
    }
}

/// The navigation graph that a build will make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemGraphPlan {
    /// Vectors in it, at most: equal vectors form one cluster only.
    pub nodes: u64,
    /// Bytes of its file, at most; in memory it takes as much.
    pub bytes: u64,
}

/// What the phase needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MemGraphJob {
    pub nodes: u32,
    /// Their share of all vectors, as asked for.
    pub share: f64,
    /// Rows that are clustered; `None`: nodes are chosen by chance.
    pub clustered_rows: Option<u64>,
    pub params: BuildParams,
    pub threads: usize,
    pub plan: MemGraphPlan,
    /// Peak memory.
    pub peak: u64,
}

impl MemGraphJob {
    /// Everything that shapes the bytes.
    pub(crate) fn description(&self) -> String {
        let BuildParams { degree, list, .. } = self.params;
        let sampling = match self.clustered_rows {
            None => Sampling::Random.to_string(),
            Some(rows) => format!("{} of {rows}", Sampling::Clustered),
        };
        // An empty graph says nothing of the share, and an index that began empty is built again.
        let share = if self.nodes == 0 { format!(", share {}", self.share) } else { String::new() };
        format!("{} {sampling}, degree {degree}, list {list}{share}", self.nodes)
    }
}

impl Sizes {
    /// What a navigation graph will be, within the budget.
    ///
    /// # Errors
    /// The budget is too small for it.
    pub(crate) fn mem_graph(
        &self,
        options: &MemGraphOptions,
        seed: u64,
        threads: usize,
    ) -> Result<MemGraphJob, BuildError> {
        let nodes = options.nodes(self.rows.rows);
        let params = options.params(seed);
        let rows = Rows { rows: nodes, ..self.rows };
        let point = if self.pq_bytes == 0 { self.row() } else { self.pq_bytes };
        let bytes = mem_graph_bytes(nodes as u32, point as usize, options.degree);
        let alone = memory_estimate(&rows, &params, 1);
        let scratch = memory_estimate(&rows, &params, 2) - alone;
        let (threads, building) = self.with_threads(alone - scratch, scratch, threads);
        let encoding = nodes * (self.row() + 4 * (2 * options.degree as u64 + 1)) + bytes + self.codebook();
        let clustered_rows = (options.sampling == Sampling::Clustered).then(|| self.clustered_rows(nodes));
        let clustering = clustered_rows.map_or(0, |rows| self.clustering(rows, nodes));
        let peak = building.max(clustering).max(encoding + BUFFERS);
        let peak = self.expect(peak, "build the navigation graph")?;
        let plan = MemGraphPlan { nodes, bytes };
        Ok(MemGraphJob {
            nodes: nodes as u32,
            share: options.share,
            clustered_rows,
            params,
            threads,
            plan,
            peak,
        })
    }

    /// A row that is clustered: itself, its group's copy and that in the form of the kernels, and its cluster.
    fn clustered_row(&self) -> u64 {
        14 * self.rows.dim as u64 + 48
    }

    /// Rows that are clustered for `nodes` nodes.
    fn clustered_rows(&self, nodes: u64) -> u64 {
        let wanted = nodes.saturating_mul(ROWS_OF_CLUSTER).min(self.rows.rows);
        let fixed = self.clustering(wanted, nodes) - wanted * self.clustered_row();
        // A quarter is left for what the allocator still holds of earlier phases.
        wanted.min((self.budget / 4 * 3).saturating_sub(fixed) / self.clustered_row()).max(nodes)
    }

    /// Peak of clustering `rows` rows.
    fn clustering(&self, rows: u64, nodes: u64) -> u64 {
        let centroids = CLUSTERED_AT_ONCE.min(nodes).max(nodes / CLUSTERED_AT_ONCE) * self.rows.dim as u64;
        let sums = (8 * centroids * (rows / SUMMED_ROWS + 1)).min(CLUSTER_SUMS);
        rows * self.clustered_row() + sums + 32 * centroids + BUFFERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_nodes() {
        let nodes = |share, rows| MemGraphOptions { share, ..Default::default() }.nodes(rows);
        assert_eq!([nodes(0.001, 0), nodes(0.001, 1), nodes(0.001, 50)], [0, 1, 1]);
        assert_eq!([nodes(0.001, 500_000), nodes(1.0, 7), nodes(0.5, 3)], [500, 7, 2]);
    }

    #[test]
    fn descriptions_are_read_back() {
        let read = |text| MemGraphOptions::of_description(text, 1000);
        let options = MemGraphOptions { share: 0.005, degree: 32, list: 64, ..MemGraphOptions::default() };
        assert_eq!(read("5 random, degree 32, list 64"), Some(options));
        let clustered = MemGraphOptions { sampling: Sampling::Clustered, ..options };
        assert_eq!(read("5 clustered of 160, degree 32, list 64"), Some(clustered));
        assert_eq!(read("0 random, degree 32, list 64, share 0.005"), Some(options));
        assert_eq!(read("none"), None);
        assert_eq!(read("5 random, degree x, list 64"), None);
    }

    #[test]
    fn impossible_options_are_named() {
        for share in [0.0, -0.1, 1.001, f64::NAN, f64::INFINITY] {
            let error = MemGraphOptions { share, ..Default::default() }.check().unwrap_err().to_string();
            assert!(
                error.contains(&format!("mem-graph is {share}")) && error.contains("at most 1"),
                "{error}"
            );
        }
        assert!(MemGraphOptions { degree: 1025, ..Default::default() }.check().is_err());
        assert!(MemGraphOptions { list: 0, ..Default::default() }.check().is_err());
        assert!(MemGraphOptions { share: 1.0, ..Default::default() }.check().is_ok());
        for sampling in [Sampling::Random, Sampling::Clustered] {
            assert_eq!(sampling.to_string().parse(), Ok(sampling));
        }
        assert!("kmeans".parse::<Sampling>().unwrap_err().contains("random or clustered"));
    }
}
