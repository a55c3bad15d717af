//! Exact neighbours in a set that changes.
//!
//! Every query keeps its nearest live tags, more of them than are asked for. An insert measures the new vectors only; a
//! delete takes tags out. A query that has lost too many is measured against the whole set again. What is kept is always
//! exact: no live tag that is not kept is nearer than the farthest that is.

use super::set::LiveSet;
use anyhow::{Context, Result, ensure};
use gleann_vector::{
    Element, GroundTruth, Matrix, Metric, NO_ID, Progress, RowSource, SourceError, TruthParams, exact_truth,
};
use rayon::prelude::*;
use std::collections::HashSet;

/// Bytes of rows in memory at a time.
const BLOCK_BYTES: usize = 64 << 20;
/// Neighbours kept beyond those asked for, before deletes cost anything.
const SPARE: usize = 100;

/// Neighbours of a query that are found, where recall looks at fewer: so deep are the truths of the big-ann track, whose
/// recall counts ties among them.
pub const TRUTH_DEPTH: usize = 100;

/// What is measured: fixed over all changes.
pub struct TruthQuestion<'a, T: Element> {
    /// Vectors by row.
    pub base: &'a dyn RowSource<T>,
    /// The queries.
    pub queries: &'a Matrix<T>,
    /// The metric.
    pub metric: Metric,
    /// Neighbours of each query in a [`GroundTruth`]; more than recall looks at, so that ties are seen.
    pub depth: usize,
}

/// What was found of a set, to begin with again.
#[derive(Debug, Clone)]
pub struct FoundTruth {
    set: LiveSet,
    kept: Vec<Kept>,
}

/// The nearest live tags of every query.
pub struct ChangingTruth<'a, T: Element> {
    question: TruthQuestion<'a, T>,
    set: LiveSet,
    kept: Vec<Kept>,
    progress: &'a dyn Progress,
}

/// The nearest of one query, ascending by (distance, tag).
#[derive(Debug, Clone, Default)]
struct Kept {
    nearest: Vec<Near>,
    /// Whether every live tag is kept.
    is_all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Near {
    /// On the ordering scale: smaller is nearer.
    distance: f32,
    tag: u32,
}

impl Near {
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.distance.total_cmp(&other.distance).then(self.tag.cmp(&other.tag))
    }
}

/// Live tags as rows to measure, in the order of tags.
struct TaggedRows<'a, T: Element> {
    base: &'a dyn RowSource<T>,
    entries: &'a [(u32, u32)],
}

impl<T: Element> RowSource<T> for TaggedRows<'_, T> {
    fn rows(&self) -> u64 {
        self.entries.len() as u64
    }

    fn dim(&self) -> usize {
        self.base.dim()
    }

    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), SourceError> {
        let (dim, start) = (self.dim(), start as usize);
        let entries = &self.entries[start..start + into.len() / dim];
        let mut rest = into;
        // Rows that follow each other are read together.
        for run in entries.chunk_by(|(_, one), (_, next)| one.checked_add(1) == Some(*next)) {
            let (rows, after) = rest.split_at_mut(run.len() * dim);
            self.base.read_rows(run[0].1.into(), rows)?;
            rest = after;
        }
        Ok(())
    }
}

impl<'a, T: Element> ChangingTruth<'a, T> {
    /// What is known now.
    pub fn found(&self) -> FoundTruth {
        FoundTruth { set: self.set.clone(), kept: self.kept.clone() }
    }

    /// Goes on from what was found of the same vectors and queries.
    pub fn from_found(question: TruthQuestion<'a, T>, found: FoundTruth, progress: &'a dyn Progress) -> Self {
        Self { question, set: found.set, kept: found.kept, progress }
    }

