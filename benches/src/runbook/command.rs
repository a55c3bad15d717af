//! Arguments of `run-bench RUNBOOK.yaml`.

use super::check::{Extent, check};
use super::document::read_runbook;
use super::execution::{Execution, score};
use super::step::{Runbook, Step, Update};
use crate::dataset::{Catalogue, files_of, found_slices};
use crate::live::{
    Asked, Bench, ChangingTruth, Folder, LiveArgs, LiveRow, LiveSet, Report, TRUTH_DEPTH, TruthQuestion,
    vectors,
};
use crate::progress::Console;
use crate::run_bench::environment;
use anyhow::{Context, Result, bail};
use gleann::{
    BuildOptions, Element, ElementType, Index, Metric, Silent, VectorFile, build_from_rows, make_live,
};
use gleann_vector::{FileRows, Matrix, RowSource};
use half::f16;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Carry out a streaming runbook of big-ann-benchmarks: recall at every search step against the exact neighbours of that
/// moment. The index is built of the first step, which must be an insert, and changed by the others.
#[derive(Debug, clap::Args)]
pub struct RunbookArgs {
    /// The runbook
    #[arg(value_name = "RUNBOOK.yaml")]
    runbook: PathBuf,
    /// Which data set of the runbook; also that of the catalogue whose vectors are used if none are given
    #[arg(long, value_name = "NAME")]
    dataset: Option<String>,
    /// The folder given to `dataset get`
    #[arg(long, default_value = "data", value_name = "DIR")]
    data_dir: PathBuf,
    /// The vectors that the runbook numbers
    #[arg(long, value_name = "FILE", requires = "query")]
    base: Option<PathBuf>,
    /// Query vectors
    #[arg(long, value_name = "FILE", requires = "base")]
    query: Option<PathBuf>,
    /// How near two vectors are: l2, ip or cosine [default: l2, or that of the data set]
    #[arg(long)]
    metric: Option<Metric>,
    #[command(flatten)]
    live: LiveArgs,
    /// R: the most neighbours a vector has
    #[arg(long, default_value_t = 64)]
    degree: usize,
    /// L of the build of the first step
    #[arg(long, default_value_t = 125)]
    build_list: usize,
    /// α of the prune, on squared distances
    #[arg(long, default_value_t = 1.2)]
    alpha: f32,
    /// Bytes of the compressed vector
    #[arg(long, default_value_t = 32)]
    pq_bytes: usize,
    /// Let changes of vectors pass that are not there, and inserts of those that are
    #[arg(long)]
    allow_dead: bool,
    /// Say what the runbook does, and stop
    #[arg(long)]
    dry_run: bool,
    /// File that result lines are appended to
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Folder for pictures
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Folder in which the index is made
    #[arg(long, default_value = ".", value_name = "DIR")]
    work: PathBuf,
    /// Keep the index
    #[arg(long)]
    keep: bool,
}

/// The vectors of a run.
struct Vectors {
    base: PathBuf,
    query: PathBuf,
    metric: Metric,
}

/// Runs the runbook.
///
/// # Errors
/// It cannot be right, its vectors are not there, or a step fails.
pub fn run(args: RunbookArgs) -> Result<()> {
    let args = RunbookArgs { live: args.live.one_arm()?, ..args };
    let files = args.vectors()?;
    let base = VectorFile::open(&files.base)?;
    let book = read_runbook(&args.runbook, args.dataset.as_deref())?;
    let extent = check(&book, base.rows(), args.allow_dead);
    let extent = extent
        .with_context(|| format!("runbook {}, data set `{}`", args.runbook.display(), book.data_set))?;
    tell(&book, extent);
    if args.dry_run {
        return Ok(());
    }
    match base.element_type() {
        ElementType::F32 => args.run_as::<f32>(&book, &files),
        ElementType::F16 => args.run_as::<f16>(&book, &files),
        ElementType::U8 => args.run_as::<u8>(&book, &files),
        ElementType::I8 => args.run_as::<i8>(&book, &files),
    }
}

fn tell(book: &Runbook, extent: Extent) {
    println!(
        "{}: {} steps, {} of them searches; at most {} live vectors, {} at the end",
        book.data_set,
        book.steps.len(),
        extent.searches,
        extent.most_live,
        extent.last_live
    );
    if extent.is_concurrent {
        println!(
            "some steps search while they change: an extension, not to be compared with other runs of the track"
        );
    }
}

