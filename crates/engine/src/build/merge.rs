//! The lists of all shards become the lists of one graph, in one pass over the rows.

use super::BuildError;
use super::adjacency::AdjacencyWriter;
use super::lists::ListReader;
use super::run::{ADJACENCY, Run};
use super::shards::{HOMES, NO_HOME, shard_file};
use gleann_graph::ListMerger;
use gleann_vector::Element;
use std::fs::File;
use std::io::{BufReader, Read};

/// Rows between two looks at whether to stop.
const STRIDE: u64 = 4096;

impl<T: Element> Run<'_, T> {
    /// Rows lie in every shard in the order of their ids, so the next list of its shards is that of the row.
    pub(crate) fn merge_shards(&mut self, shards: usize) -> Result<(), BuildError> {
        self.progress.phase("merge", self.plan.rows);
        let buffer = self.plan.jobs.merge_buffer;
        let mut readers = (0..shards)
            .map(|shard| ListReader::new(self.work.path(&shard_file(shard, "lists")), buffer))
            .collect::<Result<Vec<_>, _>>()?;
        let homes_path = self.work.path(HOMES);
        let mut homes =
            BufReader::new(File::open(&homes_path).map_err(BuildError::io("opening", &homes_path))?);
        let degree = self.plan.layout.degree();
        let mut writer = AdjacencyWriter::create(&self.work.path(ADJACENCY), self.nodes(), degree)?;
        let mut merger = ListMerger::new(degree, self.options.seed);
        let mut second = Vec::new();
        for node in 0..self.nodes() {
            let mut home = [0u32; 2];
            let read = homes.read_exact(bytemuck::cast_slice_mut(&mut home));
            read.map_err(BuildError::io("reading", &homes_path))?;
            second.clear();
            if home[1] != NO_HOME {
                second.extend_from_slice(reader(&mut readers, home[1], &homes_path)?.next()?);
            }
            let first = reader(&mut readers, home[0], &homes_path)?.next()?;
            writer.push(merger.merge(node, &[first, &second]))?;
            if u64::from(node + 1).is_multiple_of(STRIDE) {
                self.progress.advance(STRIDE);
                self.expect_not_cancelled()?;
            }
        }
        self.progress.advance(self.plan.rows % STRIDE);
        writer.finish()
    }

    /// Removes what only the merge needed.
    pub(crate) fn remove_lists(&self, shards: usize) -> Result<(), BuildError> {
        self.work.remove(HOMES)?;
        (0..shards).try_for_each(|shard| self.work.remove(&shard_file(shard, "lists")))
    }
}

fn reader<'a>(
    readers: &'a mut [ListReader],
    shard: u32,
    homes: &std::path::Path,
) -> Result<&'a mut ListReader, BuildError> {
    let shards = readers.len();
    let found = readers.get_mut(shard as usize);
    found.ok_or_else(|| BuildError::damaged(homes, format!("it names shard {shard} of {shards}")))
}
