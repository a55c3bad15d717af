//! What a build of postings measured: its `build.json`.

use super::super::BuildError;
use super::super::report::PhaseReport;
use super::super::state::State;
use super::SpannPlan;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// What a build of postings made, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpannReport {
    /// The name of the build, in every file of the index.
    pub build_id: String,
    /// Everything that shaped the index, by name.
    pub parameters: BTreeMap<String, String>,
    /// Number of vectors.
    pub rows: u64,
    /// Number of postings.
    pub postings: u64,
    /// Bytes of a posting, the unit of a read.
    pub posting_bytes: u64,
    /// The most vectors a posting holds.
    pub capacity: u64,
    /// Element c: how many vectors are in c postings.
    pub copies: Vec<u64>,
    /// Mean number of postings a vector is in.
    pub mean_copies: f64,
    /// Mean share of a posting's places that are taken.
    pub fill_share: f64,
    /// Bytes of every member file.
    pub members: BTreeMap<String, u64>,
    /// What every phase took, in their order.
    pub phases: Vec<PhaseReport>,
    /// Wall-clock seconds of all phases.
    pub seconds: f64,
    /// CPU seconds of all phases.
    pub cpu_seconds: f64,
    /// Peak resident memory over all phases.
    pub peak_rss_bytes: u64,
    /// The memory budget.
    pub memory_budget: u64,
    /// Threads of the build.
    pub threads: u64,
}

impl SpannReport {
    pub(crate) fn new(plan: &SpannPlan, state: &State, members: &[Vec<u32>], build_id: String) -> Self {
        let phases: Vec<PhaseReport> =
            state.finished.iter().map(|(&phase, spent)| PhaseReport::new(phase, spent)).collect();
        let all: u64 = members.iter().map(|members| members.len() as u64).sum();
        let (postings, capacity) = (members.len() as u64, plan.posting.capacity() as u64);
        Self {
            build_id,
            parameters: state.inputs.clone(),
            rows: plan.rows,
            postings,
            posting_bytes: plan.posting.blocks().block_bytes() as u64,
            capacity,
            copies: histogram(plan.rows as usize, members),
            mean_copies: all as f64 / plan.rows.max(1) as f64,
            fill_share: all as f64 / (postings * capacity).max(1) as f64,
            members: state.members.iter().map(|member| (member.name.clone(), member.bytes)).collect(),
            seconds: phases.iter().map(|phase| phase.seconds).sum(),
            cpu_seconds: phases.iter().map(|phase| phase.cpu_seconds).sum(),
            peak_rss_bytes: phases.iter().map(|phase| phase.peak_rss_bytes).max().unwrap_or(0),
            phases,
            memory_budget: plan.memory_budget,
            threads: plan.threads as u64,
        }
    }

    pub(crate) fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => unreachable!("a struct of numbers and strings is a JSON object"),
        }
    }
}

/// How many of `rows` vectors are in 0, 1, 2, … postings.
fn histogram(rows: usize, members: &[Vec<u32>]) -> Vec<u64> {
    let mut copies = vec![0u8; rows];
    for &id in members.iter().flatten() {
        copies[id as usize] += 1;
    }
    let mut histogram = vec![0; usize::from(copies.iter().copied().max().unwrap_or(0)) + 1];
    for copies in copies {
        histogram[usize::from(copies)] += 1;
    }
    histogram
}

/// Reads the content of `build.json`.
///
/// # Errors
/// A field is missing or of another kind.
pub(crate) fn read_spann_report(map: Map<String, Value>) -> Result<SpannReport, String> {
    serde_json::from_value(Value::Object(map)).map_err(|error| error.to_string())
}

/// The report of a finished index.
///
/// # Errors
/// It cannot be read or is not this index's.
pub(crate) fn stored_report(out: &Path) -> Result<SpannReport, BuildError> {
    let map = gleann_storage::IndexDirectory::open(out)?.report()?;
    read_spann_report(map)
        .map_err(|message| BuildError::damaged(&out.join(gleann_storage::REPORT_NAME), message))
}
