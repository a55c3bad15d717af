//! A temporary index as searches see it: what is not in the graph yet, under the keys of users.

use crate::live::LiveOptions;
use crate::sync::Mutex;
use crate::temp::{TempIndex, TempParams, TempScratch};
use gleann_graph::PruneSpace;
use gleann_search::Unmerged;
use gleann_vector::{Distance, Element};

/// Degree and build pool of a temporary index: it lives in memory and is small, so that short lists do.
const DEGREE: usize = 32;
const LIST: usize = 64;

/// A temporary index and the memory of those that search it.
pub(crate) struct Buffer<T: Element> {
    index: TempIndex<T>,
    scratches: Mutex<Vec<TempScratch<T>>>,
}

impl<T: Element> Buffer<T> {
    /// An empty one, with room for as many vectors as `options` say and those that come while they are merged.
    pub(crate) fn new(distance: Distance<T>, space: PruneSpace, options: &LiveOptions) -> Self {
        let params = TempParams { degree: DEGREE, list: LIST, alpha: options.link.alpha };
        let capacity = options.buffer_vectors.max(1) + options.buffer_vectors / 4;
        Self { index: TempIndex::new(distance, space, params, capacity), scratches: Mutex::default() }
    }

    pub(crate) fn index(&self) -> &TempIndex<T> {
        &self.index
    }

    /// Lends the memory of one thread.
    pub(crate) fn with_scratch<R>(&self, work: impl FnOnce(&TempIndex<T>, &mut TempScratch<T>) -> R) -> R {
        let mut scratch = self.scratches.lock().pop().unwrap_or_default();
        let result = work(&self.index, &mut scratch);
        self.scratches.lock().push(scratch);
        result
    }
}

impl<T: Element> Unmerged<T> for Buffer<T> {
    fn nearest(&self, query: &[T], k: usize, list: usize, into: &mut Vec<(u64, f32)>) {
        self.with_scratch(|index, scratch| {
            let mut found = Vec::new();
            index.search(query, k, list, scratch, &mut found);
            into.extend(found.iter().map(|&(distance, slot)| (index.key(slot), distance)));
        });
    }
}
