//! `export-diskann`: an index as the files that DiskANN and its relatives open.

use crate::progress::Console;
use anyhow::Result;
use clap::Args;
use gleann::{ExportOptions, export_diskann};
use std::path::PathBuf;

/// Write an index as a DiskANN disk index.
///
/// Makes PREFIX_disk.index, PREFIX_pq_pivots.bin and PREFIX_pq_compressed.bin. Rows are in the order of keys, so that
/// results have the same ids where keys are row numbers.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The index directory
    dir: PathBuf,
    /// What the names of the files begin with, such as out/ann
    prefix: PathBuf,
    /// Threads; 0: all that this process may run on. They do not change the files
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Replace files of the same names
    #[arg(long)]
    overwrite: bool,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// Runs the verb.
pub fn run(args: ExportArgs) -> Result<()> {
    let options = ExportOptions { threads: args.threads, overwrite: args.overwrite };
    let progress = Console::start(args.quiet);
    let exported = export_diskann(&args.dir, &args.prefix, &options, &progress);
    progress.end();
    let report = exported?;
    if args.quiet {
        return Ok(());
    }
    println!(
        "{} vectors of {} × {}; search with metric {}",
        report.rows, report.dim, report.element, report.metric
    );
    report.files.iter().for_each(|file| println!("{}", file.display()));
    report.notes.iter().for_each(|note| println!("note: {note}"));
    Ok(())
}
