//! Result lines of simulations. They have the field names of measured lines, and say that they are none.

use gleann_sim::{Compared, Costs, Report, Setup};
use serde::Serialize;

/// A simulated phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// `simulate`.
    pub workload: &'static str,
    /// Always: nothing here was measured.
    pub simulated: bool,
    /// Where the costs are from.
    pub costs: String,
    /// Which of them were measured.
    pub evidence: String,
    /// `off`, or how stalls are used.
    pub lios: String,
    /// θ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// Traversal.
    pub search: &'static str,
    /// Searching threads.
    pub threads_search: u32,
    /// Updating threads.
    pub threads_update: u32,
    /// Searches interleaved per searching thread.
    pub in_flight: u32,
    /// R.
    pub degree: String,
    /// Seed.
    pub seed: u64,
    /// What the phase came to.
    #[serde(flatten)]
    pub report: Report,
    /// Beside the same phase without LIOS.
    #[serde(flatten)]
    pub compared: Option<Compared>,
    /// What was measured of the same setup, where this is a validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// What was measured, medians over rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// Seconds of the phase without LIOS by those with it.
    pub speedup: f64,
    /// By which share the mean latency grew.
    pub mean: f64,
    /// Mean latency, in microseconds.
    pub latency_us_mean: f64,
    /// 99th percentile of it.
    pub latency_us_p99: f64,
    /// Seconds of the phase.
    pub seconds: f64,
}

impl Line {
    /// The line of a phase.
    pub fn new(setup: &Setup, costs: &Costs, report: Report) -> Self {
        let evidence = costs.degree.get(&setup.degree).map(|degree| degree.evidence.clone());
        Self {
            workload: "simulate",
            simulated: true,
            costs: costs.about.clone(),
            evidence: evidence.unwrap_or_default(),
            lios: setup.arm.to_string(),
            theta: setup.arm.theta,
            search: setup.traversal.name(),
            threads_search: setup.search_threads,
            threads_update: setup.update_threads,
            in_flight: setup.in_flight,
            degree: setup.degree.clone(),
            seed: setup.seed,
            report,
            compared: None,
            measured: None,
        }
    }

    /// The same, held against the phase without LIOS, if vectors are changed in it.
    #[must_use]
    pub fn beside(mut self, off: &Report) -> Self {
        self.compared = (self.theta.is_some() && off.vectors > 0).then(|| self.report.beside(off));
        self
    }
}