    /// Begins with the vectors of `set`.
    ///
    /// # Errors
    /// Rows cannot be read or are not finite, or base and queries do not fit.
    pub fn new(question: TruthQuestion<'a, T>, set: LiveSet, progress: &'a dyn Progress) -> Result<Self> {
        let queries = question.queries.rows();
        let mut truth = Self { question, set, kept: Vec::new(), progress };
        truth.kept = vec![Kept::default(); queries];
        truth.measure_anew(&(0..queries).collect::<Vec<_>>())?;
        Ok(truth)
    }

    /// The set now.
    pub fn set(&self) -> &LiveSet {
        &self.set
    }

    /// Tags that have come, gone, or got another vector, with their rows now.
    ///
    /// # Errors
    /// As [`ChangingTruth::new`].
    pub fn change(&mut self, changes: &[(u32, Option<u32>)]) -> Result<()> {
        let mut gone = HashSet::new();
        let mut come: Vec<u32> = Vec::new();
        for &(tag, row) in changes {
            let before = match row {
                Some(row) => self.set.put(tag, row),
                None => self.set.remove(tag),
            };
            if before.is_some() {
                gone.insert(tag);
            }
            come.extend(row.map(|_| tag));
        }
        if !gone.is_empty() {
            self.kept.par_iter_mut().for_each(|kept| kept.nearest.retain(|near| !gone.contains(&near.tag)));
        }
        come.sort_unstable();
        come.dedup();
        // A tag may have come and gone within the same changes.
        let come: Vec<(u32, u32)> =
            come.into_iter().filter_map(|tag| Some((tag, self.set.row_of(tag)?))).collect();
        self.take_in(&come)
    }

    /// The exact neighbours now: by tag, nearest first, equally near ones by tag; what is not there is marked.
    ///
    /// # Errors
    /// As [`ChangingTruth::new`].
    pub fn now(&mut self) -> Result<GroundTruth> {
        let depth = self.question.depth;
        let short = |kept: &Kept| kept.nearest.len() < depth && !kept.is_all;
        let short: Vec<usize> = (0..self.kept.len()).filter(|&query| short(&self.kept[query])).collect();
        self.measure_anew(&short)?;
        let slots = self.kept.len() * depth;
        let (mut ids, mut distances) = (Vec::with_capacity(slots), Vec::with_capacity(slots));
        for kept in &self.kept {
            let nearest = &kept.nearest[..depth.min(kept.nearest.len())];
            let missing = depth - nearest.len();
            ids.extend(nearest.iter().map(|near| near.tag).chain(std::iter::repeat_n(NO_ID, missing)));
            let shown = |near: &Near| self.question.metric.user_distance(near.distance);
            distances.extend(nearest.iter().map(shown).chain(std::iter::repeat_n(f32::INFINITY, missing)));
        }
        Ok(GroundTruth { queries: self.kept.len(), k: depth, ids, distances: Some(distances) })
    }

    fn capacity(&self) -> usize {
        self.question.depth + SPARE
    }

    /// Adds new tags to what is kept.
    fn take_in(&mut self, come: &[(u32, u32)]) -> Result<()> {
        if come.is_empty() {
            return Ok(());
        }
        let capacity = self.capacity();
        let all: Vec<usize> = (0..self.kept.len()).collect();
        let found = self.measure(&all, come, capacity)?;
        self.kept.par_iter_mut().zip(found).for_each(|(kept, new)| {
            let horizon = kept.nearest.last().map(|far| far.distance);
            let is_within = |near: &Near| kept.is_all || horizon.is_some_and(|far| near.distance <= far);
            // More than fit have come: those that were not returned may be nearer than what is kept of the old.
            let (is_cut, reach) = (new.len() < come.len(), new.last().map(|far| far.distance));
            let mut nearest: Vec<Near> = new.into_iter().filter(is_within).collect();
            nearest.append(&mut kept.nearest);
            nearest.sort_by(Near::order);
            if let Some(reach) = reach.filter(|_| is_cut) {
                nearest.retain(|near| near.distance <= reach);
                kept.is_all = false;
            }
            if nearest.len() > capacity {
                nearest.truncate(capacity);
                kept.is_all = false;
            }
            kept.nearest = nearest;
        });
        Ok(())
    }

