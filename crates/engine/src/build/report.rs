//! What a build measured: `build.json`.

use super::BuildError;
use super::meter::Spent;
use super::phase::Phase;
use super::plan::{BuildPlan, GraphPlan, record_growth};
use super::state::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a build made, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildReport {
    /// The name of the build, in every file of the index.
    pub build_id: String,
    /// Everything that shaped the index, by name.
    pub parameters: BTreeMap<String, String>,
    /// Number of vectors.
    pub rows: u64,
    /// Bytes of a record: vector and neighbour list.
    pub record_bytes: u64,
    /// Bytes of a record by those it would have with codes in memory.
    pub record_growth: f64,
    /// Records a block, the unit of a read.
    pub records_per_block: u64,
    /// Pages a block; more than one where a record exceeds a page.
    pub pages_per_block: u64,
    /// Share of a block that holds no record.
    pub unused_share: f64,
    /// Shards the graph was built in; 0: all at once.
    pub shards: u64,
    /// Element d: how many vectors have d neighbours.
    pub degrees: Vec<u64>,
    /// Mean number of neighbours.
    pub mean_degree: f64,
    /// Vectors that the built graph did not reach from its entry point.
    pub unreachable: u64,
    /// Edges made for them; all vectors are reachable now.
    pub repaired: u64,
    /// OR(G): mean share of the other records of a page that are neighbours; absent with one record a block.
    pub overlap_ratio: Option<f64>,
    /// OR(G) before a shuffle, in the order of rows; absent where there was none.
    pub overlap_by_id: Option<f64>,
    /// OR(G) of a greedy fill, for comparison; absent where there was no shuffle.
    pub overlap_greedy: Option<f64>,
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
    /// Threads of the graph build.
    pub threads: u64,
    /// The last phase that an earlier, interrupted run had finished.
    pub continued_after: Option<Phase>,
}

/// What a phase took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PhaseReport {
    /// The phase.
    pub phase: Phase,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// CPU seconds of the process.
    pub cpu_seconds: f64,
    /// Peak resident memory; of the process so far, where the system does not let it be measured anew.
    pub peak_rss_bytes: u64,
}

impl PhaseReport {
    pub(crate) fn new(phase: Phase, spent: &Spent) -> Self {
        let Spent { seconds, cpu_seconds, peak_rss_bytes } = *spent;
        Self { phase, seconds, cpu_seconds, peak_rss_bytes }
    }
}

impl BuildReport {
    pub(crate) fn new(plan: &BuildPlan, state: &State, build_id: String) -> Self {
        let phases: Vec<PhaseReport> =
            state.finished.iter().map(|(&phase, spent)| PhaseReport::new(phase, spent)).collect();
        let rows = plan.rows;
        let edges: u64 = state.degrees.iter().zip(0u64..).map(|(count, degree)| count * degree).sum();
        let layout = plan.layout;
        let per_block = layout.records_per_block() as u64;
        let ratio =
            |mates: u64| (per_block > 1).then(|| mates as f64 / ((per_block - 1) * rows.max(1)) as f64);
        let used = per_block as usize * layout.record_bytes();
        Self {
            build_id,
            parameters: state.inputs.clone(),
            rows,
            record_bytes: layout.record_bytes() as u64,
            record_growth: record_growth(&layout),
            records_per_block: per_block,
            pages_per_block: layout.pages_per_block() as u64,
            unused_share: 1.0 - used as f64 / layout.block_bytes() as f64,
            shards: match plan.graph {
                GraphPlan::OneShot | GraphPlan::Given => 0,
                GraphPlan::Sharded { shards, .. } => shards as u64,
            },
            degrees: state.degrees.clone(),
            mean_degree: edges as f64 / rows.max(1) as f64,
            unreachable: state.unreachable,
            repaired: state.repaired,
            overlap_ratio: ratio(state.page_mates),
            overlap_by_id: state.other_page_mates.and_then(|mates| ratio(mates.by_id)),
            overlap_greedy: state.other_page_mates.and_then(|mates| ratio(mates.greedy)),
            members: state.members.iter().map(|member| (member.name.clone(), member.bytes)).collect(),
            seconds: phases.iter().map(|phase| phase.seconds).sum(),
            cpu_seconds: phases.iter().map(|phase| phase.cpu_seconds).sum(),
            peak_rss_bytes: phases.iter().map(|phase| phase.peak_rss_bytes).max().unwrap_or(0),
            phases,
            memory_budget: plan.memory_budget,
            threads: plan.threads as u64,
            continued_after: None,
        }
    }

    pub(crate) fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => unreachable!("a struct of numbers and strings is a JSON object"),
        }
    }
}

/// Reads the content of `build.json`.
///
/// # Errors
/// A field is missing or of another kind.
pub(crate) fn read_report(map: Map<String, Value>) -> Result<BuildReport, String> {
    serde_json::from_value(Value::Object(map)).map_err(|error| error.to_string())
}

/// The report of a finished index.
///
/// # Errors
/// It cannot be read or is not this index's.
pub(crate) fn stored_report(out: &std::path::Path) -> Result<BuildReport, BuildError> {
    let map = gleann_storage::IndexDirectory::open(out)?.report()?;
    read_report(map).map_err(|message| BuildError::damaged(&out.join(gleann_storage::REPORT_NAME), message))
}
