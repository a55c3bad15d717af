//! `update`: changes of a live index from the command line, one after the other as given here: made live, deletes, inserts,
//! upserts, consolidation, merge, compaction, a copy, flush, figures.

use crate::key_list::keys_of;
use crate::progress::Console;
use anyhow::{Context, Result, bail, ensure};
use gleann::{
    Backend, Delete, Durability, Element, ElementType, Index, Insert, Key, LiveStats, MAX_THREADS,
    OpenOptions, Progress, Survey, UpdateOptions, Upsert, VectorFile, bytes, make_live,
};
use gleann_vector::{RowSource, read_keys};
use half::f16;
use std::path::{Path, PathBuf};

/// Changes handed over together.
const BATCH: usize = 1024;

/// Insert, replace and delete vectors of a live index; make an index live; settle, compact or copy one.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("work").required(true).multiple(true))]
pub struct UpdateArgs {
    /// Index folder
    #[arg(long, value_name = "DIR")]
    index: PathBuf,
    /// Make a static index live first: fresh (inserts are buffered and merged) or odin (each is linked at once)
    #[arg(long, value_name = "BACKEND", group = "work")]
    make_live: Option<Backend>,
    /// When an update is acknowledged: each (when it is on the disk), group:TIME (when its group is), none. Everything is on
    /// the disk when this ends
    #[arg(long, default_value = "group:5ms")]
    durability: Durability,
    /// Updating threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_THREADS as i64))]
    threads: u32,
    /// Pool of the search for a new vector's neighbours
    #[arg(long, default_value_t = 96, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    insert_list: u32,
    /// Delete keys: a file of them, or keys and half-open ranges such as 3,10..20
    #[arg(long, value_name = "KEYS", group = "work")]
    delete: Option<String>,
    /// Insert the vectors of a file; keys that are there are left as they are
    #[arg(long, value_name = "FILE", group = "work")]
    insert: Option<PathBuf>,
    /// Insert the vectors of a file, or put them in the place of those that are there
    #[arg(long, value_name = "FILE", group = "work", conflicts_with = "insert")]
    upsert: Option<PathBuf>,
    /// The key of every row: .u64bin, or text with one number a line
    #[arg(long, value_name = "FILE", conflicts_with = "first_key")]
    keys: Option<PathBuf>,
    /// The key of the first row; the others follow
    #[arg(long, value_name = "N", default_value_t = 0)]
    first_key: u64,
    /// Repair the lists that name deleted vectors, and free the places of those
    #[arg(long, group = "work")]
    consolidate: bool,
    /// Bring everything into the graph on disk
    #[arg(long, group = "work")]
    merge: bool,
    /// Build the graph anew, of all vectors and with a new codebook: space, pages and reach are as after a build
    #[arg(long, group = "work")]
    compact: bool,
    /// Copy the index as it is then into a directory, which must not exist
    #[arg(long, value_name = "DIR", group = "work")]
    snapshot: Option<PathBuf>,
    /// Wait until everything acknowledged is durable
    #[arg(long, group = "work")]
    flush: bool,
    /// Print what the index holds, and how far updates have worn its graph (reads all of it)
    #[arg(long, group = "work")]
    stats: bool,
    /// Print nothing but errors, and the figures asked for
    #[arg(long)]
    quiet: bool,
}

/// Runs the verb.
///
/// # Errors
/// The index cannot be opened or changed, or a file does not fit it.
pub fn run(args: UpdateArgs) -> Result<()> {
    if let Some(backend) = args.make_live {
        make_live(&args.index, backend)?;
        args.say(&format!("{} is live now, backend {backend}", args.index.display()));
    }
    let updates = UpdateOptions { durability: args.durability, ..UpdateOptions::default() };
    let updates =
        UpdateOptions { threads: args.threads as usize, list: args.insert_list as usize, ..updates };
    let index = open_live(&args.index, &updates)?;
    let console = Console::start(args.quiet);
    let changed = args.change(&index, &console);
    console.end();
    changed?;
    if args.consolidate {
        index.consolidate()?;
        args.say("consolidated");
    }
    if args.merge {
        index.merge()?;
        args.say("merged");
    }
    if args.compact {
        index.compact()?;
        args.say("compacted");
    }
    if let Some(copy) = &args.snapshot {
        index.snapshot(copy)?;
        args.say(&format!("{} is a copy", copy.display()));
    }
    // Without this, the last changes of a run without durability would be those that a power loss takes.
    index.flush()?;
    if args.flush {
        args.say("flushed");
    }
    if args.stats {
        print_stats(&live_stats(&index, &args.index)?, &index.survey()?);
    }
    Ok(())
}

/// Opens an index that must be live.
///
/// # Errors
/// It is not there, or static.
fn open_live(dir: &Path, updates: &UpdateOptions) -> Result<Index> {
    let index = Index::open(dir, OpenOptions { threads: 1, updates: *updates, ..OpenOptions::default() })?;
    live_stats(&index, dir)?;
    Ok(index)
}

/// The figures of an index that must be live.
///
/// # Errors
/// It is static.
fn live_stats(index: &Index, dir: &Path) -> Result<LiveStats> {
    index.live_stats().with_context(|| {
        format!(
            "{}: a static index; `cargo xtask update --index DIR --make-live odin` makes it live",
            dir.display()
        )
    })
}

