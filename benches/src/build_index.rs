//! `build-index`: what will be made, how far it is, what was made.

use crate::progress::Console;
use anyhow::{Context, Result, bail};
use clap::Args;
use gleann::{BuildError, BuildOptions, BuildPlan, BuildReport, CodePlacement, GraphPlan, Packing};
use gleann_vector::{Metric, VectorFile, read_keys};
use std::path::PathBuf;

/// Build a disk index over a vector file.
///
/// Prints what will be made before it begins. May be stopped at any time; the same command continues after the last
/// finished phase.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The vectors: .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// The directory that becomes the index: new, empty, or with an interrupted build
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How near two vectors are: l2, ip or cosine
    #[arg(long, default_value = "l2")]
    metric: Metric,
    /// R: the most neighbours a vector has
    #[arg(long, default_value_t = 64)]
    degree: usize,
    /// L: candidates kept while a vector's neighbours are sought; 1 to 2 times the degree
    #[arg(long, default_value_t = 125)]
    build_list: usize,
    /// α of the prune, on squared distances
    #[arg(long, default_value_t = 1.2)]
    alpha: f32,
    /// Bytes of the compressed vector
    #[arg(long, default_value_t = 32)]
    pq_bytes: usize,
    /// Where the compressed vectors are: memory, record (beside the ids of whoever names them) or off (there are none)
    #[arg(long, default_value = "memory")]
    codes: CodePlacement,
    /// Which vectors share a page: by-id (in the order of rows) or page-shuffle (neighbours)
    #[arg(long, default_value = "by-id")]
    packing: Packing,
    /// Bytes of a page: 4096, 8192 or 16384
    #[arg(long, default_value_t = 4096)]
    page_size: usize,
    /// Most memory the build may take, such as 512MiB or 8GiB; smaller budgets build in shards
    #[arg(long, default_value = "8GiB", value_parser = parse_bytes)]
    memory_budget: u64,
    /// Threads; 0: all that this process may run on. They do not change the index
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The key of every row: .u64bin, or text with one number a line [default: row numbers]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Take the first N rows only
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Throw away what an interrupted build has left
    #[arg(long)]
    restart: bool,
    /// Print what would be made, and stop
    #[arg(long)]
    plan: bool,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// Runs the verb.
pub fn run_build(args: BuildArgs) -> Result<()> {
    let mut source = VectorFile::open(&args.data)?;
    if let Some(rows) = args.rows {
        source = source.slice(0, rows).context("--rows")?;
    }
    let options = args.options(source.rows())?;
    let plan = options.plan(&source, &args.out)?;
    if !args.quiet {
        print_plan(&plan, &args);
    }
    if args.plan {
        return Ok(());
    }
    return_large_allocations();
    let progress = Console::start(args.quiet);
    let built = gleann::build(&source, &args.out, &options, &progress);
    progress.end();
    match built {
        Ok(report) => {
            if !args.quiet {
                print_report(&report, &args);
            }
            Ok(())
        }
        Err(BuildError::Different { .. }) => Err(built.expect_err("just matched"))
            .context("give the same arguments again, or --restart to begin anew"),
        Err(error) => bail!(error),
    }
}

/// Keeps the allocator from holding on to large buffers that a phase has freed: it would charge the next phase with
/// them. This is a setting of the whole program, so it is made here and not in the library.
fn return_large_allocations() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a setting of the allocator, made through its own function.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
}

impl BuildArgs {
    fn options(&self, rows: u64) -> Result<BuildOptions> {
        let keys = self.keys.as_ref().map(|path| read_keys(path, rows)).transpose()?;
        Ok(BuildOptions {
            metric: self.metric,
            degree: self.degree,
            build_list: self.build_list,
            alpha: self.alpha,
            pq_bytes: self.pq_bytes,
            codes: self.codes,
            packing: self.packing,
            page_size: self.page_size,
            memory_budget: self.memory_budget,
            threads: self.threads,
            seed: self.seed,
            keys,
            restart: self.restart,
            ..BuildOptions::default()
        })
    }
}

