//! What is simulated: threads, searches, the amount of updates, and how stalls are used.

use crate::arm::Arm;
use crate::costs::{BadCost, Costs, DegreeCosts, SearchCosts};
use gleann_lios::BadOption;

/// How searches go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traversal {
    /// In rounds: once all reads of a round have come.
    Beam,
    /// At each arrival, with as many reads in flight as are allowed.
    Pipe,
}

impl Traversal {
    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Beam => "beam",
            Self::Pipe => "pipe",
        }
    }

    /// Its costs among those of a degree.
    pub fn costs(self, degree: &DegreeCosts) -> &SearchCosts {
        match self {
            Self::Beam => &degree.beam,
            Self::Pipe => &degree.pipe,
        }
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Searching cores, each of which always has searches to do.
    pub search_threads: u32,
    /// Threads that only update.
    pub update_threads: u32,
    /// Searches interleaved per searching core.
    pub in_flight: u32,
    /// Updates interleaved per updating thread or searching core.
    pub updates_in_flight: u32,
    /// Places in the queue of updates.
    pub queue: u32,
    /// How searches go on.
    pub traversal: Traversal,
    /// R, by which costs are looked up.
    pub degree: String,
    /// How stalls are used.
    pub arm: Arm,
    /// Virtual seconds without updates in the beginning.
    pub idle_seconds: f64,
    /// Vectors that are deleted, then.
    pub deletes: u64,
    /// Vectors that are inserted, after that.
    pub inserts: u64,
    /// Virtual time between two looks of a slice at the clock and the reads, in nanoseconds.
    pub look_ns: u64,
    /// A phase ends after so many virtual seconds, done or not.
    pub longest_seconds: f64,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

impl Default for Setup {
    /// The paper's Testbed B.
    fn default() -> Self {
        Self {
            search_threads: 28,
            update_threads: 4,
            in_flight: 1,
            updates_in_flight: 8,
            queue: 1024,
            traversal: Traversal::Beam,
            degree: "64".to_owned(),
            arm: Arm::OFF,
            idle_seconds: 3.0,
            deletes: 10_000,
            inserts: 10_000,
            look_ns: 1000,
            longest_seconds: 3600.0,
            seed: 1,
        }
    }
}

/// A run that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadSetup {
    /// A cost makes no sense.
    #[error(transparent)]
    Cost(#[from] BadCost),
    /// An option of the scheduler makes no sense.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// There are no costs for this R.
    #[error("no costs for R = {0}; there are those for {1}")]
    Degree(String, String),
    /// A number is out of its range.
    #[error("{0}: expected at least {1}")]
    TooSmall(&'static str, u32),
}

impl Setup {
    /// Checks it, and looks up the costs it needs.
    pub(crate) fn costs<'c>(&self, costs: &'c Costs) -> Result<&'c DegreeCosts, BadSetup> {
        costs.validate()?;
        for (name, value) in [
            ("searching threads", u64::from(self.search_threads)),
            ("searches in flight", u64::from(self.in_flight)),
            ("updates in flight", u64::from(self.updates_in_flight)),
            ("places in the queue", u64::from(self.queue)),
            ("nanoseconds between two looks", self.look_ns),
        ] {
            if value == 0 {
                return Err(BadSetup::TooSmall(name, 1));
            }
        }
        let names = || costs.degree.keys().cloned().collect::<Vec<_>>().join(", ");
        costs.degree.get(&self.degree).ok_or_else(|| BadSetup::Degree(self.degree.clone(), names()))
    }
}
