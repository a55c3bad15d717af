//! The gleann command line. Verbs parse and check their arguments here and nowhere below.

mod advise;
mod build_index;
mod build_spann;
mod check_index;
mod churn;
mod convert;
mod dataset;
mod demo;
mod export_csv;
mod export_diskann;
mod given_graph;
mod ground_truth;
mod live;
mod mem_graph_args;
mod peers;
mod plot;
mod preset;
mod progress;
mod reproduce;
mod row;
mod run_bench;
mod runbook;
mod sweep;
mod synthetic;
mod updates;

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
    /// Build an index over the samples in the repository, search it, show a table and a plot
    Demo(demo::DemoArgs),
    /// Build a disk index over a vector file
    BuildIndex(Box<build_index::BuildArgs>),
    /// Verify everything in an index that can be verified
    CheckIndex(check_index::CheckArgs),
    /// Convert data sets of other benchmarks, and vector files into other forms
    Convert(convert::ConvertArgs),
    /// Write results as CSV with the columns of big-ann-benchmarks
    ExportCsv(export_csv::CsvArgs),
    /// Write an index as a DiskANN disk index
    ExportDiskann(export_diskann::ExportArgs),
    /// List, fetch or verify data sets
    Dataset(dataset::DatasetArgs),
    /// Make a synthetic data set of any size
    Generate(synthetic::GenerateArgs),
    /// Find the exact neighbours of queries
    GroundTruth(ground_truth::TruthArgs),
    /// Say which preset and parameters suit vectors, memory, load and recall
    Advise(advise::AdviseArgs),
    /// Measure an index, presets, an experiment file, the peers, or the design-space study
    RunBench(Box<run_bench::RunBenchArgs>),
    /// Draw results: recall against throughput, latency and reads
    Plot(plot::PlotArgs),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Advise(args) => advise::run(args),
        Verb::BuildIndex(args) => build_index::run_build(*args),
        Verb::CheckIndex(args) => check_index::run_check(args),
        Verb::Dataset(args) => dataset::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::ExportCsv(args) => export_csv::run(args),
        Verb::ExportDiskann(args) => export_diskann::run(args),
        Verb::Demo(args) => demo::run(args),
        Verb::GroundTruth(args) => ground_truth::run(args),
        Verb::Generate(args) => synthetic::run_generate(args),
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
