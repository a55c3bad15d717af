//! One search of postings as a state machine without I/O: the nearest centroids say which postings to read, and every
//! vector in them is measured. All reads are known from the start, so none depends on another.
//!
//! * [`SearchOptions::list`] is the number of postings that are read at most.
//! * [`Stop::Bound`] is SPANN's query-aware pruning (§3.3): a posting is not read whose centroid is farther from the
//!   query than the nearest centroid, by more than so many percent of its ordering distance (squared for L2).
//! * The width is the number of reads in flight; BeamSearch waits for all of them before it asks for more.
//!
//! Where the postings read hold fewer than k vectors together, more are read, so that min(k, n) are found.
//!
//! [`Stop::Bound`]: gleann_search::Stop::Bound

use crate::index::PostingIndex;
use gleann_graph::Searcher;
use gleann_search::{
    Entry, Expansion, Nearest, Next, OptionsError, Plan, QueryStats, SearchError, SearchKind, SearchOptions,
    Width,
};
use gleann_storage::{BlockId, Posting};
use gleann_vector::{Element, Pool};

/// Places of the pool in which centroids are searched for, beside one and a half for each posting that is read.
const SPARE: usize = 16;

/// The state of one search. Reused from search to search.
pub struct Probe {
    options: SearchOptions,
    stats: QueryStats,
    searcher: Searcher,
    /// Postings to read, nearest first.
    order: Vec<(f32, u32)>,
    /// How many of them have been asked for.
    asked: usize,
    in_flight: usize,
    nearest: Pool<()>,
    /// Results there can be.
    wanted: usize,
    /// Scratch.
    distances: Vec<f32>,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            options: SearchOptions::default(),
            stats: QueryStats::default(),
            searcher: Searcher::new(),
            order: Vec::new(),
            asked: 0,
            in_flight: 0,
            nearest: Pool::new(1),
            wanted: 0,
            distances: Vec::new(),
        }
    }
}

impl<T: Element> Plan<PostingIndex<T>> for Probe {
    fn begin(
        &mut self,
        index: &PostingIndex<T>,
        query: &[T],
        options: &SearchOptions,
        k: usize,
    ) -> Result<(), OptionsError> {
        options.check(k)?;
        refuse_what_means_nothing(options)?;
        self.options = *options;
        self.stats = QueryStats::default();
        self.wanted = k.min(index.nodes as usize);
        self.nearest.reset(self.wanted);
        (self.asked, self.in_flight) = (0, 0);
        self.order.clear();
        self.rank(index, query, options.list);
        let limit = self.order.first().map_or(0.0, |nearest| options.stop.limit(nearest.0));
        let within = self.order.partition_point(|centroid| centroid.0 <= limit);
        self.order.truncate(within.min(options.list));
        Ok(())
    }

    fn step(
        &mut self,
        index: &PostingIndex<T>,
        query: &[T],
        reads: &mut Vec<BlockId>,
    ) -> Result<Next, SearchError> {
        if self.asked == self.order.len() && self.in_flight == 0 && !self.extend(index, query) {
            return Ok(Next::Done);
        }
        let room = self.width().saturating_sub(self.in_flight);
        let asked = room.min(self.order.len() - self.asked);
        reads.extend(self.order[self.asked..][..asked].iter().map(|&(_, posting)| BlockId(posting)));
        self.asked += asked;
        self.in_flight += asked;
        self.stats.reads += asked as u32;
        self.stats.hops += u32::from(asked > 0);
        Ok(Next::Wait)
    }

    fn arrive(
        &mut self,
        index: &PostingIndex<T>,
        query: &[T],
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), SearchError> {
        self.in_flight -= 1;
        let posting = Posting::decode(&index.layout, bytes, index.nodes)
            .map_err(|cause| SearchError::Posting { posting: block.0, cause })?;
        self.distances.resize(posting.len(), 0.0);
        index.distance.to_many(query, posting.vectors::<T>(), &mut self.distances);
        for (id, &distance) in posting.ids().zip(&self.distances) {
            // A vector may have come with another posting.
            if self.nearest.admits(distance) && self.nearest.find(distance, id).is_none() {
                self.nearest.insert(distance, id, ());
            }
        }
        self.stats.expanded += 1;
        self.stats.exact += posting.len() as u32;
        Ok(())
    }

    fn wanted(&self) -> usize {
        self.width().saturating_sub(self.in_flight)
    }

    fn missing(&self) -> usize {
        if self.options.kind == SearchKind::Pipe && self.asked < self.order.len() {
            1
        } else {
            self.in_flight
        }
    }

    fn can_step(&self) -> bool {
        self.in_flight == 0 || self.options.kind == SearchKind::Pipe && self.asked < self.order.len()
    }

    fn finish(&mut self, _: &PostingIndex<T>) -> Nearest {
        self.nearest.entries().iter().map(|entry| (entry.id.into(), entry.distance)).collect()
    }

    fn stats(&mut self) -> &mut QueryStats {
        &mut self.stats
    }
}

impl Probe {
    fn width(&self) -> usize {
        self.options.width.max() as usize
    }

    /// Appends the centroids nearest to `query`, nearest first: at least `count` of them, or all.
    fn rank<T: Element>(&mut self, index: &PostingIndex<T>, query: &[T], count: usize) {
        let first = self.order.len();
        if count >= index.postings() {
            self.distances.resize(index.postings(), 0.0);
            index.distance.to_many(query, index.centroids.as_slice(), &mut self.distances);
            self.order.extend(self.distances.iter().copied().zip(0..));
            self.order[first..].sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            self.stats.comparisons += index.postings() as u32;
            return;
        }
        let entry = index.graph.entry();
        self.searcher.run(&index.graph, &index.target(query), entry.as_slice(), count + count / 2 + SPARE);
        self.order.extend(self.searcher.found().iter().map(|found| (found.distance, found.id)));
        self.stats.comparisons += self.searcher.counts().comparisons as u32;
    }

    /// Appends postings beyond those that were to be read, where they hold too few vectors; whether there are any.
    fn extend<T: Element>(&mut self, index: &PostingIndex<T>, query: &[T]) -> bool {
        let read = self.order.len();
        if self.nearest.len() == self.wanted || read == index.postings() {
            return false;
        }
        self.rank(index, query, 2 * read.max(1));
        let (before, found) = self.order.split_at(read);
        let known: Vec<u32> = before.iter().map(|&(_, posting)| posting).collect();
        let more: Vec<_> = found.iter().copied().filter(|(_, posting)| !known.contains(posting)).collect();
        self.order.truncate(read);
        self.order.extend(more);
        true
    }
}

fn refuse_what_means_nothing(options: &SearchOptions) -> Result<(), OptionsError> {
    let refused = |option, reason| Err(OptionsError::NotOfPostings { option, reason });
    match options {
        SearchOptions { entry: Entry::MemGraph { .. }, .. } => refused(
            format!("entry {}", options.entry),
            "it is always searched by the graph over its centroids; give entry medoid",
        ),
        SearchOptions { expansion: Expansion::Page { .. }, .. } => refused(
            format!("expansion {}", options.expansion),
            "every vector of a posting is measured anyway; give expansion record",
        ),
        SearchOptions { width: Width::Dynamic { .. }, .. } => refused(
            format!("width {}", options.width),
            "no read is in vain, so the width has nothing to adapt to; give a fixed width",
        ),
        _ => Ok(()),
    }
}
