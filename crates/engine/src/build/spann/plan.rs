//! What a build of postings will make and take, before it begins.

use super::super::BuildError;
use super::super::disk::{free_bytes, used_bytes};
use super::super::threads::wanted_threads;
use super::super::work::{Work, work_directory};
use super::SpannOptions;
use gleann_graph::Rows;
use gleann_spann::{ClusterParams, memory_estimate};
use gleann_storage::{HEADER_BYTES, Layout, PostingLayout};
use gleann_vector::VectorFile;
use std::path::Path;

/// What a build of postings will make, and what it will take.
#[derive(Debug, Clone, PartialEq)]
pub struct SpannPlan {
    /// Number of vectors.
    pub rows: u64,
    /// Element type, dimension, page size, and the degree bound of the graph over the centroids.
    pub layout: Layout,
    /// Geometry of the postings.
    pub posting: PostingLayout,
    /// The most vectors of a cluster before replication.
    pub cluster: usize,
    /// The fewest postings there can be; half as many again are usual.
    pub least_postings: u64,
    /// The least bytes of the finished index.
    pub least_index_bytes: u64,
    /// Peak memory, beside 64 MiB for the program.
    pub memory_bytes: u64,
    /// The memory budget.
    pub memory_budget: u64,
    /// Threads: fewer than asked for where the budget has no room for their scratch.
    pub threads: usize,
    /// Disk that is free for the index.
    pub free_bytes: u64,
    pub(crate) params: ClusterParams,
}

impl SpannOptions {
    /// Plans the build of `source` into `out`; reads no data.
    ///
    /// # Errors
    /// The options do not go with the data or with each other, the budget or the disk is too small, or `out` holds
    /// something else.
    pub fn plan(&self, source: &VectorFile, out: &Path) -> Result<SpannPlan, BuildError> {
        let (rows, dim, element) = (source.rows(), source.dim(), source.element_type());
        self.plan_rows(Rows { rows, dim, element, metric: self.metric }, out)
    }

    pub(crate) fn plan_rows(&self, rows: Rows, out: &Path) -> Result<SpannPlan, BuildError> {
        let (layout, posting, params) = self.check(rows.rows, rows.dim, rows.element)?;
        Work::check_output(out)?;
        let (threads, memory_bytes) = self.threads_within_budget(&rows, &params)?;
        let least_postings = rows.rows.div_ceil(params.cluster as u64);
        let plan = SpannPlan {
            rows: rows.rows,
            layout,
            posting,
            cluster: params.cluster,
            least_postings,
            least_index_bytes: index_bytes((&layout, &posting), least_postings, self.key_bytes(rows.rows)),
            memory_bytes,
            memory_budget: self.memory_budget,
            threads,
            free_bytes: free_bytes(out)?.saturating_add(used_bytes(&work_directory(out))),
            params,
        };
        plan.expect_room(out, plan.least_postings, self.key_bytes(plan.rows))?;
        Ok(plan)
    }

    pub(crate) fn key_bytes(&self, rows: u64) -> u64 {
        if self.keys.is_some() { 8 * rows } else { 0 }
    }

    /// As many threads as are asked for and fit, and the peak.
    fn threads_within_budget(&self, rows: &Rows, params: &ClusterParams) -> Result<(usize, u64), BuildError> {
        let needed =
            |threads| memory_estimate(rows, params, threads).saturating_add(self.key_bytes(rows.rows));
        let (budget, minimum) = (self.memory_budget, needed(1));
        if minimum > budget {
            let phase = "cluster the vectors, which this build holds in memory all at once";
            return Err(BuildError::Budget { budget, minimum, phase });
        }
        let each = needed(2).saturating_sub(minimum).max(1);
        let more = ((budget - minimum) / each).min(wanted_threads(self.threads) as u64 - 1);
        Ok((1 + more as usize, minimum.saturating_add(more * each)))
    }
}

impl SpannPlan {
    /// Holds an index of `postings` postings against the free disk.
    pub(crate) fn expect_room(&self, out: &Path, postings: u64, keys: u64) -> Result<(), BuildError> {
        let (needed, free) = (index_bytes((&self.layout, &self.posting), postings, keys), self.free_bytes);
        if needed > free { Err(BuildError::NoRoom { path: out.to_owned(), needed, free }) } else { Ok(()) }
    }
}

fn index_bytes((layout, posting): (&Layout, &PostingLayout), postings: u64, keys: u64) -> u64 {
    let centroid = (layout.vector_bytes() + 4 + 4 * layout.degree()) as u64;
    let small = 3 * HEADER_BYTES as u64 + 16384;
    posting.blocks().file_bytes(postings) + postings * centroid + keys + small
}
