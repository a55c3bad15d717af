//! The gleann command line. Verbs parse and check their arguments here and nowhere below.

mod advise;
mod build_index;
mod build_spann;
mod check_index;
mod churn;
mod co_execution;
mod convert;
mod create_index;
mod dataset;
mod demo;
mod export_csv;
mod export_diskann;
mod given_graph;
mod ground_truth;
mod key_list;
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
mod simulate;
mod sweep;
mod synthetic;
mod update_index;
mod updates;

use clap::Parser;
use std::ffi::{OsStr, OsString};
use std::path::Path;
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
    /// Make an empty live index
    CreateIndex(create_index::CreateArgs),
    /// Insert, replace and delete vectors of a live index; make an index live; settle, compact or copy one
    Update(update_index::UpdateArgs),
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
    /// Measure an index, presets, an experiment file, a runbook, updates, the peers, or the design-space study
    RunBench(Box<run_bench::RunBenchArgs>),
    /// Draw results: recall against throughput, latency and reads
    Plot(plot::PlotArgs),
}

/// Arguments in which `run-bench RUNBOOK.yaml …` names its target: a runbook has other flags than an experiment.
fn with_target(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_runbook = |argument: &OsString| {
        let ending = Path::new(argument).extension().and_then(OsStr::to_str);
        ending.is_some_and(|ending| matches!(ending, "yaml" | "yml"))
    };
    let runs = arguments.get(1).is_some_and(|verb| verb == "run-bench");
    if runs && arguments.get(2).is_some_and(is_runbook) {
        arguments.insert(2, "runbook".into());
    }
    arguments
}

fn main() -> ExitCode {
    // Whoever reads only the first lines ends this, as other tools are ended, and does not make it fail.
    // SAFETY: nothing else has set what this signal does, and no thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let outcome = match Cli::parse_from(with_target(std::env::args_os().collect())).verb {
        Verb::Advise(args) => advise::run(args),
        Verb::BuildIndex(args) => build_index::run_build(*args),
        Verb::CreateIndex(args) => create_index::run(args),
        Verb::Update(args) => update_index::run(args),
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
            eprintln!("error: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, each said once: many name theirs themselves.
fn told(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        use anyhow::Context;
        let io = || std::io::Error::other("no such thing");
        let outer = |message: String| Err::<(), _>(io()).context(message).unwrap_err();
        assert_eq!(told(&outer("opening x".into())), "opening x: no such thing");
        assert_eq!(told(&outer(format!("opening x: {}", io()))), "opening x: no such thing");
    }

    #[test]
    fn a_runbook_needs_no_word_before_it() {
        let of = |line: &str| {
            let given = with_target(line.split(' ').map(OsString::from).collect());
            given.join(OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(of("x run-bench a/final.yaml --k 5"), "x run-bench runbook a/final.yaml --k 5");
        for same in [
            "x run-bench runbook a.yaml",
            "x run-bench e.toml --out r.yaml",
            "x plot a.yaml",
            "x run-bench",
            "x",
        ] {
            assert_eq!(of(same), same);
        }
        let cli = Cli::try_parse_from(with_target(
            ["x", "run-bench", "r.yml", "--backend", "odin", "--list", "50", "--dry-run"]
                .map(OsString::from)
                .into(),
        ));
        assert!(matches!(cli.unwrap().verb, Verb::RunBench(_)));
    }

    #[test]
    fn the_arguments_of_every_verb_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
