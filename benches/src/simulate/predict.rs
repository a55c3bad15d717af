//! Predictions of a run of `run-bench updates`, held against what was measured.

use super::derive::{drift, searches, setup_of, updates};
use super::line::{Line, Measured};
use super::table;
use crate::live::{LiveRow, lines_of, middle};
use anyhow::{Context, Result, ensure};
use gleann_sim::{Arm, Costs, Report, Setup, Share, simulate};
use std::path::Path;

/// Derives costs from the lines without LIOS, predicts those with it, and prints both.
///
/// # Errors
/// The file cannot be read, or lacks lines to derive costs from.
pub fn run(results: &Path, costs: &Costs, seed: u64) -> Result<Vec<Line>> {
    let rows = read(results)?;
    let setup =
        setup_of(rows.first().context("the results file holds no line of `run-bench updates`")?, seed)?;
    let same = |row: &&LiveRow| {
        let (own, first) = (&row.setup, &rows[0].setup);
        (own.threads_search, own.threads_update, own.in_flight, &own.search, &own.backend, own.list)
            == (
                first.threads_search,
                first.threads_update,
                first.in_flight,
                &first.search,
                &first.backend,
                first.list,
            )
    };
    ensure!(rows.iter().filter(same).count() == rows.len(), "{}: lines of several setups", results.display());
    println!("{}", table::validation_header());
    let mut lines = Vec::new();
    for phase in ["delete", "insert"] {
        let off = lines_of(&rows, "off", phase);
        let Some((setup, fitted)) = of_phase(phase, &off, (&setup, costs))? else { continue };
        say(&fitted, &setup);
        lines.extend(predict(&rows, &fitted, &setup)?);
    }
    ensure!(!lines.is_empty(), "{}: no phase with updates and LIOS off", results.display());
    Ok(lines)
}

/// Costs that fit measured lines without LIOS of one setup, of deletes and of inserts; the rest from `costs`.
///
/// # Errors
/// There are no lines, or what they say cannot be.
pub fn derived_costs(rows: &[LiveRow], costs: &Costs) -> Result<Costs> {
    let setup = setup_of(rows.first().context("no measured line")?, 1)?;
    let mut fitted = costs.clone();
    for phase in ["delete", "insert"] {
        let lines: Vec<&LiveRow> = rows.iter().filter(|row| row.phase == phase).collect();
        if let Some((_, of_phase)) = of_phase(phase, &lines, (&setup, &fitted))? {
            fitted = of_phase;
        }
    }
    fitted.about = "derived from lines measured here".to_owned();
    Ok(fitted)
}

/// The setup of the one phase that `lines` are of, and costs that fit them; none where there are no lines.
fn of_phase(
    phase: &str,
    lines: &[&LiveRow],
    (setup, costs): (&Setup, &Costs),
) -> Result<Option<(Setup, Costs)>> {
    let Some(first) = lines.first() else { return Ok(None) };
    let vectors = first.updates.vectors;
    let (deletes, inserts) = if phase == "delete" { (vectors, 0) } else { (0, vectors) };
    let setup = Setup { deletes, inserts, ..setup.clone() };
    let fitted = updates(lines, &searches(lines, costs, &setup)?, &setup)?;
    Ok(Some((setup, fitted)))
}

