//! The gleann command line.

mod build_index;
mod check_index;
mod progress;

use clap::Parser;
use std::process::ExitCode;

/// Approximate nearest-neighbour search on a graph that lives on SSD.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Build a disk index over a vector file
    BuildIndex(Box<build_index::BuildArgs>),
    /// Verify everything in an index that can be verified
    CheckIndex(check_index::CheckArgs),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::BuildIndex(args) => build_index::run_build(*args),
        Verb::CheckIndex(args) => check_index::run_check(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
