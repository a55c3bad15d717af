//! Clients that search while an index changes.

use super::arrivals::{Arrivals, Schedule};
use super::target::LiveTarget;
use crate::run_bench::wake_punctually;
use anyhow::{Context, Result};
use gleann::{Element, SearchOptions, SearchResult};
use gleann_vector::Matrix;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often a client that waits for its moment looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// What is asked over and over.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a, T: Element> {
    /// The queries.
    pub queries: &'a Matrix<T>,
    /// Neighbours of each.
    pub k: usize,
    /// How they are searched.
    pub options: SearchOptions,
    /// Clients, each with one search at a time. More than the searches that the index interleaves: there is always one
    /// that waits.
    pub clients: usize,
    /// When searches come.
    pub arrivals: Arrivals,
}

impl<'a, T: Element> Asked<'a, T> {
    /// Searches without a pause.
    #[cfg(test)]
    pub fn saturating(queries: &'a Matrix<T>, k: usize, options: SearchOptions, clients: usize) -> Self {
        Self { queries, k, options, clients, arrivals: Arrivals::Saturated }
    }
}

/// One search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds from the beginning of the phase to the answer.
    pub at: f64,
    /// Microseconds from its start on a core to its end; where searches come at moments of their own, from that moment.
    pub latency_us: f64,
    /// Microseconds of them in which it could do nothing but wait for reads.
    pub stall_us: f64,
    /// Rounds of reads.
    pub hops: u32,
    /// Reads.
    pub reads: u32,
}

impl Sample {
    fn of(result: &SearchResult, at: f64) -> Self {
        let stats = &result.stats;
        Self {
            at,
            latency_us: stats.latency_ns as f64 / 1e3,
            stall_us: stats.stall_ns as f64 / 1e3,
            hops: stats.hops,
            reads: stats.reads,
        }
    }
}

/// Searches until `work` has ended; what `work` gave, and all searches.
///
/// # Errors
/// `work` or a search fails; a failed search does not end the work, but everything after it.
pub fn search_beside<T: Element, R>(
    target: &dyn LiveTarget<T>,
    asked: &Asked<'_, T>,
    work: impl FnOnce() -> Result<R>,
) -> Result<(R, Vec<Sample>)> {
    let (stop, next, schedule) = (AtomicBool::new(false), AtomicUsize::new(0), Schedule::new(asked.arrivals));
    let (begun, outcomes) = (Instant::now(), Mutex::new(Vec::new()));
    let client = || {
        wake_punctually();
        let mut samples = Vec::new();
        let mut ask = || -> Result<()> {
            while !stop.load(Ordering::Relaxed) {
                let due = schedule.next().map(|seconds| begun + Duration::from_secs_f64(seconds));
                if !due.is_none_or(|due| wait_until(due, &stop)) {
                    break;
                }
                let query = next.fetch_add(1, Ordering::Relaxed) % asked.queries.rows();
                let result = target.search(asked.queries.row(query), asked.k, &asked.options);
                let result = result.with_context(|| format!("query {query}"))?;
                let sample = Sample::of(&result, begun.elapsed().as_secs_f64());
                let since_due = due.map(|due| due.elapsed().as_secs_f64() * 1e6);
                samples.push(Sample { latency_us: since_due.unwrap_or(sample.latency_us), ..sample });
            }
            Ok(())
        };
        let outcome = ask().map(|()| samples);
        outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(outcome);
    };
    let worked = std::thread::scope(|scope| {
        for _ in 0..asked.clients {
            scope.spawn(client);
        }
        // However the work ends, the clients do.
        let _end = StopAtEnd(&stop);
        work()
    })?;
    let mut samples = Vec::new();
    for outcome in outcomes.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        samples.extend(outcome?);
    }
    samples.sort_by(|a: &Sample, b| a.at.total_cmp(&b.at));
    Ok((worked, samples))
}

/// Sleeps until then; whether the clients are to go on.
fn wait_until(due: Instant, stop: &AtomicBool) -> bool {
    while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        std::thread::sleep(left.min(LOOK));
    }
    true
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::fake::FakeIndex;

    #[test]
    fn searches_come_at_their_rate_and_end_with_the_work() {
        let queries = Matrix::from_rows(&[3u8, 77], 1);
        let index = FakeIndex::default();
        let arrivals = Arrivals::Open { rate: 500.0, burst: 1.0 };
        let asked = Asked { arrivals, ..Asked::saturating(&queries, 1, SearchOptions::default(), 4) };
        let work = || {
            std::thread::sleep(Duration::from_millis(400));
            Ok(())
        };
        let ((), samples) = search_beside(&index, &asked, work).unwrap();
        // 200 are due; a machine that is busy may not have come to all of them.
        assert!((20..300).contains(&samples.len()), "{}", samples.len());
        assert!(samples.iter().all(|sample| sample.latency_us > 0.0 && sample.latency_us != 5.0));
    }
}
