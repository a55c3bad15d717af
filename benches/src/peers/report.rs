//! What the comparison prints.

use super::matched::{Matched, at_recall};
use super::rounds::{Results, Standing};
use crate::plot::{Better, front};
use crate::row::Row;
use crate::run_bench::{load_average, optional};
use serde_json::Value;

const TARGETS: [f64; 3] = [0.90, 0.95, 0.99];

/// A measure that is compared at matched recall.
struct Measure {
    name: &'static str,
    unit: &'static str,
    better: Better,
    alone: bool,
    value: fn(&Row) -> Option<f64>,
}

const MEASURES: [Measure; 4] = [
    Measure {
        name: "throughput",
        unit: "queries/s",
        better: Better::Higher,
        alone: false,
        value: |row| Some(row.qps),
    },
    Measure {
        name: "processor time",
        unit: "µs/query",
        better: Better::Lower,
        alone: false,
        value: |row| row.cost.cpu_us_per_query,
    },
    Measure {
        name: "reads",
        unit: "reads/query",
        better: Better::Lower,
        alone: false,
        value: |row| row.cost.reads_per_query,
    },
    Measure {
        name: "mean latency, one query at a time",
        unit: "µs",
        better: Better::Lower,
        alone: true,
        value: |row| row.latency.mean,
    },
];

/// Says how busy the machine is before anything is measured.
pub fn print_load() {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    match load_average() {
        Some(load) if load > 0.25 * cores as f64 => {
            println!(
                "load average {load:.2} on {cores} cores: the machine is busy, the figures will be too low"
            );
        }
        Some(load) => println!("load average {load:.2} on {cores} cores"),
        None => println!("load average unknown, {cores} cores"),
    }
}

/// What a build record says, for one line.
pub fn build_line(built: &Value) -> String {
    // gleann's record and those of the peers' drivers use names of their own.
    let number = |keys: [&str; 2]| keys.iter().find_map(|key| built.get(key)?.as_f64());
    let cpu = number(["cpu_seconds", "build_cpu_seconds"]);
    let wall = number(["seconds", "build_seconds"]);
    match (cpu, wall, number(["peak_rss_bytes", "build_peak_bytes"])) {
        (Some(cpu), Some(wall), Some(peak)) => {
            format!(" (built in {wall:.0} s, {cpu:.0} CPU s, peak {:.0} MiB)", peak / f64::from(1 << 20))
        }
        _ => String::new(),
    }
}

/// Prints every system's rows, then the ratios at matched recall.
pub fn print(results: &Results) {
    for standing in &results.standings {
        println!("\n{} (best concurrency {})", standing.name, standing.concurrency);
        println!(
            "{:>5} {:>8} {:>9} {:>9} {:>8} {:>10} {:>10}",
            "L", "recall", "queries/s", "CPU µs", "reads", "alone ms", "p99 ms"
        );
        for (loaded, alone) in standing.loaded.iter().zip(&standing.alone) {
            println!(
                "{:>5} {:>8.4} {:>9.0} {:>9} {:>8} {:>10} {:>10}",
                loaded.list,
                loaded.recall,
                loaded.qps,
                optional(loaded.cost.cpu_us_per_query, 0),
                optional(loaded.cost.reads_per_query, 1),
                optional(alone.latency.mean.map(|us| us / 1e3), 3),
                optional(alone.latency.p99.map(|us| us / 1e3), 3),
            );
        }
    }
    let (ours, theirs): (Vec<_>, Vec<_>) = results.standings.iter().partition(|standing| standing.is_gleann);
    for own in ours {
        for peer in &theirs {
            print_ratios(own, peer);
        }
    }
}

fn print_ratios(own: &Standing, peer: &Standing) {
    println!("\n{} ÷ {} at matched recall", own.name, peer.name);
    for measure in &MEASURES {
        let cells: Vec<String> = TARGETS.iter().map(|&target| ratio(own, peer, measure, target)).collect();
        if cells.iter().any(|cell| !cell.ends_with('–')) {
            println!("  {:<34} {}", measure.name, cells.join("   "));
        }
    }
    println!(
        "  (~: a system was not measured at so low a recall; its cheapest point stands in, which has more)"
    );
}

fn ratio(own: &Standing, peer: &Standing, measure: &Measure, target: f64) -> String {
    let (Some(mine), Some(other)) = (value_at(own, measure, target), value_at(peer, measure, target)) else {
        return format!("{target:.2}: –");
    };
    let mark = if mine.bound || other.bound { "~" } else { "" };
    let (ratio, unit) = (mine.value / other.value, measure.unit);
    format!("{target:.2}: {mark}{ratio:.2} ({:.0} : {:.0} {unit})", mine.value, other.value)
}

fn value_at(standing: &Standing, measure: &Measure, target: f64) -> Option<Matched> {
    let rows = if measure.alone { &standing.alone } else { &standing.loaded };
    let points: Vec<(f64, f64)> = front(rows, measure.value, measure.better)
        .into_iter()
        .map(|(row, value)| (row.recall, value))
        .collect();
    at_recall(&points, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(name: &str, speed: f64) -> Standing {
        let rows: Vec<Row> = [(0.85, 4.0), (0.93, 2.0), (0.97, 1.0)]
            .into_iter()
            .map(|(recall, part)| Row { recall, qps: speed * part, ..Row::default() })
            .collect();
        let is_gleann = name == "gleann";
        Standing { name: name.into(), is_gleann, concurrency: 1, loaded: rows.clone(), alone: rows }
    }

    #[test]
    fn builds_are_told_in_one_line() {
        let ours = serde_json::json!({"cpu_seconds": 9.6, "seconds": 5.2, "peak_rss_bytes": 2 << 20});
        assert_eq!(build_line(&ours), " (built in 5 s, 10 CPU s, peak 2 MiB)");
        let theirs = serde_json::json!({"build_cpu_seconds": 3, "build_seconds": 2, "build_peak_bytes": 0});
        assert_eq!(build_line(&theirs), " (built in 2 s, 3 CPU s, peak 0 MiB)");
        assert_eq!(build_line(&Value::Null), "");
    }

    #[test]
    fn ratios_are_taken_at_the_same_recall() {
        let (own, peer) = (standing("gleann", 300.0), standing("peer", 100.0));
        assert!(ratio(&own, &peer, &MEASURES[0], 0.95).starts_with("0.95: 3.00 ("));
        assert_eq!(ratio(&own, &peer, &MEASURES[0], 0.99), "0.99: –");
        assert!(ratio(&own, &peer, &MEASURES[0], 0.5).starts_with("0.50: ~3.00"));
        // Nobody reported reads.
        assert_eq!(ratio(&own, &peer, &MEASURES[2], 0.95), "0.95: –");
    }
}
