//! `check-index`: everything in an index that can be verified, and what is wrong with it.

use crate::progress::Console;
use anyhow::{Result, bail};
use clap::Args;
use gleann::{IndexCheck, IndexKind, LiveCheck};
use std::path::PathBuf;

/// Verify everything in an index that can be verified.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The index directory
    dir: PathBuf,
    /// Print nothing but problems
    #[arg(long)]
    quiet: bool,
}

/// Runs the verb; an index with problems is an error.
pub fn run_check(args: CheckArgs) -> Result<()> {
    let progress = Console::start(args.quiet);
    let checked = gleann::check_index(&args.dir, &progress);
    progress.end();
    let check = checked?;
    for problem in &check.problems {
        println!("{problem}");
    }
    if !check.is_sound() {
        let listed = check.problems.len() as u64;
        if check.problem_count > listed {
            println!("… and {} more", check.problem_count - listed);
        }
        bail!(
            "{}: {} problems; build the index again, or copy it again",
            args.dir.display(),
            check.problem_count
        );
    }
    if !args.quiet {
        print_sound(&check, &args);
    }
    Ok(())
}

/// What only a live index has.
fn print_live(check: &IndexCheck, live: &LiveCheck) {
    let reachable = check.reachable.unwrap_or(0);
    let backend = live.backend.map(|backend| backend.to_string()).unwrap_or_default();
    let overlap = live.overlap_ratio().map_or("none".to_owned(), |ratio| format!("{:.1} %", 100.0 * ratio));
    println!(
        "{} live nodes, {} deleted ones, {} free places ({backend}); overlap {overlap}",
        live.live, live.dead, live.free
    );
    println!(
        "{} operations in the log ({} bytes) are done again when it is opened",
        live.operations, live.log_bytes
    );
    if reachable < live.live {
        println!(
            "{} live nodes cannot be reached from the entry point; compact the index",
            live.live - reachable
        );
    }
}

fn print_sound(check: &IndexCheck, args: &CheckArgs) {
    let edges: u64 = check.degrees.iter().zip(0u64..).map(|(count, degree)| count * degree).sum();
    println!("{}: sound (build {})", args.dir.display(), check.build_id);
    if let IndexKind::Postings { postings, .. } = check.kind {
        println!(
            "{} vectors in {postings} postings, {:.2} copies on average, {} centroids reachable",
            check.rows,
            check.records as f64 / check.rows.max(1) as f64,
            check.reachable.unwrap_or(0)
        );
        return;
    }
    println!(
        "{} records, {:.1} neighbours on average, {} reachable, {} codes compared with their vectors",
        check.records,
        edges as f64 / check.rows.max(1) as f64,
        check.reachable.unwrap_or(0),
        check.codes_compared
    );
    if let Some(live) = &check.live {
        print_live(check, live);
    }
}
