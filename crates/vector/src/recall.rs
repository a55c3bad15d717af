//! Recall, in the three definitions of the field.

use crate::{GroundTruth, Key, Metric, NO_ID};
use std::collections::HashSet;

/// True neighbours this close to the k-th count as tied with it (big-ann; absolute, whatever the scale).
const TIE: f32 = 1e-6;
/// Cosine distances span 0 to 4 and carry this much rounding whatever their size.
const COSINE_ROUNDING: f32 = 1e-6;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct RecallParams<'a> {
    /// Metric of the distances, in truth and results alike.
    pub metric: Metric,
    /// True neighbours wanted of every query.
    pub k: usize,
    /// Returned neighbours that [`Recall::k_at_n`] looks at; at least `k`.
    pub n: usize,
    /// Relative tolerance of [`Recall::distance`], such as `1e-3`.
    pub tolerance: f32,
    /// Key of every base row, where results are keys and keys are not row numbers.
    pub keys: Option<&'a [Key]>,
}

/// Mean recall over all queries that have a true neighbour, each from 0 to 1. A query for which the truth knows
/// fewer than k neighbours (the base has fewer rows) is measured by those it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recall {
    /// The official definition of the big-ann benchmarks: how many of the first k returned are among the true k,
    /// or tied in distance with the k-th of them, by k. Ties need a truth with distances.
    pub official: f64,
    /// How many of the first k returned are, by the distance they were returned with, as near as the k-th true
    /// neighbour, by k; `None` where the truth has no distances. Blind to wrong distances of a search.
    pub distance: Option<f64>,
    /// How many of the true k (ties as above) are among the first n returned, at most k, by k.
    pub k_at_n: f64,
    /// Queries that were measured: those with a true neighbour.
    pub queries: usize,
}

/// Recall that cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecallError {
    /// Truth and results are not about the same queries.
    #[error(
        "there are results of {results} queries, the ground truth has {truth}; expected the same queries"
    )]
    Queries {
        /// Queries with results.
        results: usize,
        /// Queries of the truth.
        truth: usize,
    },
    /// The truth does not reach as far as asked.
    #[error("k is {k}; the ground truth has 1 to {truth} neighbours a query")]
    K {
        /// The k asked for.
        k: usize,
        /// Neighbours a query of the truth.
        truth: usize,
    },
    /// n is below k.
    #[error("n is {n}; k@n needs at least k = {k}")]
    N {
        /// The n asked for.
        n: usize,
        /// The k asked for.
        k: usize,
    },
    /// A tolerance that is no fraction.
    #[error("the tolerance is {0}; expected a number from 0 up to below 1")]
    Tolerance(String),
    /// A true neighbour without a key.
    #[error("the ground truth of query {query} names row {id}, there are {keys} keys; is it of other data?")]
    Key {
        /// The query.
        query: usize,
        /// The row.
        id: u32,
        /// Number of keys.
        keys: usize,
    },
}

impl Recall {
    /// Measures results: for every query the (key, user distance) pairs returned, best first. Keys returned more
    /// than once count once; results that are not there count as missed.
    ///
    /// # Errors
    /// See [`RecallError`].
    pub fn measure<R: AsRef<[(Key, f32)]>>(
        truth: &GroundTruth,
        results: &[R],
        params: &RecallParams<'_>,
    ) -> Result<Recall, RecallError> {
        check(truth, results.len(), params)?;
        let (mut official, mut distance, mut k_at_n, mut queries) = (0.0, 0.0, 0.0, 0);
        for (query, returned) in results.iter().enumerate() {
            let Some(truths) = TrueNeighbours::of(truth, query, params)? else { continue };
            let returned = returned.as_ref();
            let (first_k, first_n) = (prefix(returned, params.k), prefix(returned, params.n));
            let share = |hits: usize| hits.min(truths.wanted) as f64 / truths.wanted as f64;
            queries += 1;
            official += share(truths.hits(first_k));
            k_at_n += share(truths.hits(first_n));
            distance += share(truths.as_near(first_k, params));
        }
        let mean = |sum: f64| if queries == 0 { 0.0 } else { sum / queries as f64 };
        let distance = truth.distances.as_ref().map(|_| mean(distance));
        Ok(Recall { official: mean(official), distance, k_at_n: mean(k_at_n), queries })
    }
}

fn check(truth: &GroundTruth, results: usize, params: &RecallParams<'_>) -> Result<(), RecallError> {
    if results != truth.queries {
        return Err(RecallError::Queries { results, truth: truth.queries });
    }
    if !(1..=truth.k).contains(&params.k) {
        return Err(RecallError::K { k: params.k, truth: truth.k });
    }
    if params.n < params.k {
        return Err(RecallError::N { n: params.n, k: params.k });
    }
    if !(0.0..1.0).contains(&params.tolerance) {
        return Err(RecallError::Tolerance(params.tolerance.to_string()));
    }
    Ok(())
}

fn prefix(returned: &[(Key, f32)], count: usize) -> &[(Key, f32)] {
    &returned[..count.min(returned.len())]
}

/// The true neighbours of one query.
struct TrueNeighbours {
    /// The first k and those tied with the k-th.
    keys: HashSet<Key>,
    /// k, or fewer where there are not so many.
    wanted: usize,
    /// Distance of the last wanted.
    kth: Option<f32>,
}

impl TrueNeighbours {
    /// `None` where there is none.
    fn of(truth: &GroundTruth, query: usize, params: &RecallParams<'_>) -> Result<Option<Self>, RecallError> {
        let ids = truth.ids_of(query);
        let known = ids.iter().position(|&id| id == NO_ID).unwrap_or(ids.len());
        let wanted = params.k.min(known);
        let Some(last) = wanted.checked_sub(1) else { return Ok(None) };
        let distances = truth.distances_of(query);
        let tied = distances.map_or(0, |distances| {
            distances[wanted..known]
                .iter()
                .take_while(|distance| (*distance - distances[last]).abs() < TIE)
                .count()
        });
        let key = |&id: &u32| match params.keys {
            None => Ok(Key::from(id)),
            Some(keys) => {
                keys.get(id as usize).copied().ok_or(RecallError::Key { query, id, keys: keys.len() })
            }
        };
        let keys = ids[..wanted + tied].iter().map(key).collect::<Result<_, _>>()?;
        Ok(Some(Self { keys, wanted, kth: distances.map(|distances| distances[last]) }))
    }

    /// Different keys of `returned` that are true neighbours.
    fn hits(&self, returned: &[(Key, f32)]) -> usize {
        returned
            .iter()
            .map(|(key, _)| *key)
            .filter(|key| self.keys.contains(key))
            .collect::<HashSet<_>>()
            .len()
    }

    /// Different keys of `returned` as near as the k-th true neighbour.
    fn as_near(&self, returned: &[(Key, f32)], params: &RecallParams<'_>) -> usize {
        let Some(kth) = self.kth else { return 0 };
        // On the ordering scale smaller is nearer for every metric. The slack is added, never multiplied:
        // inner products are negative there, and a factor would tighten the threshold instead.
        let ordering = |distance: f32| params.metric.user_distance(distance);
        let rounding = if params.metric == Metric::Cosine { COSINE_ROUNDING } else { 0.0 };
        let threshold = ordering(kth) + kth.abs() * params.tolerance + rounding;
        let near = returned.iter().filter(|(_, distance)| ordering(*distance) <= threshold);
        near.map(|(key, _)| *key).collect::<HashSet<_>>().len()
    }
}
