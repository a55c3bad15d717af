//! How long a core may work on updates in a stall: the kinds of budget, and the idle times they rest on (LIOS §4.3).

use crate::idle::{HistoryShape, IdleHistory};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How the time for updates in a stall is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BudgetKind {
    /// The longest slice whose expected overrun is at most θ of the mean idle time, times the utilisation (the paper).
    #[default]
    Bounded,
    /// No estimate: work until a read has come, which the slice sees for itself. The utilisation is the share of
    /// stalls that carry work.
    OnArrival,
    /// A fixed time, times the utilisation: the paper's ablation of the estimate (§6.4).
    Fixed(Duration),
    /// One task, never told to stop: naive co-execution, the paper's ablation of everything (§6.4). The utilisation is
    /// the share of stalls that carry work.
    Unbounded,
}

impl fmt::Display for BudgetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetKind::Bounded => f.pad("bounded"),
            BudgetKind::OnArrival => f.pad("on_arrival"),
            BudgetKind::Fixed(time) => write!(f, "fixed:{}", time.as_micros()),
            BudgetKind::Unbounded => f.pad("unbounded"),
        }
    }
}

/// A word that names no kind of budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no budget; expected bounded, on_arrival, fixed:MICROSECONDS or unbounded")]
pub struct UnknownBudget(String);

impl FromStr for BudgetKind {
    type Err = UnknownBudget;

    fn from_str(text: &str) -> Result<Self, UnknownBudget> {
        let unknown = || UnknownBudget(text.to_owned());
        match text {
            "bounded" => Ok(BudgetKind::Bounded),
            "on_arrival" => Ok(BudgetKind::OnArrival),
            "unbounded" => Ok(BudgetKind::Unbounded),
            _ => {
                let micros = text.strip_prefix("fixed:").ok_or_else(unknown)?;
                let micros = micros.parse().map_err(|_| unknown())?;
                Ok(BudgetKind::Fixed(Duration::from_micros(micros)))
            }
        }
    }
}

/// Which stalls share their idle times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucketing {
    /// One history for each number of reads that are waited for, from 1 to `most`; more count as `most` (BeamSearch).
    ByReads {
        /// The last bucket.
        most: usize,
    },
    /// One history; under a bounded budget every `every`-th stall carries work (K in the paper; PipeSearch).
    Sparse {
        /// Stalls per stall with work.
        every: u32,
    },
}

impl Bucketing {
    /// Histories.
    fn buckets(self) -> usize {
        match self {
            Bucketing::ByReads { most } => most.max(1),
            Bucketing::Sparse { .. } => 1,
        }
    }

    /// The history of a stall that waits for `reads` reads.
    fn bucket(self, reads: usize) -> usize {
        match self {
            Bucketing::ByReads { most } => reads.clamp(1, most.max(1)) - 1,
            Bucketing::Sparse { .. } => 0,
        }
    }
}

/// A stall among the others: whose history it belongs to, and whether it may carry work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StallPlace {
    bucket: usize,
    scheduled: bool,
}

impl StallPlace {
    /// Whether it may carry work (always, where stalls are not sparse).
    pub fn is_scheduled(self) -> bool {
        self.scheduled
    }
}

/// The idle times of one core, by kind of stall.
#[derive(Debug)]
pub struct IdleTimes {
    bucketing: Bucketing,
    histories: Vec<IdleHistory>,
    stalls: u32,
}

impl IdleTimes {
    /// Without samples.
    pub fn new(bucketing: Bucketing, shape: HistoryShape) -> Self {
        // Not clones of one: a clone would not have the room that samples will take.
        let histories = (0..bucketing.buckets()).map(|_| IdleHistory::new(shape)).collect();
        Self { bucketing, histories, stalls: 0 }
    }

    /// A stall begins that waits for `reads` reads.
    pub fn place(&mut self, reads: usize) -> StallPlace {
        let scheduled = match self.bucketing {
            Bucketing::ByReads { .. } => true,
            Bucketing::Sparse { every } => {
                self.stalls = (self.stalls + 1) % every.max(1);
                self.stalls == 0
            }
        };
        StallPlace { bucket: self.bucketing.bucket(reads), scheduled }
    }

    /// The idle time of a stall became known.
    pub fn record(&mut self, place: StallPlace, idle_ns: u64) {
        self.histories[place.bucket].record(idle_ns, place.scheduled);
    }

    /// The longest slice for a stall like this, in nanoseconds (τ_est). None before there are enough samples.
    pub fn estimate_ns(&self, place: StallPlace) -> Option<u64> {
        self.histories[place.bucket].estimate_ns()
    }

    /// The history that stalls with `reads` reads belong to.
    pub fn history(&self, reads: usize) -> &IdleHistory {
        &self.histories[self.bucketing.bucket(reads)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_back() {
        let fixed = BudgetKind::Fixed(Duration::from_micros(80));
        for kind in [BudgetKind::Bounded, BudgetKind::OnArrival, fixed, BudgetKind::Unbounded] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for text in ["", "fixed", "fixed:", "fixed:-1", "fixed:1us", "Bounded"] {
            assert!(text.parse::<BudgetKind>().is_err(), "{text}");
        }
    }

    fn shape() -> HistoryShape {
        HistoryShape { samples: 8, least: 4, longest_ns: 10_000, refresh: 1, theta: 0.0 }
    }

    #[test]
    fn each_number_of_reads_has_its_history() {
        let mut times = IdleTimes::new(Bucketing::ByReads { most: 3 }, shape());
        for _ in 0..8 {
            for reads in 1..=5 {
                let place = times.place(reads);
                assert!(place.is_scheduled());
                times.record(place, 100 * reads.min(3) as u64);
            }
        }
        let estimates = [0, 1, 2, 3, 9].map(|reads| times.history(reads).estimate_ns());
        assert_eq!(estimates, [100, 100, 200, 300, 300].map(Some));
    }

    #[test]
    fn sparse_stalls_carry_work_every_so_often() {
        let mut times = IdleTimes::new(Bucketing::Sparse { every: 4 }, shape());
        let carried: Vec<_> = (0..12).filter(|_| times.place(1).is_scheduled()).collect();
        assert_eq!(carried, [3, 7, 11]);
    }
}
