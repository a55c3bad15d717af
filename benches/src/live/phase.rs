//! One phase of a run: changes, searches, or both at once, and what they took.

use super::changes::{Change, Made, make};
use super::searchers::{Asked, Sample, search_beside};
use super::target::{Gauges, LiveTarget, Settling};
use anyhow::Result;
use gleann::{Element, TracePoint};
use gleann_vector::RowSource;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Between two looks at memory and backlog.
const LOOK: Duration = Duration::from_millis(50);

/// What a phase is made with.
pub struct Bench<'a, T: Element> {
    /// The index.
    pub target: &'a dyn LiveTarget<T>,
    /// Vectors by row.
    pub base: &'a dyn RowSource<T>,
    /// What is searched for.
    pub asked: Asked<'a, T>,
    /// Clients that make changes.
    pub update_clients: usize,
}

/// What is done in a phase, beside searching.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// Nothing, for so long.
    Wait(Duration),
    /// Changes, and then what they leave to be done.
    Change {
        /// The changes.
        changes: &'a [Change],
        /// Done in this order when all are acknowledged.
        settle: &'a [Settling],
    },
}

/// What a phase took.
#[derive(Debug)]
pub struct Measured {
    /// Seconds from its beginning until its work was done.
    pub seconds: f64,
    /// Seconds between the two readings of the counters: until the last search had ended as well.
    pub counted_seconds: f64,
    /// Seconds until the last change was acknowledged.
    pub acknowledged_seconds: f64,
    /// The changes.
    pub made: Made,
    /// The searches beside them, by time; none in a phase without searches.
    pub searches: Vec<Sample>,
    /// Counters and sizes before.
    pub before: Gauges,
    /// Counters and sizes after.
    pub after: Gauges,
    /// Most memory of the process that is not of files.
    pub peak_memory_bytes: u64,
    /// Most updates that were acknowledged and not in the graph on disk.
    pub peak_backlog: u64,
    /// Most inserts that waited to be begun.
    pub queue_depth_max: u64,
    /// Mean share of their budgets that updates on searching cores might use; none where there are none.
    pub utilisation_mean: Option<f64>,
    /// Intervals of the tuner in the phase.
    pub trace: Vec<TracePoint>,
}

impl<T: Element> Bench<'_, T> {
    /// Runs a phase, with searches all the time or with none.
    ///
    /// # Errors
    /// A change, a search or what follows the changes fails.
    pub fn phase(&self, work: Work<'_>, searching: bool) -> Result<Measured> {
        let (before, counting) = (self.target.gauges(), Instant::now());
        let traced_until = self.target.tuner_trace().last().map(|point| point.at_ns);
        let peaks = Peaks::default();
        let run = || -> Result<(f64, f64, Made)> {
            let begun = Instant::now();
            let (acknowledged, made) = self.work(work)?;
            Ok((begun.elapsed().as_secs_f64(), acknowledged, made))
        };
        let ((seconds, acknowledged_seconds, made), searches) = peaks.watch(self.target, || {
            if searching { search_beside(self.target, &self.asked, run) } else { Ok((run()?, Vec::new())) }
        })?;
        let (after, counted_seconds) = (self.target.gauges(), counting.elapsed().as_secs_f64());
        Ok(Measured {
            seconds,
            counted_seconds,
            acknowledged_seconds,
            made,
            searches,
            before,
            after,
            peak_memory_bytes: peaks.memory_bytes.into_inner(),
            peak_backlog: peaks.backlog.into_inner(),
            queue_depth_max: peaks.queued.into_inner(),
            utilisation_mean: peaks.utilisation.into_inner().mean(),
            trace: self
                .target
                .tuner_trace()
                .into_iter()
                .filter(|point| Some(point.at_ns) > traced_until)
                .collect(),
        })
    }

    fn work(&self, work: Work<'_>) -> Result<(f64, Made)> {
        match work {
            Work::Wait(time) => {
                std::thread::sleep(time);
                Ok((0.0, Made::default()))
            }
            Work::Change { changes, settle } => {
                let begun = Instant::now();
                let made = make(self.target, self.base, changes, self.update_clients)?;
                let acknowledged = begun.elapsed().as_secs_f64();
                for &settling in settle {
                    self.target.settle(settling)?;
                }
                Ok((acknowledged, made))
            }
        }
    }
}

