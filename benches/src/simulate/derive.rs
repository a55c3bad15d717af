//! Costs of a setup from measured lines without LIOS.
//!
//! A core's time by search is threads · (1 − idle ratio) / searches a second, which the search's parts are stretched to; the
//! reads are those counted; and the device is stretched until simulated searches take as long as the measured ones, beside
//! updates if there were some: lines of a phase with updates tell all that of searches beside them, whatever these cost them.
//! Processor time by vector is that counted; what updating threads take longer than that is time in which nothing else goes on.

use super::command::traversal;
use crate::live::{LiveRow, middle};
use anyhow::{Context, Result, ensure};
use gleann_sim::{Arm, Costs, DegreeCosts, Setup, UpdateCosts, simulate};

/// Steps of each search for a cost that fits.
const STEPS: u32 = 14;
/// Virtual seconds of each step.
const STEP_SECONDS: f64 = 1.5;
/// Vectors of each step.
const STEP_VECTORS: u64 = 3000;

/// The setup of a measured line, without updates and without LIOS.
///
/// # Errors
/// The line names no traversal.
pub fn setup_of(row: &LiveRow, seed: u64) -> Result<Setup> {
    let search = row.setup.search.parse().ok().context("a line without its traversal")?;
    Ok(Setup {
        search_threads: row.setup.threads_search,
        update_threads: row.setup.threads_update,
        in_flight: row.setup.in_flight,
        queue: row.setup.update_clients.max(1),
        traversal: traversal(search),
        degree: row.setup.degree.to_string(),
        arm: Arm::OFF,
        deletes: 0,
        inserts: 0,
        seed,
        ..Setup::default()
    })
}

/// Costs of searches, the device, and the processor time of updates that fit `lines`, which are of the phase of `setup` without
/// LIOS; the rest from `costs`.
///
/// # Errors
/// There is no line, or what it says cannot be.
pub fn searches(lines: &[&LiveRow], costs: &Costs, setup: &Setup) -> Result<Costs> {
    let of = |value: fn(&LiveRow) -> Option<f64>| {
        middle(lines, value)
            .context("no line with LIOS off that tells of searches, of `idle` or another phase")
    };
    let qps = of(|row| row.searches.search_qps)?;
    let core_us = f64::from(setup.search_threads) * (1.0 - of(|row| row.searches.idle_ratio)?) * 1e6 / qps;
    let reads = of(|row| row.searches.reads_per_query)?;
    ensure!(core_us > 0.0 && reads >= 1.0, "{core_us:.0} µs and {reads:.1} reads a search: these cannot be");
    let mut degree = nearest(costs, &setup.degree)?;
    for search in [&mut degree.beam, &mut degree.pipe] {
        let hops = reads / search.reads_per_hop.mean();
        search.hops = search.hops.with_mean(hops);
        let factor = core_us / search.mean_us();
        for part in [&mut search.start_us, &mut search.hop_us, &mut search.arrival_us] {
            *part = part.with_mean(part.mean() * factor);
        }
    }
    if setup.deletes + setup.inserts > 0 {
        let cpu_us = of(|row| row.updates.update_cpu_us_per_vector)?;
        let update = update_of(&mut degree, setup);
        update.cpu_us = update.cpu_us.with_mean(cpu_us);
    }
    let latency_us = of(|row| row.searches.latency.mean)?;
    let mut fitted = Costs {
        about: "a results file of `run-bench updates`".to_owned(),
        degree: [(setup.degree.clone(), degree)].into(),
        ..costs.clone()
    };
    let device = costs.device.clone();
    fit(&mut fitted, (0.05, 20.0), |costs, factor| {
        costs.device = device.slower(factor);
        costs.interference.contention = 0.0;
        Ok(simulate(&short(setup), costs)?[0].latency_us_mean > latency_us)
    })?;
    Ok(fitted)
}

/// `costs`, of [`searches`], with what updates take beside processor time.
///
/// # Errors
/// There is none.
pub fn updates(lines: &[&LiveRow], costs: &Costs, setup: &Setup) -> Result<Costs> {
    let of = |value: fn(&LiveRow) -> Option<f64>| {
        middle(lines, value).context("no line with updates and LIOS off")
    };
    let mut fitted = costs.clone();
    let seconds = of(|row| Some(row.phase_seconds))?;
    let report = simulate(&short(setup), &fitted)?.remove(0);
    let vectors = (setup.deletes + setup.inserts) as f64;
    let left_us = 1e6 * (seconds / vectors - 1.0 / report.vectors_per_second);
    if let Some(degree) = fitted.degree.get_mut(&setup.degree) {
        let update = update_of(degree, setup);
        update.serial_us = left_us.max(0.0);
        // Threads that do more than they have time for had help.
        if left_us < 0.0 {
            let factor = seconds / vectors * report.vectors_per_second;
            update.cpu_us = update.cpu_us.with_mean(update.cpu_us.mean() * factor);
        }
    }
    Ok(fitted)
}

/// How many times as slow the device of `one` is as that of `other`.
pub fn drift(one: &Costs, other: &Costs) -> f64 {
    one.device.mean_us(1.0) / other.device.mean_us(1.0).max(1e-9)
}

/// The updates of the one phase of `setup`.
fn update_of<'d>(degree: &'d mut DegreeCosts, setup: &Setup) -> &'d mut UpdateCosts {
    if setup.deletes > 0 { &mut degree.delete } else { &mut degree.insert }
}

/// As much of the one phase of `setup` as it takes to know its latency.
fn short(setup: &Setup) -> Setup {
    let idle_seconds = if setup.deletes + setup.inserts > 0 { 0.0 } else { STEP_SECONDS };
    let (deletes, inserts) = (setup.deletes.min(STEP_VECTORS), setup.inserts.min(STEP_VECTORS));
    Setup { idle_seconds, deletes, inserts, ..setup.clone() }
}

/// Halves the range, by ratio, between costs that are too small and those that are `too_large`; leaves the last.
fn fit(
    costs: &mut Costs,
    (mut low, mut high): (f64, f64),
    mut too_large: impl FnMut(&mut Costs, f64) -> Result<bool>,
) -> Result<()> {
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if too_large(costs, middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    too_large(costs, low).map(drop)
}

/// The costs of the R that is nearest to `degree`: their shape is kept.
fn nearest(costs: &Costs, degree: &str) -> Result<DegreeCosts> {
    let wanted: i64 = degree.parse().context("a line without R")?;
    let distance = |name: &str| name.parse::<i64>().map_or(i64::MAX, |own| (own - wanted).abs());
    let nearest = costs.degree.iter().min_by_key(|(name, _)| distance(name));
    nearest.map(|(_, degree)| degree.clone()).context("the file of costs has no R")
}