impl RunbookArgs {
    fn vectors(&self) -> Result<Vectors> {
        if let (Some(base), Some(query)) = (self.base.clone(), self.query.clone()) {
            return Ok(Vectors { base, query, metric: self.metric.unwrap_or(Metric::L2) });
        }
        let name = self
            .dataset
            .as_deref()
            .context("no vectors: give --base and --query, or --dataset of the catalogue")?;
        let catalogue = Catalogue::load()?;
        let set = catalogue.find(name)?;
        let rows = found_slices(set, &self.data_dir).into_iter().next();
        let rows = rows.with_context(|| {
            format!(
                "{name} is not in {}; obtain it with `cargo xtask dataset get {name}`",
                self.data_dir.display()
            )
        })?;
        let files = files_of(set, &self.data_dir, rows);
        Ok(Vectors { base: files.base, query: files.query, metric: self.metric.unwrap_or(files.metric) })
    }

    fn run_as<T: Element>(&self, book: &Runbook, files: &Vectors) -> Result<()> {
        let (base, queries): (FileRows<T>, Matrix<T>) = vectors(&files.base, &files.query)?;
        let folder = Folder::new(&self.work, self.keep)?;
        let first = first_rows(book)?;
        let begun = Instant::now();
        self.build((&base, first.clone()), files.metric, &folder.index)?;
        let built = begun.elapsed().as_secs_f64();
        let index = Index::open(&folder.index, self.live.open_options())?;
        let setup = self.live.setup(&index)?;
        let mut set = LiveSet::empty(base.rows());
        for row in first.clone() {
            set.put(row, row);
        }
        let (metric, k) = (files.metric, self.live.k as usize);
        let question = TruthQuestion { base: &base, queries: &queries, metric, depth: TRUTH_DEPTH.max(k) };
        // Its progress would tear the table apart.
        let mut truth = ChangingTruth::new(question, set, &Silent)?;
        let options = self.live.search_options()?;
        let asked = Asked {
            queries: &queries,
            k,
            options,
            clients: self.live.search_clients(),
            arrivals: self.live.arrivals(),
        };
        let bench = Bench { target: &index, base: &base, asked, update_clients: self.live.update_clients() };
        let mut report = Report::begin(environment(index.info()), self.out.clone(), self.live.k);
        report.take(&LiveRow::of_build(&setup, &bench, built))?;
        let (truth, allow_dead) = (&mut truth, self.allow_dead);
        let mut execution = Execution { bench: &bench, truth, metric, setup, allow_dead };
        let rows = execution.steps(book, 1, &mut |row| report.take(row))?;
        if let Some(score) = score(&rows) {
            println!("mean recall@{k} over the search steps: {score:.4}");
        }
        report.end(&format!("{} · {}", self.runbook.display(), book.data_set), self.plot.as_deref())
    }

    /// Builds a live index over rows of the base, with their numbers as keys.
    fn build<T: Element>(
        &self,
        (base, rows): (&FileRows<T>, Range<u32>),
        metric: Metric,
        dir: &Path,
    ) -> Result<()> {
        let mut matrix = Matrix::<T>::zeroed(rows.len(), base.dim());
        base.read_rows(rows.start.into(), matrix.as_mut_slice())?;
        let options = BuildOptions {
            metric,
            degree: self.degree,
            build_list: self.build_list,
            alpha: self.alpha,
            pq_bytes: self.pq_bytes.min(base.dim()),
            keys: Some(rows.map(u64::from).collect()),
            ..BuildOptions::default()
        };
        let console = Console::start(false);
        let built = build_from_rows(&matrix, dir, &options, &console);
        console.end();
        built.context("building the index of step 1")?;
        Ok(make_live(dir, self.live.backend()?)?)
    }
}

/// The rows of the first step, of which the index is built.
fn first_rows(book: &Runbook) -> Result<Range<u32>> {
    match book.steps.first() {
        Some(Step::Update(Update::Insert(rows))) => Ok(rows.clone()),
        first => bail!(
            "step 1 is {}; expected an insert, of which the index is built",
            first.map_or_else(|| "missing".to_owned(), Step::to_string)
        ),
    }
}
