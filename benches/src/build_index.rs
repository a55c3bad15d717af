//! `build-index`: what will be made, how far it is, what was made.

use crate::build_spann::{Manner, SpannArgs, run_build_spann};
use crate::given_graph::GivenGraphArgs;
use crate::mem_graph_args::MemGraphArgs;
use crate::preset::{Preset, System};
use crate::progress::Console;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use gleann::{
    BuildError, BuildOptions, BuildPlan, BuildReport, CodePlacement, GraphPlan, GraphSource, Packing,
    Progress, SpannOptions, bytes, parse_bytes,
};
use gleann_vector::{Metric, VectorFile, read_keys};
use std::path::PathBuf;

/// Build a disk index over a vector file.
///
/// Prints what will be made before it begins. May be stopped at any time; the same command continues after the last
/// finished phase.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The vectors: .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy
    #[arg(long, value_name = "FILE", required_unless_present_any = ["from_index", "from_diskann"], conflicts_with_all = ["from_index", "from_diskann"])]
    data: Option<PathBuf>,
    #[command(flatten)]
    given: GivenGraphArgs,
    /// Build what this preset needs (a name such as octopusann, or a file); arguments given besides take the place of its
    /// values
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// The directory that becomes the index: new, empty, or with an interrupted build
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How near two vectors are: l2, ip or cosine [default: l2, or that of the graph taken over]
    #[arg(long)]
    metric: Option<Metric>,
    /// R: the most neighbours a vector has [default: 64]
    #[arg(long)]
    degree: Option<usize>,
    /// L: candidates kept while a vector's neighbours are sought; 1 to 2 times the degree [default: 125]
    #[arg(long)]
    build_list: Option<usize>,
    /// α of the prune, on squared distances [default: 1.2]
    #[arg(long)]
    alpha: Option<f32>,
    /// Bytes of the compressed vector [default: 32, or those of the graph taken over]
    #[arg(long)]
    pq_bytes: Option<usize>,
    /// Where the compressed vectors are: memory, record (beside the ids of whoever names them) or off (there are none)
    /// [default: memory]
    #[arg(long)]
    codes: Option<CodePlacement>,
    /// Which vectors share a page: by-id (in the order of rows) or page-shuffle (neighbours) [default: by-id]
    #[arg(long)]
    packing: Option<Packing>,
    /// Bytes of a page: 4096, 8192 or 16384 [default: 4096, or that of the index taken over]
    #[arg(long)]
    page_size: Option<usize>,
    #[command(flatten)]
    mem_graph: MemGraphArgs,
    /// Most memory the build may take, such as 512MiB or 8GiB; smaller budgets build in shards
    #[arg(long, default_value = "8GiB", value_parser = parse_bytes)]
    memory_budget: u64,
    /// Threads; 0: all that this process may run on. They do not change the index
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Seed of everything random [default: 0, or that of the index taken over]
    #[arg(long)]
    seed: Option<u64>,
    /// The key of every row: .u64bin, or text with one number a line [default: row numbers]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Take the first N rows only
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    #[command(flatten)]
    spann: SpannArgs,
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
    let preset = args.preset.as_deref().map(Preset::load).transpose()?;
    if args.makes_postings(preset.as_ref())? {
        let vectors = args.vectors()?;
        let manner = Manner { plan_only: args.plan, quiet: args.quiet };
        let options = args.spann_options(vectors.rows(), preset.as_ref())?;
        return run_build_spann(&vectors, &args.out, &options, manner);
    }
    let source = Source::open(&args)?;
    let options = args.options(&source, preset.as_ref())?;
    let plan = source.plan(&options, &args)?;
    if !args.quiet {
        print_plan(&plan, &source.name(&args));
        source.print_notes(&options);
    }
    if args.plan {
        return Ok(());
    }
    return_large_allocations();
    let progress = Console::start(args.quiet);
    let built = source.build(&options, &args, &progress);
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

/// What an index is made of.
enum Source {
    Vectors(VectorFile),
    Graph(Box<GraphSource>),
}

impl Source {
    fn open(args: &BuildArgs) -> Result<Self> {
        if let Some(graph) = args.given.open(args.metric)? {
            return Ok(Source::Graph(Box::new(graph)));
        }
        Ok(Source::Vectors(args.vectors()?))
    }

    fn plan(&self, options: &BuildOptions, args: &BuildArgs) -> Result<BuildPlan> {
        Ok(match self {
            Source::Vectors(vectors) => options.plan(vectors, &args.out)?,
            Source::Graph(graph) => graph.plan(options, &args.out)?,
        })
    }

    fn build(
        &self,
        options: &BuildOptions,
        args: &BuildArgs,
        progress: &dyn Progress,
    ) -> Result<BuildReport, BuildError> {
        match self {
            Source::Vectors(vectors) => gleann::build(vectors, &args.out, options, progress),
            Source::Graph(graph) => gleann::build_from_graph(graph, &args.out, options, progress),
        }
    }

    fn name(&self, args: &BuildArgs) -> String {
        let given = args.given.from_index.as_ref().or(args.given.from_diskann.as_ref());
        given.or(args.data.as_ref()).map_or(String::new(), |path| path.display().to_string())
    }

    fn print_notes(&self, options: &BuildOptions) {
        let Source::Graph(graph) = self else { return };
        graph.notes().iter().for_each(|note| println!("note    {note}"));
        let kept = if graph.keeps_codebook(options) { "kept" } else { "trained" };
        println!("codes   of {} bytes, the codebook is {kept}", options.pq_bytes);
        if graph.keeps_mem_graph(options) {
            println!("memgraph taken over");
        }
    }
}