/// The highest values seen.
#[derive(Debug, Default)]
struct Peaks {
    memory_bytes: AtomicU64,
    backlog: AtomicU64,
    queued: AtomicU64,
    utilisation: Mutex<Mean>,
}

/// A mean of what was seen.
#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

impl Peaks {
    /// Looks while `work` runs, and once more at its end.
    fn watch<T: Element, R>(&self, target: &dyn LiveTarget<T>, work: impl FnOnce() -> R) -> R {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    self.look(target);
                    std::thread::park_timeout(LOOK);
                }
            });
            let result = work();
            self.look(target);
            done.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            result
        })
    }

    fn look<T: Element>(&self, target: &dyn LiveTarget<T>) {
        self.memory_bytes.fetch_max(anonymous_bytes().unwrap_or(0), Ordering::Relaxed);
        let gauges = target.gauges();
        self.backlog.fetch_max(gauges.backlog, Ordering::Relaxed);
        self.queued.fetch_max(gauges.queued, Ordering::Relaxed);
        if let Some(lios) = gauges.lios {
            let mut utilisation = self.utilisation.lock();
            utilisation.sum += f64::from(lios.utilisation);
            utilisation.count += 1;
        }
    }
}

/// Memory of this process in RAM that no file backs: what is mapped of the base vectors does not count. Where the system
/// does not tell it apart, all memory in RAM.
fn anonymous_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
    };
    field("RssAnon:").filter(|&bytes| bytes > 0).or_else(|| field("VmRSS:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::fake::FakeIndex;
    use gleann::SearchOptions;
    use gleann_vector::Matrix;

    #[test]
    fn searches_go_on_while_changes_are_made() {
        let base = Matrix::from_rows(&(0..200u8).collect::<Vec<_>>(), 1);
        let queries = Matrix::from_rows(&[3u8, 77], 1);
        let index = FakeIndex::default();
        let asked = Asked::saturating(&queries, 2, SearchOptions::default(), 2);
        let bench = Bench { target: &index, base: &base, asked, update_clients: 3 };
        let changes: Vec<Change> = (0..200).map(|row| Change::Insert { tag: row, row }).collect();
        let settle = [Settling::Consolidate, Settling::Merge];
        let measured = bench.phase(Work::Change { changes: &changes, settle: &settle }, false).unwrap();
        assert_eq!((measured.made.acknowledged.len(), measured.searches.len()), (200, 0));
        assert_eq!((measured.after.live, measured.after.backlog, measured.after.merges), (200, 0, 1));
        assert!(measured.acknowledged_seconds <= measured.seconds && measured.peak_memory_bytes > 0);

        let measured = bench.phase(Work::Wait(Duration::from_millis(60)), true).unwrap();
        assert!(
            measured.seconds >= 0.06
                && !measured.searches.is_empty()
                && measured.made.acknowledged.is_empty()
        );
        assert!(measured.searches.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert_eq!(measured.searches[0].latency_us, 5.0);
    }

    #[test]
    fn a_failed_change_ends_the_phase_and_its_searches() {
        let base = Matrix::from_rows(&[1u8, 2], 1);
        let queries = Matrix::from_rows(&[3u8], 1);
        let index = FakeIndex::default();
        let asked = Asked::saturating(&queries, 1, SearchOptions::default(), 2);
        let bench = Bench { target: &index, base: &base, asked, update_clients: 1 };
        let changes = [Change::Insert { tag: 9, row: 9 }];
        assert!(bench.phase(Work::Change { changes: &changes, settle: &[] }, true).is_err());
    }
}
