//! Arguments of the comparison, and its course: load, environment, builds, thread counts, rounds, ratios.

use super::contender::{Contender, Workload};
use super::{interop, python, report, rounds};
use crate::row::append_rows;
use anyhow::{Context, Result, ensure};
use gleann::{SearchKind, Width};
use std::path::PathBuf;

/// Arguments of `run-bench peers`.
#[derive(Debug, Clone, clap::Args)]
pub struct PeersArgs {
    /// Vectors all systems are built over: .fbin, .u8bin or .i8bin, squared L2
    #[arg(long)]
    pub base: PathBuf,
    /// Query vectors
    #[arg(long)]
    pub query: PathBuf,
    /// Exact neighbours with distances, as `ground-truth` writes them
    #[arg(long)]
    pub truth: PathBuf,
    /// gleann's index over the same vectors; built in the work folder if not given
    #[arg(long)]
    pub index: Option<PathBuf>,
    /// Folder for the Python environment, the peers' indexes and intermediate results
    #[arg(long, default_value = "results/peers")]
    pub work: PathBuf,
    /// Peers to run: diskannpy (on disk), hnswlib and faiss (in memory)
    #[arg(long, value_delimiter = ',', default_values = ["diskannpy", "hnswlib", "faiss"])]
    pub peers: Vec<String>,
    /// Instead of a comparison: import diskannpy's index, export it (and --index), search all of them with both, and
    /// see to it that recall and reads agree
    #[arg(long, conflicts_with = "peers_only")]
    pub interop: bool,
    /// Leave gleann out
    #[arg(long)]
    pub peers_only: bool,
    /// Neighbours asked for
    #[arg(long, default_value_t = 10)]
    pub k: u32,
    /// Candidate list lengths
    #[arg(long, value_delimiter = ',', default_values_t = [10, 15, 20, 30, 40, 60, 80, 120, 160])]
    pub list: Vec<u32>,
    /// gleann's traversals; each is a system of its own in the comparison
    #[arg(long, value_delimiter = ',', default_values_t = [SearchKind::Beam, SearchKind::Pipe])]
    pub search: Vec<SearchKind>,
    /// Reads in flight of one search, for gleann and for diskannpy's beam (the number, or the start of `dynamic`)
    #[arg(long, default_value_t = Width::Fixed(4))]
    pub width: Width,
    /// Threads (peers) or searches in flight a core (gleann) to try; the best of each system is used
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32])]
    pub concurrency: Vec<u32>,
    /// Graph degree, R
    #[arg(long, default_value_t = 64)]
    pub degree: u32,
    /// Candidate list length of the build
    #[arg(long, default_value_t = 100)]
    pub build_list: u32,
    /// Bytes of a code
    #[arg(long, default_value_t = 32)]
    pub pq_bytes: u32,
    /// Rounds; medians are reported
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    /// Python interpreter that already has the packages; otherwise an environment is made in the work folder
    #[arg(long)]
    pub python: Option<PathBuf>,
    /// File that the result lines are appended to
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// Runs the comparison and prints it.
///
/// # Errors
/// Arguments do not fit, the environment cannot be made, or a system fails.
pub fn run(args: PeersArgs) -> Result<()> {
    check(&args)?;
    report::print_load();
    std::fs::create_dir_all(&args.work)
        .with_context(|| format!("cannot make folder {}", args.work.display()))?;
    let work =
        args.work.canonicalize().with_context(|| format!("cannot use folder {}", args.work.display()))?;
    let python = python::ready(&work, args.python.as_deref())?;
    let drivers = python::install_drivers(&work)?;
    if args.interop {
        let diskannpy = Contender::peer("diskannpy", &python, &drivers, &work)?;
        return interop::run(&diskannpy, &Workload::new(&args, work.clone()), &args, &work);
    }
    let mut contenders = Vec::new();
    for &search in args.search.iter().filter(|_| !args.peers_only) {
        contenders.push(Contender::gleann(&work, args.index.clone(), search));
    }
    for peer in &args.peers {
        contenders.push(Contender::peer(peer, &python, &drivers, &work)?);
    }
    let workload = Workload::new(&args, work);
    for contender in &contenders {
        println!("{}: building its index unless it is there …", contender.name);
        let built = contender.build(&workload)?;
        println!("{}: index ready{}", contender.name, report::build_line(&built));
    }
    let results = rounds::alternate(&contenders, &workload, &args)?;
    report::print(&results);
    if let Some(out) = &args.out {
        append_rows(out, &results.all_rows())?;
        println!("\nresult lines are in {}; `plot` draws them", out.display());
    }
    Ok(())
}

fn check(args: &PeersArgs) -> Result<()> {
    for (flag, path) in [("--base", &args.base), ("--query", &args.query), ("--truth", &args.truth)] {
        ensure!(path.is_file(), "{flag} {}: no such file", path.display());
    }
    if let Some(list) = args.list.iter().find(|&&list| list < args.k) {
        anyhow::bail!("--list {list}: expected at least k = {}", args.k);
    }
    ensure!(args.rounds > 0, "--rounds 0: expected at least 1");
    ensure!(
        !args.concurrency.is_empty() && !args.concurrency.contains(&0),
        "--concurrency: expected numbers from 1"
    );
    Ok(())
}