impl BuildArgs {
    fn options(&self, source: &Source, preset: Option<&Preset>) -> Result<BuildOptions> {
        let mut options = match source {
            Source::Vectors(vectors) => {
                let base = of_preset(preset, BuildOptions::default());
                BuildOptions {
                    metric: self.metric.unwrap_or(base.metric),
                    degree: self.degree.unwrap_or(base.degree),
                    build_list: self.build_list.unwrap_or(base.build_list),
                    alpha: self.alpha.unwrap_or(base.alpha),
                    keys: self.keys.as_ref().map(|path| read_keys(path, vectors.rows())).transpose()?,
                    ..base
                }
            }
            // The graph's own parameters are what it was made with, whatever a preset would have made.
            Source::Graph(graph) => {
                let BuildOptions { degree, build_list, alpha, .. } = graph.options();
                BuildOptions { degree, build_list, alpha, ..of_preset(preset, graph.options()) }
            }
        };
        if self.given.from_diskann.is_some() {
            let build_list = self.build_list.unwrap_or(BuildOptions::default().build_list);
            ensure!(build_list > 0, "--build-list 0: expected at least 1");
            options.build_list = build_list.max(options.degree);
            options.alpha = self.alpha.unwrap_or(BuildOptions::default().alpha);
        }
        options.pq_bytes = self.pq_bytes.unwrap_or(options.pq_bytes);
        options.page_size = self.page_size.unwrap_or(options.page_size);
        options.seed = self.seed.unwrap_or(options.seed);
        Ok(BuildOptions {
            codes: self.codes.unwrap_or(options.codes),
            packing: self.packing.unwrap_or(options.packing),
            mem_graph: self.mem_graph.options().or(options.mem_graph),
            memory_budget: self.memory_budget,
            threads: self.threads,
            restart: self.restart,
            ..options
        })
    }
}

/// What a preset needs, other things as in `base`.
fn of_preset(preset: Option<&Preset>, base: BuildOptions) -> BuildOptions {
    match preset {
        Some(preset) => preset.recipe.options(base),
        None => base,
    }
}

impl BuildArgs {
    /// The vectors, as many as are wanted.
    fn vectors(&self) -> Result<VectorFile> {
        let vectors = VectorFile::open(self.data.as_ref().context("--data is missing")?)?;
        match self.rows {
            Some(rows) => vectors.slice(0, rows).context("--rows"),
            None => Ok(vectors),
        }
    }

    /// Whether postings are wanted. Arguments of the other kind of index would be ignored: they are refused.
    fn makes_postings(&self, preset: Option<&Preset>) -> Result<bool> {
        let Some(preset) = preset else { return Ok(self.spann.spann) };
        if preset.recipe.system == System::Graph {
            ensure!(
                !self.spann.spann,
                "--spann: preset {} is a graph; leave one of the two out",
                preset.name
            );
            return Ok(false);
        }
        let given = [
            ("--degree", self.degree.is_some()),
            ("--build-list", self.build_list.is_some()),
            ("--alpha", self.alpha.is_some()),
            ("--pq-bytes", self.pq_bytes.is_some()),
            ("--codes", self.codes.is_some()),
            ("--packing", self.packing.is_some()),
            ("--mem-graph", self.mem_graph.options().is_some()),
            ("--from-index", self.given.from_index.is_some()),
            ("--from-diskann", self.given.from_diskann.is_some()),
        ];
        let given = given.iter().find(|(_, given)| *given);
        if let Some((name, _)) = given {
            bail!(
                "{name}: preset {} is an index of postings, which has no such thing; leave it out",
                preset.name
            );
        }
        Ok(true)
    }

    fn spann_options(&self, rows: u64, preset: Option<&Preset>) -> Result<SpannOptions> {
        let defaults = SpannOptions::default();
        let base = preset.map_or(defaults.clone(), |preset| preset.recipe.postings(defaults));
        Ok(self.spann.apply(SpannOptions {
            metric: self.metric.unwrap_or(base.metric),
            page_size: self.page_size.unwrap_or(base.page_size),
            memory_budget: self.memory_budget,
            threads: self.threads,
            seed: self.seed.unwrap_or(base.seed),
            keys: self.keys.as_ref().map(|path| read_keys(path, rows)).transpose()?,
            restart: self.restart,
            ..base
        }))
    }
}

fn print_plan(plan: &BuildPlan, data: &str) {
    let layout = &plan.layout;
    let (element, dim) = (layout.element(), layout.dim());
    println!("data    {} vectors of {dim} × {element}, {data}", plan.rows);
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
        GraphPlan::Given => println!("graph   taken over"),
        GraphPlan::OneShot => println!("graph   at once, {} threads", plan.threads),
        GraphPlan::Sharded { shards, capacity } => println!(
            "graph   in {shards} shards of at most {capacity} vectors, {} threads: it does not fit the memory \
             budget at once",
            plan.threads
        ),
    }
    if let Some(graph) = plan.mem_graph {
        println!("        and a navigation graph over {} vectors, {}", graph.nodes, bytes(graph.bytes));
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

/// A duration for people.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 99.95 => format!("{v:.1} s"),
        v if v < 600.0 => format!("{v:.0} s"),
        v if v < 6000.0 => format!("{:.0} min", v / 60.0),
        v => format!("{:.1} h", v / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written() {
        assert_eq!(
            (seconds(9.94), seconds(600.0), seconds(7200.0)),
            ("9.9 s".into(), "10 min".into(), "2.0 h".into())
        );
    }
}
