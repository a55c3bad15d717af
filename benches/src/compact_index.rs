//! `compact`: a live index without dead places, its vectors in good order again.

use crate::update_index::{live_stats, open_live, print_stats};
use anyhow::Result;
use gleann::bytes;
use std::path::PathBuf;

/// Take deleted vectors and free places out of a live index, and pack its pages anew.
#[derive(Debug, clap::Args)]
pub struct CompactArgs {
    /// Index folder
    dir: PathBuf,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// Runs the verb.
///
/// # Errors
/// The index cannot be opened or written anew.
pub fn run(args: CompactArgs) -> Result<()> {
    let index = open_live(&args.dir)?;
    let before = live_stats(&index, &args.dir)?;
    index.compact()?;
    let after = live_stats(&index, &args.dir)?;
    if !args.quiet {
        let size = |stats: &gleann::LiveStats| bytes(stats.index_bytes + stats.log_bytes);
        println!(
            "{} before, {} now; overlap {:.3} before",
            size(&before),
            size(&after),
            before.overlap_ratio
        );
        print_stats(&after);
    }
    Ok(())
}