    /// Measures queries against the whole set.
    fn measure_anew(&mut self, queries: &[usize]) -> Result<()> {
        if queries.is_empty() {
            return Ok(());
        }
        let capacity = self.capacity();
        let entries: Vec<(u32, u32)> = self.set.entries().collect();
        let found = self.measure(queries, &entries, capacity)?;
        for (&query, nearest) in queries.iter().zip(found) {
            let is_all = nearest.len() == entries.len();
            self.kept[query] = Kept { nearest, is_all };
        }
        Ok(())
    }

    /// The nearest `count` of `entries` for each of `queries`, ascending.
    fn measure(&self, queries: &[usize], entries: &[(u32, u32)], count: usize) -> Result<Vec<Vec<Near>>> {
        let Self { question, progress, .. } = self;
        if entries.is_empty() {
            return Ok(vec![Vec::new(); queries.len()]);
        }
        let dim = question.queries.dim();
        let mut asked = Matrix::zeroed(queries.len(), dim);
        for (at, &query) in queries.iter().enumerate() {
            asked.row_mut(at).copy_from_slice(question.queries.row(query));
        }
        let rows = TaggedRows { base: question.base, entries };
        let k = count.min(entries.len());
        let params = TruthParams { metric: question.metric, k, block_bytes: BLOCK_BYTES };
        let truth = exact_truth(&rows, &asked, params, *progress).context("finding exact neighbours")?;
        let distances = truth.distances.as_deref().context("exact neighbours come with distances")?;
        ensure!(truth.ids.len() == queries.len() * k, "a truth of another shape than asked for");
        let of_query = |(ids, distances): (&[u32], &[f32])| {
            let near = |(&id, &distance): (&u32, &f32)| Near {
                distance: question.metric.user_distance(distance),
                tag: entries[id as usize].0,
            };
            let mut nearest: Vec<Near> = ids.iter().zip(distances).map(near).collect();
            // Found in f64 and rounded since: what is equal now is ordered by tag.
            nearest.sort_by(Near::order);
            nearest
        };
        Ok(truth.ids.chunks(k).zip(distances.chunks(k)).map(of_query).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::{Recall, RecallParams, Silent};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    fn matrix(rows: usize, dim: usize, random: &mut Pcg64Mcg) -> Matrix<u8> {
        let elements: Vec<u8> = (0..rows * dim).map(|_| random.random_range(0..16)).collect();
        Matrix::from_rows(&elements, dim)
    }

    fn question<'a>(base: &'a Matrix<u8>, queries: &'a Matrix<u8>, depth: usize) -> TruthQuestion<'a, u8> {
        TruthQuestion { base, queries, metric: Metric::L2, depth }
    }

    /// Every live tag measured and sorted.
    fn naive(question: &TruthQuestion<'_, u8>, base: &Matrix<u8>, set: &LiveSet) -> GroundTruth {
        let depth = question.depth;
        let (mut ids, mut distances) = (Vec::new(), Vec::new());
        for query in 0..question.queries.rows() {
            let query = question.queries.row(query);
            let distance = |row: u32| -> f32 {
                let pairs = query.iter().zip(base.row(row as usize));
                pairs.map(|(&a, &b)| (f32::from(a) - f32::from(b)).powi(2)).sum()
            };
            let mut all: Vec<(f32, u32)> = set.entries().map(|(tag, row)| (distance(row), tag)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all.resize(depth.max(all.len()), (f32::INFINITY, NO_ID));
            ids.extend(all[..depth].iter().map(|near| near.1));
            distances.extend(all[..depth].iter().map(|near| near.0));
        }
        GroundTruth { queries: question.queries.rows(), k: depth, ids, distances: Some(distances) }
    }

    #[test]
    fn it_is_what_measuring_everything_finds() {
        for seed in 0..12 {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let (base, queries) = (matrix(700, 3, &mut random), matrix(9, 3, &mut random));
            let depth = [1, 7, 40][seed as usize % 3];
            let first = LiveSet::of_rows(random.random_range(0..400), 700);
            let mut truth = ChangingTruth::new(question(&base, &queries, depth), first, &Silent).unwrap();
            for round in 0..25 {
                let count = random.random_range(1..[20, 350][round % 2]);
                let changes: Vec<(u32, Option<u32>)> = (0..count)
                    .map(|_| {
                        let goes = random.random_bool([0.5, 0.9, 0.1][round % 3]);
                        (random.random_range(0..700), (!goes).then(|| random.random_range(0..700)))
                    })
                    .collect();
                truth.change(&changes).unwrap();
                if round % 4 != 1 {
                    let expected = naive(&question(&base, &queries, depth), &base, truth.set());
                    assert_eq!(truth.now().unwrap(), expected, "seed {seed}, round {round}");
                }
            }
        }
    }

    #[test]
    fn few_tags_leave_marked_slots_and_tag_0_counts() {
        let base = Matrix::from_rows(&[9u8, 3, 1], 1);
        let queries = Matrix::from_rows(&[0u8], 1);
        for (depth, ids) in [(3, vec![2, 1, 0]), (5, vec![2, 1, 0, NO_ID, NO_ID])] {
            let set = LiveSet::of_rows(3, 3);
            let mut truth = ChangingTruth::new(question(&base, &queries, depth), set, &Silent).unwrap();
            let now = truth.now().unwrap();
            assert_eq!(now.ids, ids);
            let distances = now.distances.unwrap();
            assert_eq!(distances[..3], [1.0, 9.0, 81.0]);
            assert!(distances[3..].iter().all(|distance| distance.is_infinite()));
        }
        let empty = LiveSet::empty(3);
        let mut truth = ChangingTruth::new(question(&base, &queries, 2), empty, &Silent).unwrap();
        assert_eq!(truth.now().unwrap().ids, [NO_ID; 2]);
    }

    #[test]
    fn the_same_answers_are_worth_less_after_a_delete() {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let (base, queries) = (matrix(300, 4, &mut random), matrix(5, 4, &mut random));
        let set = LiveSet::of_rows(300, 300);
        let mut truth = ChangingTruth::new(question(&base, &queries, 20), set, &Silent).unwrap();
        let before = truth.now().unwrap();
        let answers: Vec<Vec<(u64, f32)>> = (0..5)
            .map(|query| before.ids_of(query)[..10].iter().map(|&tag| (tag.into(), 0.0)).collect())
            .collect();
        let params = RecallParams { metric: Metric::L2, k: 10, n: 10, tolerance: 1e-3, keys: None };
        assert_eq!(Recall::measure(&before, &answers, &params).unwrap().official, 1.0);
        let relevant: Vec<(u32, Option<u32>)> = before.ids.iter().map(|&tag| (tag, None)).collect();
        truth.change(&relevant).unwrap();
        assert_eq!(Recall::measure(&truth.now().unwrap(), &answers, &params).unwrap().official, 0.0);
    }

    #[test]
    fn replaced_vectors_count_under_their_tags() {
        let base = Matrix::from_rows(&[0u8, 10, 20, 30], 1);
        let queries = Matrix::from_rows(&[29u8], 1);
        let mut truth =
            ChangingTruth::new(question(&base, &queries, 2), LiveSet::of_rows(3, 4), &Silent).unwrap();
        assert_eq!(truth.now().unwrap().ids, [2, 1]);
        truth.change(&[(0, Some(3)), (1, Some(3))]).unwrap();
        assert_eq!(truth.now().unwrap().ids, [0, 1]);
    }
}
