//! `build-index --spann`: the same verb, an index of postings.

use crate::build_index::seconds;
use crate::progress::Console;
use anyhow::{Result, bail};
use clap::Args;
use gleann::{SpannOptions, SpannPlan, SpannReport, bytes};
use gleann_vector::VectorFile;
use std::path::Path;

/// What only an index of postings has.
#[derive(Debug, Clone, Args)]
pub struct SpannArgs {
    /// Build posting lists (SPANN) instead of a graph; all vectors must fit the memory budget
    #[arg(long, conflicts_with_all = [
        "degree", "build_list", "alpha", "pq_bytes", "codes", "packing", "mem_graph", "from_index", "from_diskann",
    ])]
    pub spann: bool,
    /// Pages of a posting, the unit of a read [default: as few as hold 60 vectors]
    #[arg(long, requires = "spann", value_name = "N")]
    posting_pages: Option<usize>,
    /// The most vectors of a cluster before replication [default: a quarter of what a posting holds]
    #[arg(long, requires = "spann", value_name = "N")]
    cluster: Option<usize>,
    /// The most postings a vector is in [default: 8]
    #[arg(long, requires = "spann", value_name = "N")]
    replicas: Option<usize>,
    /// ε of the closure: a vector goes to centroids at most 1 + ε times as far as its nearest [default: 10]
    #[arg(long, requires = "spann", value_name = "EPSILON")]
    closure: Option<f32>,
    /// R of the graph over the centroids [default: 32]
    #[arg(long, requires = "spann", value_name = "R")]
    centroid_degree: Option<usize>,
}

impl SpannArgs {
    /// `options` as these arguments have them.
    pub fn apply(&self, options: SpannOptions) -> SpannOptions {
        SpannOptions {
            posting_pages: self.posting_pages.or(options.posting_pages),
            cluster: self.cluster.or(options.cluster),
            replicas: self.replicas.unwrap_or(options.replicas),
            closure: self.closure.unwrap_or(options.closure),
            centroid_degree: self.centroid_degree.unwrap_or(options.centroid_degree),
            ..options
        }
    }
}

/// How much is said and done.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Only the plan is printed.
    pub plan_only: bool,
    /// Nothing is printed but errors.
    pub quiet: bool,
}

/// Plans, builds and reports.
pub fn run_build_spann(
    source: &VectorFile,
    out: &Path,
    options: &SpannOptions,
    manner: Manner,
) -> Result<()> {
    let plan = options.plan(source, out)?;
    if !manner.quiet {
        print_plan(&plan, source.path());
    }
    if manner.plan_only {
        return Ok(());
    }
    let progress = Console::start(manner.quiet);
    let built = gleann::build_spann(source, out, options, &progress);
    progress.end();
    match built {
        Ok(report) => {
            if !manner.quiet {
                print_report(&report, out);
            }
            Ok(())
        }
        Err(error) => bail!(error),
    }
}

fn print_plan(plan: &SpannPlan, data: &Path) {
    let (layout, posting) = (&plan.layout, &plan.posting);
    println!("data    {} vectors of {} × {}, {}", plan.rows, layout.dim(), layout.element(), data.display());
    println!(
        "index   {} at least, usually half as much again: {} postings at least, of {} pages and room for {} vectors",
        bytes(plan.least_index_bytes),
        plan.least_postings,
        posting.pages(),
        posting.capacity()
    );
    println!(
        "graph   over the centroids of clusters of at most {} vectors, {} threads",
        plan.cluster, plan.threads
    );
    println!("memory  about {} of {} at most", bytes(plan.memory_bytes), bytes(plan.memory_budget));
    println!("disk    {} free", bytes(plan.free_bytes));
}

fn print_report(report: &SpannReport, out: &Path) {
    println!("\n{:<10} {:>10} {:>10} {:>12}", "phase", "time", "CPU", "peak memory");
    let all = ("all", report.seconds, report.cpu_seconds, report.peak_rss_bytes);
    let phases = report.phases.iter().map(|p| (p.phase.name(), p.seconds, p.cpu_seconds, p.peak_rss_bytes));
    for (name, wall, cpu, memory) in phases.chain([all]) {
        println!("{name:<10} {:>10} {:>10} {:>12}", seconds(wall), seconds(cpu), bytes(memory));
    }
    println!(
        "\n{} postings of {}, {:.0} % of their places taken; a vector is in {:.2} of them on average",
        report.postings,
        bytes(report.posting_bytes),
        100.0 * report.fill_share,
        report.mean_copies
    );
    let size: u64 = report.members.values().sum();
    println!("{} is an index of {}; build.json beside it has these figures", out.display(), bytes(size));
}
