//! The search of an insert: what it has met is what the new node is linked to (FreshDiskANN §5, OdinANN).

use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::live::{Changes, View};
use crate::options::{OptionsError, SearchOptions};
use crate::plan::{Next, Plan, Searched};
use crate::stats::QueryStats;
use crate::traversal::Traversal;
use gleann_storage::{BlockId, BlockLayout, Layout, Record};
use gleann_vector::Element;
use std::sync::Arc;

/// A record that a search has met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Met {
    /// Its exact ordering distance.
    pub distance: f32,
    /// The node.
    pub node: u32,
    degree: u32,
}

/// The records that a search has met: their vectors, and their lists as they lie on disk (or as they were born).
#[derive(Debug, Default)]
pub struct Harvest {
    met: Vec<Met>,
    /// Of `vector_bytes` each.
    vectors: Vec<u8>,
    vector_bytes: usize,
    /// Of `degree` places each.
    lists: Vec<u32>,
    degree: usize,
    /// The version that was searched.
    view: Option<Arc<View>>,
}

impl Harvest {
    fn reset(&mut self, layout: &Layout) {
        self.met.clear();
        self.vectors.clear();
        self.vector_bytes = layout.dim() * layout.element().size();
        self.lists.clear();
        self.degree = layout.degree();
        self.view = None;
    }

    /// Keeps a record.
    pub(crate) fn take_in<T: Element>(&mut self, (distance, node): (f32, u32), record: &Record<'_>) {
        self.vectors.extend_from_slice(bytemuck::cast_slice(record.vector::<T>()));
        self.met.push(Met { distance, node, degree: record.degree() as u32 });
        self.lists.extend(record.neighbours());
        self.lists.resize(self.met.len() * self.degree, 0);
    }

    /// What was met, in the order of arrival. A node may be there twice.
    pub fn met(&self) -> &[Met] {
        &self.met
    }

    /// The vector of the record at a position of [`Harvest::met`].
    pub fn vector<T: Element>(&self, position: usize) -> &[T] {
        bytemuck::cast_slice(&self.vectors[position * self.vector_bytes..][..self.vector_bytes])
    }

    /// The list of the record at a position, without what has joined it since the checkpoint.
    pub fn list(&self, position: usize) -> &[u32] {
        &self.lists[position * self.degree..][..self.met[position].degree as usize]
    }

    /// The version that was searched; none where the index does not change.
    pub fn view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }
}

/// An index that is searched to insert into it.
#[derive(Debug)]
pub struct ToInsert<T: Element> {
    /// The index.
    pub index: Arc<SearchIndex<T>>,
    /// Its changes, or those of a merge that nobody else sees yet.
    pub changes: Arc<Changes<T>>,
}

/// A search that keeps what it meets.
#[derive(Default)]
pub struct InsertSearch(Traversal);

impl<T: Element> Searched for ToInsert<T> {
    type Element = T;
    type Plan = InsertSearch;
    type Found = Harvest;

    fn dim(&self) -> usize {
        self.index.layout.dim()
    }

    fn blocks(&self) -> BlockLayout {
        self.index.blocks()
    }
}

impl<T: Element> Plan<ToInsert<T>> for InsertSearch {
    fn begin(
        &mut self,
        index: &ToInsert<T>,
        query: &[T],
        options: &SearchOptions,
        k: usize,
    ) -> Result<(), OptionsError> {
        self.0.harvest.get_or_insert_default().reset(&index.index.layout);
        self.0.begin_at(&index.index, Some(&index.changes), query, (options, k))
    }

    fn step(
        &mut self,
        index: &ToInsert<T>,
        query: &[T],
        reads: &mut Vec<BlockId>,
    ) -> Result<Next, SearchError> {
        self.0.step(&index.index, query, reads)
    }

    fn arrive(
        &mut self,
        index: &ToInsert<T>,
        query: &[T],
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), SearchError> {
        self.0.arrive(&index.index, query, block, bytes)
    }

    fn wanted(&self) -> usize {
        Plan::<SearchIndex<T>>::wanted(&self.0)
    }

    fn missing(&self) -> usize {
        Plan::<SearchIndex<T>>::missing(&self.0)
    }

    fn can_step(&self) -> bool {
        Plan::<SearchIndex<T>>::can_step(&self.0)
    }

    fn finish(&mut self, _: &ToInsert<T>) -> Harvest {
        let mut harvest = self.0.harvest.take().unwrap_or_default();
        harvest.view = self.0.view.take();
        harvest
    }

    fn place(&self, block: BlockId) -> BlockId {
        Plan::<SearchIndex<T>>::place(&self.0, block)
    }

    fn stats(&mut self) -> &mut QueryStats {
        &mut self.0.stats
    }
}
