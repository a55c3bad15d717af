//! Finding each system's best concurrency, then alternating rounds, so that a slow minute of the machine hits all.

use super::command::PeersArgs;
use super::contender::{Contender, Plan, Workload};
use crate::row::{Row, median_row};
use anyhow::Result;
use std::collections::BTreeMap;

/// What one system reached.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Its name in tables.
    pub name: String,
    /// Whether it is gleann.
    pub is_gleann: bool,
    /// The concurrency it did best with.
    pub concurrency: u32,
    /// At that concurrency, a row a list length; medians.
    pub loaded: Vec<Row>,
    /// One query at a time, a row a list length; medians.
    pub alone: Vec<Row>,
}

/// Everything that was measured.
#[derive(Debug, Clone)]
pub struct Results {
    /// One entry a system, gleann first.
    pub standings: Vec<Standing>,
}

impl Results {
    /// All rows, for a results file.
    pub fn all_rows(&self) -> Vec<Row> {
        self.standings
            .iter()
            .flat_map(|standing| standing.loaded.iter().chain(&standing.alone))
            .cloned()
            .collect()
    }
}

/// Measures all contenders.
///
/// # Errors
/// A system fails.
pub fn alternate(contenders: &[Contender], workload: &Workload, args: &PeersArgs) -> Result<Results> {
    let mut best = Vec::new();
    for contender in contenders {
        best.push(best_concurrency(contender, workload, args)?);
    }
    let mut measured: BTreeMap<(usize, bool), Vec<Vec<Row>>> = BTreeMap::new();
    for round in 0..args.rounds as usize {
        println!("round {} of {}", round + 1, args.rounds);
        for turn in 0..contenders.len() {
            let who = (turn + round) % contenders.len();
            for one_at_a_time in [false, true] {
                let plan = Plan { lists: args.list.clone(), concurrency: best[who], one_at_a_time };
                measured
                    .entry((who, one_at_a_time))
                    .or_default()
                    .push(contenders[who].search(workload, &plan)?);
            }
        }
    }
    let standings = contenders.iter().enumerate().map(|(who, contender)| Standing {
        name: contender.name.clone(),
        is_gleann: contender.is_gleann(),
        concurrency: best[who],
        loaded: medians(&measured[&(who, false)]),
        alone: medians(&measured[&(who, true)]),
    });
    Ok(Results { standings: standings.collect() })
}

/// Tries every concurrency once, at the middle list length.
fn best_concurrency(contender: &Contender, workload: &Workload, args: &PeersArgs) -> Result<u32> {
    let middle = args.list[args.list.len() / 2];
    let mut tried = Vec::new();
    for &concurrency in &args.concurrency {
        let plan = Plan { lists: vec![middle], concurrency, one_at_a_time: false };
        let rows = contender.search(workload, &plan)?;
        tried.push((concurrency, rows[0].qps));
    }
    let best = tried.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |best| best.0);
    let listed: Vec<String> = tried.iter().map(|(n, qps)| format!("{n}: {qps:.0}")).collect();
    let unit = if contender.is_gleann() { "searches in flight a core" } else { "threads" };
    println!(
        "{}: queries a second at L = {middle} by {unit}: {} → {best}",
        contender.name,
        listed.join(", ")
    );
    Ok(best)
}

fn medians(rounds: &[Vec<Row>]) -> Vec<Row> {
    let lists = rounds.first().map_or(0, Vec::len);
    (0..lists)
        .filter_map(|at| median_row(&rounds.iter().map(|round| round[at].clone()).collect::<Vec<_>>()))
        .collect()
}