fn print_plan(plan: &BuildPlan, args: &BuildArgs) {
    let layout = &plan.layout;
    let (element, dim) = (layout.element(), layout.dim());
    println!("data    {} vectors of {dim} × {element}, {}", plan.rows, args.data.display());
    let place = match (layout.records_per_block(), layout.pages_per_block()) {
        (1, pages) => format!("{pages} pages of {} bytes a record", layout.page_size()),
        (records, _) => format!("{records} records a page of {} bytes", layout.page_size()),
    };
    println!("index   {}: {place}, records of {} bytes", bytes(plan.index_bytes), layout.record_bytes());
    if plan.record_growth > 1.0 {
        println!("        codes in records make them {:.2} times as long", plan.record_growth);
    }
    match plan.shuffle_parts {
        0 => {}
        1 => println!("packing neighbours share pages"),
        parts => println!("packing neighbours share pages, found in {parts} parts to fit the memory budget"),
    }
    match plan.graph {
        GraphPlan::OneShot => println!("graph   at once, {} threads", plan.threads),
        GraphPlan::Sharded { shards, capacity } => println!(
            "graph   in {shards} shards of at most {capacity} vectors, {} threads: it does not fit the memory \
             budget at once",
            plan.threads
        ),
    }
    if let Some(most) = plan.deciding() {
        println!(
            "memory  about {} of {} at most, in phase {}",
            bytes(most.bytes),
            bytes(plan.memory_budget),
            most.phase
        );
    }
    println!("disk    {} at its peak, {} free", bytes(plan.disk_bytes), bytes(plan.free_bytes));
    println!("time    roughly {}; machines differ by a factor of two", seconds(plan.rough_seconds));
}

fn print_report(report: &BuildReport, args: &BuildArgs) {
    println!("\n{:<10} {:>10} {:>10} {:>12}", "phase", "time", "CPU", "peak memory");
    for phase in &report.phases {
        println!(
            "{:<10} {:>10} {:>10} {:>12}",
            phase.phase.name(),
            seconds(phase.seconds),
            seconds(phase.cpu_seconds),
            bytes(phase.peak_rss_bytes)
        );
    }
    println!(
        "{:<10} {:>10} {:>10} {:>12}",
        "all",
        seconds(report.seconds),
        seconds(report.cpu_seconds),
        bytes(report.peak_rss_bytes)
    );
    let overlap = report.overlap_ratio.map_or("none, one record a block".into(), |or| format!("{or:.4}"));
    let before = report.overlap_by_id.map_or(String::new(), |or| format!(" ({or:.4} in the order of rows)"));
    println!("\ndegree {:.1} on average, overlap ratio {overlap}{before}", report.mean_degree);
    if report.record_growth > 1.0 {
        println!("a record is {:.2} times as long as with codes in memory", report.record_growth);
    }
    if report.unreachable > 0 {
        println!(
            "{} vectors could not be reached from the entry point; {} edges were added for them",
            report.unreachable, report.repaired
        );
    }
    let size: u64 = report.members.values().sum();
    println!("{} is an index of {}; build.json beside it has these figures", args.out.display(), bytes(size));
}

/// A size with a binary unit.
pub fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// A duration for people.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 99.95 => format!("{v:.1} s"),
        v if v < 600.0 => format!("{v:.0} s"),
        v if v < 6000.0 => format!("{:.0} min", v / 60.0),
        v => format!("{:.1} h", v / 3600.0),
    }
}

/// Reads `512MiB`, `8GiB`, `1.5GB` or a plain number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let refused =
        || format!("`{text}` is no size; expected a number and one of KiB, MiB, GiB, TiB, kB, MB, GB, TB");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kib" | "k" => f64::from(1 << 10),
        "mib" | "m" => f64::from(1 << 20),
        "gib" | "g" => f64::from(1 << 30),
        "tib" | "t" => 1024.0 * f64::from(1 << 30),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(refused()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| refused())?;
    let value = number * unit;
    if (0.0..1e18).contains(&value) { Ok(value as u64) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        assert_eq!(parse_bytes("8GiB"), Ok(8 << 30));
        assert_eq!(parse_bytes("1.5g"), Ok(3 << 29));
        assert_eq!(parse_bytes("512 MiB"), Ok(512 << 20));
        assert_eq!(parse_bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        for bad in ["", "GiB", "-1GiB", "1XB", "nan", "1e30GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        assert_eq!(
            (bytes(999), bytes(3 << 29), bytes(2048)),
            ("999 B".into(), "1.5 GiB".into(), "2.0 KiB".into())
        );
        assert_eq!(
            (seconds(9.94), seconds(600.0), seconds(7200.0)),
            ("9.9 s".into(), "10 min".into(), "2.0 h".into())
        );
    }
}
