//! Runs the cases of an experiment. What has been measured is kept beside the indexes, and not measured again.

use super::case::{Arm, Case, Ground, Way};
use super::line::{Line, Outcome, Round};
use super::study::{Place, Study};
use crate::live::{FoundTruth, LiveRow};
use crate::preset::{Recipe, Workshop};
use crate::reproduce::{Set, Store};
use crate::simulate::{self, costs_named, derived_costs};
use crate::updates;
use anyhow::{Context, Result};
use gleann_sim::Report;
use rayon::prelude::*;

/// Phases of a run, in their order.
const PHASES: [&str; 3] = ["idle", "delete", "insert"];

/// Where and how much is measured.
pub struct Runs<'a> {
    /// The vectors.
    pub set: &'a Set,
    /// Rows of the base in the index.
    pub rows: u64,
    /// Rounds.
    pub rounds: u32,
    /// Flags for the amounts of updates, and how they are measured.
    pub amounts: String,
    /// Where indexes are, or are built.
    pub shop: Workshop,
    /// What was measured.
    pub store: Store<Vec<LiveRow>>,
    /// The exact neighbours in the index as it is in the beginning, once they are found.
    pub truth: Option<FoundTruth>,
}

impl Runs<'_> {
    /// Runs all cases: measured ones arm by arm in alternating rounds, then simulated ones, which take no time of their own, on
    /// all cores. Lines are in the order of the cases.
    ///
    /// # Errors
    /// An index cannot be built, or a run fails.
    pub fn study(&mut self, study: &Study) -> Result<Vec<Line>> {
        let (measured, others): (Vec<&Case>, Vec<&Case>) =
            study.cases.iter().partition(|case| case.is_measured());
        let mut lines: Vec<Line> = Vec::new();
        for case in measured {
            lines.extend(self.measured(case).with_context(|| format!("case `{}`", case.name))?);
        }
        let simulated = others
            .par_iter()
            .map(|case| simulated(case, &lines).with_context(|| format!("case `{}`", case.name)));
        let simulated: Vec<Vec<Line>> = simulated.collect::<Result<_>>()?;
        lines.extend(simulated.into_iter().flatten());
        let place = |line: &Line| study.cases.iter().position(|case| case.name == line.place.case);
        lines.sort_by_key(place);
        Ok(lines)
    }

    fn measured(&mut self, case: &Case) -> Result<Vec<Line>> {
        for round in 1..=self.rounds {
            for arm in &case.arms {
                self.measure_arm(case, arm, round)?;
            }
        }
        let first = self.store.rounds(&self.key(case, &case.arms[0]), self.rounds);
        let mut lines = Vec::new();
        for arm in &case.arms {
            let own = self.store.rounds(&self.key(case, arm), self.rounds);
            for phase in PHASES {
                let of = |(own, first): (&Vec<LiveRow>, &Vec<LiveRow>)| {
                    Round::of_phase(own, first, phase, |row| &row.phase)
                };
                let rounds: Vec<Round<LiveRow>> = own.iter().zip(&first).filter_map(of).collect();
                if !rounds.is_empty() {
                    lines.push(Line { place: place(case, arm, phase), outcome: Outcome::Measured(rounds) });
                }
            }
        }
        Ok(lines)
    }

    fn measure_arm(&mut self, case: &Case, arm: &Arm, round: u32) -> Result<()> {
        let key = self.key(case, arm);
        if self.store.has(&key, round) {
            return Ok(());
        }
        let recipe = Recipe { degree: case.degree().unwrap_or_default(), ..Recipe::default() };
        let index = self.shop.index(&recipe)?;
        println!("\nround {round}: {}, {}", case.name, arm.name);
        let ground =
            Ground { index: &index, base: &self.set.base, query: &self.set.query, amounts: &self.amounts };
        let (rows, truth) = updates::measure_arm(&case.updates(arm, &ground)?, self.truth.take())?;
        self.truth = Some(truth);
        self.store.add(&key, round, &rows)
    }

    /// All that the figures depend on.
    fn key(&self, case: &Case, arm: &Arm) -> String {
        format!(
            "{}-{}, R {}, {} {} {}",
            self.set.name,
            self.rows,
            case.degree().unwrap_or_default(),
            case.flags,
            self.amounts,
            arm.flags
        )
    }
}

