//! The gleann command line. Verbs parse and check their arguments here and nowhere below.

mod peers;
mod plot;
mod row;
mod run_bench;
mod sweep;

use clap::Parser;
use std::process::ExitCode;

/// Approximate nearest-neighbour search on a graph that lives on SSD: builds, workloads, comparisons and plots.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Measure an index, an experiment file, or the peers
    RunBench(Box<run_bench::RunBenchArgs>),
    /// Draw results: recall against throughput, latency and reads
    Plot(plot::PlotArgs),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::RunBench(args) => run_bench::run(*args),
        Verb::Plot(args) => plot::run(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