fn read(results: &Path) -> Result<Vec<LiveRow>> {
    let text =
        std::fs::read_to_string(results).with_context(|| format!("cannot open {}", results.display()))?;
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row: LiveRow = serde_json::from_str(line)
            .with_context(|| format!("{}, line {}: not a result line", results.display(), number + 1))?;
        if row.workload == "updates" {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// All ways that were measured of one phase, the one without LIOS first.
fn predict(rows: &[LiveRow], costs: &Costs, setup: &Setup) -> Result<Vec<Line>> {
    let phase = if setup.deletes > 0 { "delete" } else { "insert" };
    let mut ways: Vec<&LiveRow> = Vec::new();
    for row in rows.iter().filter(|row| row.phase == phase) {
        if !ways.iter().any(|way| way.setup.lios == row.setup.lios) {
            ways.push(row);
        }
    }
    ways.sort_by_key(|way| way.setup.lios != "off");
    let mut off: Option<Report> = None;
    let mut lines = Vec::new();
    for way in ways {
        let setup = Setup { arm: arm_of(way)?, ..setup.clone() };
        let drift = drifted(rows, &way.setup.lios, (costs, &setup))?;
        let costs = &Costs { device: costs.device.slower(drift), ..costs.clone() };
        let reports = simulate(&setup, costs)?;
        let report = reports.into_iter().last().context("a simulation without phases")?;
        let measured = measured(rows, phase, &way.setup.lios).context("lines without seconds or latency")?;
        let beside = off.get_or_insert_with(|| report.clone());
        let mut line = Line::new(&setup, costs, report.clone()).beside(beside);
        line.measured = Some(measured);
        println!("{}", table::validation(&line, &measured));
        lines.push(line);
    }
    Ok(lines)
}

/// How many times as slow the device was for a way of using stalls as for that without LIOS, by the idle phases of both: in
/// these nothing is updated, and machines drift.
fn drifted(rows: &[LiveRow], lios: &str, (costs, setup): (&Costs, &Setup)) -> Result<f64> {
    let setup = Setup { deletes: 0, inserts: 0, arm: Arm::OFF, ..setup.clone() };
    let (own, off) = (lines_of(rows, lios, "idle"), lines_of(rows, "off", "idle"));
    if lios == "off" || own.is_empty() || off.is_empty() {
        return Ok(1.0);
    }
    Ok(drift(&searches(&own, costs, &setup)?, &searches(&off, costs, &setup)?))
}

/// Medians of a way over rounds.
fn measured(rows: &[LiveRow], phase: &str, lios: &str) -> Option<Measured> {
    let (own, off) = (lines_of(rows, lios, phase), lines_of(rows, "off", phase));
    let seconds = |rows: &[&LiveRow]| middle(rows, |row| Some(row.phase_seconds));
    let latency = |rows: &[&LiveRow]| middle(rows, |row| row.searches.latency.mean);
    Some(Measured {
        speedup: seconds(&off)? / seconds(&own)?,
        mean: latency(&own)? / latency(&off)? - 1.0,
        latency_us_mean: latency(&own)?,
        latency_us_p99: middle(&own, |row| row.searches.latency.p99)?,
        seconds: seconds(&own)?,
    })
}

/// The way of using stalls that a line says it was measured with.
fn arm_of(row: &LiveRow) -> Result<Arm> {
    let Some(theta) = row.setup.theta else { return Ok(Arm::OFF) };
    let budget = row.setup.budget.as_deref().unwrap_or("bounded").parse()?;
    let tuner = row.setup.tuner.as_deref().unwrap_or("mean");
    let share = match tuner.parse() {
        Ok(share) => Share::Fixed(share),
        Err(_) => Share::Tuned(tuner.parse()?),
    };
    Ok(Arm { budget, share, prefetch: row.setup.prefetch.unwrap_or(true), ..Arm::new(theta) })
}

/// What was derived of searches and the device.
fn say(costs: &Costs, setup: &Setup) {
    let Some(degree) = costs.degree.get(&setup.degree) else { return };
    let search = setup.traversal.costs(degree);
    let update = if setup.deletes > 0 { &degree.delete } else { &degree.insert };
    println!(
        "derived: {:.0} µs of a core and {:.1} reads a search; a read takes {:.0} µs alone, the device completes {:.0} a second; {:.0} µs \
         of processor time a vector, and {:.0} µs in which nothing else goes on",
        search.mean_us(),
        search.mean_reads(),
        costs.device.mean_us(1.0),
        costs.device.iops,
        update.cpu_us.mean(),
        update.serial_us
    );
}
