//! Recall while nothing changes, and a look at every answer: nothing dead, nothing twice.

use super::searchers::Asked;
use super::set::LiveSet;
use super::target::LiveTarget;
use anyhow::{Result, ensure};
use gleann::{Element, Metric, SearchResult};
use gleann_vector::{GroundTruth, Recall, RecallParams};
use std::collections::HashSet;

/// As everywhere in result lines.
const TOLERANCE: f32 = 1e-3;

/// What a quiet pass over all queries found.
#[derive(Debug, Clone, PartialEq)]
pub struct Quiet {
    /// Recall; none where nothing is live.
    pub recall: Option<Recall>,
    /// Microseconds of every search.
    pub latencies_us: Vec<f64>,
    /// Reads of all searches.
    pub reads: u64,
    /// Seconds of the pass.
    pub seconds: f64,
    /// Answers with fewer neighbours than there are.
    pub short: u64,
}

/// What the right answers are.
#[derive(Debug, Clone, Copy)]
pub struct Right<'a> {
    /// What is live.
    pub set: &'a LiveSet,
    /// The exact neighbours in it, by tag.
    pub truth: &'a GroundTruth,
    /// Metric of both.
    pub metric: Metric,
}

/// Asks every query once, with nothing else going on, and holds the answers against `right`.
///
/// # Errors
/// A search fails, or an answer has a key that is not live, or one twice.
pub fn quiet_pass<T: Element>(
    target: &dyn LiveTarget<T>,
    asked: &Asked<'_, T>,
    right: Right<'_>,
) -> Result<Quiet> {
    let begun = std::time::Instant::now();
    let results = target.search_all(asked.queries.as_slice(), asked.k, &asked.options)?;
    let seconds = begun.elapsed().as_secs_f64();
    for (query, result) in results.iter().enumerate() {
        check_answer(result, right.set).map_err(|error| error.context(format!("query {query}")))?;
    }
    let found: Vec<Vec<(u64, f32)>> = results
        .iter()
        .map(|result| result.hits.iter().map(|hit| (hit.key, hit.distance)).collect())
        .collect();
    let params =
        RecallParams { metric: right.metric, k: asked.k, n: asked.k, tolerance: TOLERANCE, keys: None };
    let recall = Recall::measure(right.truth, &found, &params)?;
    let expected = right.set.live().min(asked.k as u64);
    Ok(Quiet {
        short: results.iter().filter(|result| (result.hits.len() as u64) < expected).count() as u64,
        recall: (recall.queries > 0).then_some(recall),
        latencies_us: results.iter().map(|result| result.stats.latency_ns as f64 / 1e3).collect(),
        reads: results.iter().map(|result| u64::from(result.stats.reads)).sum(),
        seconds,
    })
}

fn check_answer(result: &SearchResult, set: &LiveSet) -> Result<()> {
    let mut seen = HashSet::new();
    for hit in &result.hits {
        let is_live = u32::try_from(hit.key).is_ok_and(|tag| set.row_of(tag).is_some());
        ensure!(is_live, "the search returned key {}, which is not live; the index is wrong", hit.key);
        ensure!(seen.insert(hit.key), "the search returned key {} twice; the index is wrong", hit.key);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::changes::{Change, make};
    use crate::live::fake::FakeIndex;
    use crate::live::{ChangingTruth, TruthQuestion};
    use gleann::{SearchOptions, Silent};
    use gleann_vector::Matrix;

    #[test]
    fn answers_are_held_against_the_set_of_the_moment() {
        let base = Matrix::from_rows(&(0..40u8).collect::<Vec<_>>(), 1);
        let queries = Matrix::from_rows(&[3u8, 20, 39], 1);
        let asked = Asked::saturating(&queries, 4, SearchOptions::default(), 1);
        let index = FakeIndex::hiding(&[39]);
        let inserts: Vec<Change> = (0..40).map(|row| Change::Insert { tag: row, row }).collect();
        make(&index, &base, &inserts, 2).unwrap();
        let question = TruthQuestion { base: &base, queries: &queries, metric: Metric::L2, depth: 10 };
        let mut truth = ChangingTruth::new(question, LiveSet::of_rows(40, 40), &Silent).unwrap();
        let now = truth.now().unwrap();
        let right = Right { set: truth.set(), truth: &now, metric: Metric::L2 };
        let quiet = quiet_pass(&index, &asked, right).unwrap();
        // Of 12 true neighbours one is never found.
        assert!((quiet.recall.unwrap().official - 11.0 / 12.0).abs() < 1e-9);
        assert_eq!((quiet.reads, quiet.short, quiet.latencies_us.len()), (24, 0, 3));

        let mut gone = truth.set().clone();
        gone.remove(3);
        let error = quiet_pass(&index, &asked, Right { set: &gone, ..right }).unwrap_err();
        assert!(format!("{error:#}").contains("query 0: the search returned key 3,"), "{error:#}");
    }
}
