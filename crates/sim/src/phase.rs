//! A run: some time without updates, deletes, inserts, with a report of each.

use crate::costs::{Costs, UpdateCosts};
use crate::report::{Report, state_seconds};
use crate::setup::{BadSetup, Setup};
use crate::world::World;
use gleann_lios::CoreTotals;
use std::collections::BTreeMap;

/// Simulates a run. A phase of nothing is left out.
///
/// # Errors
/// Setup or costs make no sense.
pub fn simulate(setup: &Setup, costs: &Costs) -> Result<Vec<Report>, BadSetup> {
    let degree = setup.costs(costs)?;
    let mut run = Run { world: World::new(setup, costs, degree)?, setup };
    let mut reports = Vec::new();
    if setup.idle_seconds > 0.0 {
        reports.push(run.phase("idle", None));
    }
    for (name, costs, vectors) in
        [("delete", &degree.delete, setup.deletes), ("insert", &degree.insert, setup.inserts)]
    {
        if vectors > 0 {
            reports.push(run.phase(name, Some((costs, vectors))));
        }
    }
    Ok(reports)
}

struct Run<'c, 's> {
    world: World<'c>,
    setup: &'s Setup,
}

/// Where the counters stood when a phase began.
struct Before {
    now_ns: u64,
    idle_ns: u64,
    operations: u64,
    totals: CoreTotals,
    states: BTreeMap<String, f64>,
}

impl Run<'_, '_> {
    fn phase(&mut self, name: &str, updates: Option<(&UpdateCosts, u64)>) -> Report {
        let before = self.before();
        let seconds = if updates.is_some() { self.setup.longest_seconds } else { self.setup.idle_seconds };
        if let Some((costs, vectors)) = updates {
            self.world.give(costs, vectors, self.setup);
        }
        self.world.run(before.now_ns + (1e9 * seconds) as u64, updates.is_some());
        let mut report = self.report(&before);
        report.phase = name.to_owned();
        if updates.is_some() {
            report.vectors = self.world.shared.done();
            report.vectors_per_second = report.vectors as f64 / report.seconds.max(1e-9);
            report.cut_short = self.world.shared.end_ns().is_none_or(|end_ns| end_ns > self.world.now_ns);
        }
        report
    }

    fn before(&self) -> Before {
        let lios = self.world.lios.as_ref();
        Before {
            now_ns: self.world.now_ns,
            idle_ns: self.world.idle_ns(),
            operations: self.world.device.operations(),
            totals: lios.map(|lios| lios.totals()).unwrap_or_default(),
            states: lios.map(|lios| state_seconds(lios.tuner(), &BTreeMap::new())).unwrap_or_default(),
        }
    }

    fn report(&mut self, before: &Before) -> Report {
        let (world, setup) = (&mut self.world, self.setup);
        let counted = std::mem::take(&mut world.counted);
        let phase_ns = ((world.now_ns - before.now_ns) as f64).max(1.0);
        let mut report = Report { seconds: phase_ns / 1e9, ..Report::default() };
        report.put_latencies(&mut { counted.latencies_ns });
        report.device_iops = (world.device.operations() - before.operations) as f64 / report.seconds;
        report.idle_ratio =
            (world.idle_ns() - before.idle_ns) as f64 / phase_ns / f64::from(setup.search_threads);
        if let Some(lios) = &world.lios {
            report.put_totals(&before.totals, &lios.totals(), setup.arm.theta.unwrap_or(0.0));
            report.put_trace(lios.tuner(), before.now_ns);
            report.tuner_state_seconds = state_seconds(lios.tuner(), &before.states);
            report.utilisation_mean = counted.utilisation_ns / phase_ns;
        }
        report
    }
}