/// Prints what a live index holds.
fn print_stats(stats: &LiveStats, survey: &Survey) {
    let figures = &stats.figures;
    println!("backend {}", stats.backend);
    println!("vectors {} live, {} deleted, {} free places", figures.live, figures.dead, figures.free);
    println!("pending {} in memory and in the log only", figures.pending);
    let overlap = survey.overlap_ratio().map_or("none".into(), |ratio| format!("{ratio:.3}"));
    let dead = 100.0 * survey.dead_links as f64 / survey.links.max(1) as f64;
    println!(
        "graph   {} on disk, degree {:.1}, {dead:.1} % of the neighbours deleted, overlap ratio {overlap}, {} unreachable",
        survey.live,
        survey.mean_degree(),
        survey.unreachable
    );
    println!("disk    {}, and {} of log", bytes(figures.index_bytes), bytes(figures.log_bytes));
    println!("memory  {}, {} of it changes", bytes(figures.memory_bytes), bytes(figures.overlay_bytes));
    if let Some(failure) = &stats.failure {
        println!("failed  {failure}");
    }
}

/// What became of changes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    done: u64,
    otherwise: u64,
}

impl UpdateArgs {
    fn say(&self, line: &str) {
        if !self.quiet {
            println!("{line}");
        }
    }

    fn change(&self, index: &Index, progress: &dyn Progress) -> Result<()> {
        if let Some(keys) = &self.delete {
            let keys = keys_of(keys).context("--delete")?;
            let counts = delete(index, &keys, progress)?;
            self.say(&format!("{} deleted, {} were not there", counts.done, counts.otherwise));
        }
        let (path, flag, other) = match (&self.insert, &self.upsert) {
            (Some(path), _) => (path, "--insert", "were there already and are as they were"),
            (None, Some(path)) => (path, "--upsert", "took the place of others"),
            (None, None) => return Ok(()),
        };
        let file = VectorFile::open(path)?;
        let (found, expected) = (file.element_type(), index.info().layout.element());
        ensure!(
            found == expected,
            "{flag} {}: elements of type {found}; the index has {expected}",
            path.display()
        );
        let counts = match found {
            ElementType::F32 => self.put::<f32>(index, &file, progress),
            ElementType::F16 => self.put::<f16>(index, &file, progress),
            ElementType::U8 => self.put::<u8>(index, &file, progress),
            ElementType::I8 => self.put::<i8>(index, &file, progress),
        };
        let counts = counts.with_context(|| format!("{flag} {}", path.display()))?;
        self.say(&format!("{} inserted, {} {other}", counts.done, counts.otherwise));
        Ok(())
    }

    fn keys(&self, rows: u64) -> Result<Vec<Key>> {
        if let Some(path) = &self.keys {
            return Ok(read_keys(path, rows)?);
        }
        let end = self.first_key.checked_add(rows);
        let end = end.with_context(|| {
            format!("--first-key {}: the keys of {rows} rows go beyond u64", self.first_key)
        })?;
        Ok((self.first_key..end).collect())
    }

    fn put<T: Element>(&self, index: &Index, file: &VectorFile, progress: &dyn Progress) -> Result<Counts> {
        let (rows, expected) = (file.source::<T>()?, index.info().layout.dim());
        let dim = rows.dim();
        ensure!(dim == expected, "{dim} dimensions; the index has {expected}");
        let keys = self.keys(rows.rows())?;
        progress.phase(if self.upsert.is_some() { "upsert" } else { "insert" }, rows.rows());
        let mut counts = Counts::default();
        let mut vectors = Vec::new();
        for (batch, keys) in keys.chunks(BATCH).enumerate() {
            vectors.resize(keys.len() * dim, T::zeroed());
            rows.read_rows((batch * BATCH) as u64, &mut vectors)?;
            let outcomes: Vec<Result<bool, _>> = if self.upsert.is_some() {
                let outcomes = index.upsert_batch(keys, &vectors).into_iter();
                outcomes.map(|outcome| outcome.map(|upsert| upsert == Upsert::Inserted)).collect()
            } else {
                let outcomes = index.insert_batch(keys, &vectors).into_iter();
                outcomes.map(|outcome| outcome.map(|insert| insert == Insert::Inserted)).collect()
            };
            counts.add(keys, outcomes)?;
            progress.advance(keys.len() as u64);
            stop_if_told(progress, counts)?;
        }
        Ok(counts)
    }
}

impl Counts {
    fn add<E: std::error::Error + Send + Sync + 'static>(
        &mut self,
        keys: &[Key],
        outcomes: Vec<Result<bool, E>>,
    ) -> Result<()> {
        for (key, outcome) in keys.iter().zip(outcomes) {
            match outcome {
                Ok(true) => self.done += 1,
                Ok(false) => self.otherwise += 1,
                Err(error) => {
                    let before = self.done + self.otherwise;
                    return Err(error).with_context(|| format!("key {key}, after {before} others"));
                }
            }
        }
        Ok(())
    }
}

fn delete(index: &Index, keys: &[Key], progress: &dyn Progress) -> Result<Counts> {
    progress.phase("delete", keys.len() as u64);
    let mut counts = Counts::default();
    for keys in keys.chunks(BATCH) {
        let outcomes = index.delete_batch(keys).into_iter();
        let outcomes = outcomes.map(|outcome| outcome.map(|delete| delete == Delete::Deleted)).collect();
        counts.add(keys, outcomes)?;
        progress.advance(keys.len() as u64);
        stop_if_told(progress, counts)?;
    }
    Ok(counts)
}

fn stop_if_told(progress: &dyn Progress, counts: Counts) -> Result<()> {
    if progress.cancelled() {
        bail!("stopped after {} changes, which stay made", counts.done + counts.otherwise);
    }
    Ok(())
}
