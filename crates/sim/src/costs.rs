//! What everything costs: searches, updates, the device, and each other's presence.

use crate::device::DeviceCosts;
use crate::distribution::Distribution;
use crate::processor::Processor;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that is known of a machine and an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Where the numbers are from.
    pub about: String,
    /// The SSD.
    pub device: DeviceCosts,
    /// The processor.
    pub processor: Processor,
    /// What searches and updates cost each other.
    pub interference: Interference,
    /// Searches and updates by R, the most neighbours a vector has.
    pub degree: BTreeMap<String, DegreeCosts>,
}

/// Costs at one R.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DegreeCosts {
    /// Which of them were measured, and which assumed.
    pub evidence: String,
    /// A search with BeamSearch.
    pub beam: SearchCosts,
    /// A search with PipeSearch.
    pub pipe: SearchCosts,
    /// The deletion of a vector, with its share of the repair of lists.
    pub delete: UpdateCosts,
    /// The insertion of a vector, with its share of merges or checkpoints.
    pub insert: UpdateCosts,
}

/// What a search is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchCosts {
    /// Reads in flight of one search at most, W.
    pub width: u32,
    /// Rounds of reads.
    pub hops: Distribution,
    /// Reads of a round; PipeSearch makes as many reads in all, but in no rounds.
    pub reads_per_hop: Distribution,
    /// Processor time to begin a search.
    pub start_us: Distribution,
    /// Processor time of each step: once all reads of a round have come (beam), or some read has (pipe).
    pub hop_us: Distribution,
    /// Processor time of each read, submission and kernel included.
    pub arrival_us: Distribution,
}

/// What the change of a vector is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateCosts {
    /// Processor time in all. What the other fields leave of it can be divided anywhere.
    pub cpu_us: Distribution,
    /// Turns of its search for neighbours, each in one piece and followed by reads that it waits for.
    pub turns: u32,
    /// Processor time of a turn.
    pub turn_us: f64,
    /// It comes to a stop by itself after so much divisible work, as a task of several vectors does after each: naive use of
    /// stalls goes on until then. 0: at its end only.
    pub part_us: f64,
    /// Its reads. Without turns they are made ahead by somebody else, and nobody waits for them.
    pub reads: u32,
    /// Processor time of its commit, which is in one piece.
    pub commit_us: f64,
    /// Its writes. Nobody waits for them.
    pub writes: u32,
    /// Time in which nothing else of the phase can go on, by vector: what is left to do at its end.
    pub serial_us: f64,
}

/// What searches and updates cost each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    /// What the next turn of searches takes longer after slices that displaced everything from the caches.
    pub pollution_us: f64,
    /// The same where what searches need next is prefetched.
    pub prefetched_us: f64,
    /// Slices so long displace everything; shorter ones in proportion.
    pub displaced_after_us: f64,
    /// What each slice takes to begin: a task is taken up again.
    pub resume_us: f64,
    /// By which share each update thread at work slows searches, by its use of memory and shared caches.
    pub contention: f64,
}

/// A cost that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}: expected numbers of at least 0, depths and buckets in ascending order, and as many counts as buckets"
)]
pub struct BadCost(String);

impl Costs {
    /// Whether every number makes sense; the first place where one does not.
    ///
    /// # Errors
    /// One does not.
    pub fn validate(&self) -> Result<(), BadCost> {
        require("device", self.device.is_sound())?;
        require("processor", self.processor.is_sound())?;
        let Interference { pollution_us, prefetched_us, displaced_after_us, resume_us, contention } =
            self.interference;
        let all = [pollution_us, prefetched_us, displaced_after_us, resume_us, contention];
        require("interference", all.into_iter().all(is_fine))?;
        for (name, degree) in &self.degree {
            require(&format!("degree.{name}.beam"), degree.beam.is_sound())?;
            require(&format!("degree.{name}.pipe"), degree.pipe.is_sound())?;
            require(&format!("degree.{name}.delete"), degree.delete.is_sound())?;
            require(&format!("degree.{name}.insert"), degree.insert.is_sound())?;
        }
        Ok(())
    }
}

impl SearchCosts {
    /// Mean processor time of a search, in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.start_us.mean()
            + self.hops.mean() * self.hop_us.mean()
            + self.mean_reads() * self.arrival_us.mean()
    }

    /// Mean number of reads of a search.
    pub fn mean_reads(&self) -> f64 {
        self.hops.mean() * self.reads_per_hop.mean()
    }

    fn is_sound(&self) -> bool {
        let parts = [&self.hops, &self.reads_per_hop, &self.start_us, &self.hop_us, &self.arrival_us];
        self.width > 0 && parts.into_iter().all(Distribution::is_sound)
    }
}

impl UpdateCosts {
    fn is_sound(&self) -> bool {
        self.cpu_us.is_sound()
            && [self.turn_us, self.part_us, self.commit_us, self.serial_us].into_iter().all(is_fine)
    }
}

impl Interference {
    /// What the next turn of searches takes longer after slices of `slice_ns`, in nanoseconds.
    pub(crate) fn pollution_ns(&self, slice_ns: u64, prefetched: bool) -> u64 {
        let most_us = if prefetched { self.prefetched_us } else { self.pollution_us };
        let share = (slice_ns as f64 / 1e3 / self.displaced_after_us.max(1e-3)).min(1.0);
        (1e3 * most_us * share) as u64
    }
}

fn is_fine(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn require(place: &str, holds: bool) -> Result<(), BadCost> {
    if holds { Ok(()) } else { Err(BadCost(place.to_owned())) }
}