fn place(case: &Case, arm: &Arm, phase: &str) -> Place {
    Place { case: case.name.clone(), arm: arm.name.clone(), phase: phase.to_owned() }
}

/// Simulates a case, with costs of a measured one among `lines` where it says so.
fn simulated(case: &Case, lines: &[Line]) -> Result<Vec<Line>> {
    let Way::Simulated { costs, derived_from, device } = &case.way else { return Ok(Vec::new()) };
    let mut costs = costs_named(costs.as_deref())?;
    if let Some(source) = derived_from {
        let rows = first_arm(lines, source);
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        costs = derived_costs(&rows, &costs)?;
    }
    if let Some(name) = device {
        let other = costs_named(Some(name))?;
        (costs.device, costs.processor) = (other.device, other.processor);
    }
    let reports = case.arms.par_iter().enumerate().map(|(at, arm)| {
        // The first arm is without LIOS.
        simulate::reports(&case.simulation(arm)?, &costs, at == 0)
    });
    let reports: Vec<Vec<Report>> = reports.collect::<Result<_>>()?;
    let mut all = Vec::new();
    for (arm, own) in case.arms.iter().zip(&reports) {
        for phase in PHASES {
            let round = Round::of_phase(own, &reports[0], phase, |report| &report.phase);
            all.extend(round.map(|round| Line {
                place: place(case, arm, phase),
                outcome: Outcome::Simulated(Box::new(round)),
            }));
        }
    }
    Ok(all)
}

/// The measured lines of the first arm of a case, all phases and rounds.
fn first_arm(lines: &[Line], case: &str) -> Vec<LiveRow> {
    let of_case = |line: &&Line| line.place.case == case;
    let Some(first) = lines.iter().find(of_case) else { return Vec::new() };
    let own = lines.iter().filter(|line| of_case(line) && line.place.arm == first.place.arm);
    let rows = own.filter_map(|line| match &line.outcome {
        Outcome::Measured(rounds) => Some(rounds.iter().map(|round| round.own.clone())),
        Outcome::Simulated(_) => None,
    });
    rows.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::co_execution::{figures, report};

    #[test]
    fn simulated_cases_are_held_against_the_first_arm_told_and_drawn() {
        let text = r#"
id = "lios-x"
title = "X"
about = "An example."
measures = ["speedup", "mean"]
[[case]]
name = "two"
simulated = "--threads 2/1 --vectors 300 --idle-seconds 0.2"
[[case.arm]]
name = "off"
flags = ""
[[case.arm]]
name = "all of it"
flags = "--theta 5% --utilisation 1"
[[paper]]
case = "two"
arm = "all of it"
phase = "insert"
values = { speedup = 2.0 }
[[claim]]
says = "updates are faster"
place = { case = "two", arm = "all of it", phase = "insert" }
measure = "speedup"
holds = [1.01, 1e9]
partly = [0.5, 1e9]
[[figure]]
kind = "bars"
measure = "speedup"
"#;
        let study = Study::parse("x.toml", text).unwrap();
        let lines = simulated(&study.cases[0], &[]).unwrap();
        let phases: Vec<&str> = lines.iter().map(|line| line.place.phase.as_str()).collect();
        assert_eq!(phases, ["idle", "delete", "insert", "idle", "delete", "insert"]);
        let text = report::markdown(&study, &lines, "nowhere");
        assert!(text.contains("| two | off | insert | simulated | 1.00 × | +0.0 % |"), "{text}");
        assert!(text.contains("(paper 2.00 ×)") && text.contains("**holds**"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let drawn = figures::draw(&study, &lines, folder.path()).unwrap();
        assert_eq!(drawn.len(), 2, "a picture for each phase with updates");
        assert!(std::fs::read_to_string(&drawn[0]).unwrap().contains("all of it"));
    }
}
