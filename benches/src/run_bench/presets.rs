//! `run-bench --preset`: systems of the design space side by side, on one index or on those that a folder holds.

use super::command::{Job, Point, RunBenchArgs, carry_out, from_flags, points, prepare};
use super::measure::measure;
use super::table;
use crate::preset::{Built, Preset, Workshop, sharing};
use crate::row::{Row, append_rows, median_row};
use crate::sweep::Sweep;
use anyhow::{Result, ensure};
use gleann::Metric;
use gleann::parse_bytes;
use gleann_vector::VectorFile;
use std::path::PathBuf;

/// Which presets, and where their indexes come from.
#[derive(Debug, clap::Args)]
pub struct PresetArgs {
    /// Presets by name or file, separated by commas; an axis that is given besides replaces theirs
    #[arg(long, value_delimiter = ',', value_name = "NAMES", conflicts_with = "experiment")]
    pub preset: Vec<String>,
    /// Vectors: the indexes that the presets need are built of them, unless --work has them
    #[arg(long, value_name = "FILE", requires_all = ["preset", "work"], conflicts_with = "index")]
    pub data: Option<PathBuf>,
    /// Folder of the indexes built for presets
    #[arg(long, value_name = "DIR", requires = "data")]
    pub work: Option<PathBuf>,
    /// How near two vectors are, where indexes are built: l2, ip or cosine
    #[arg(long, default_value = "l2", requires = "data")]
    pub metric: Metric,
    /// Most memory a build may take
    #[arg(long, default_value = "8GiB", value_parser = parse_bytes, requires = "data")]
    pub memory_budget: u64,
}

/// Measures the presets that the flags name.
///
/// # Errors
/// A preset is unknown, an index does not meet its needs or cannot be built, or something cannot be measured.
pub fn run(args: &RunBenchArgs) -> Result<()> {
    let presets: Vec<Preset> =
        args.presets.preset.iter().map(|name| Preset::load(name)).collect::<Result<_>>()?;
    let Some(jobs) = built_jobs(args, &presets)? else {
        let mut job = prepare(args, from_flags(&args.knobs))?;
        let built = Built::open(&job.index)?;
        presets.iter().try_for_each(|preset| built.serves(preset))?;
        job.points = presets.iter().flat_map(|preset| preset_points(args, preset)).collect();
        return carry_out(&job, args.dry_run);
    };
    if args.dry_run {
        return jobs.iter().try_for_each(|job| carry_out(job, true));
    }
    alternate(&jobs, args.knobs.rounds).map(drop)
}

/// A preset with the axes that the flags name in place of its own.
fn preset_points(args: &RunBenchArgs, preset: &Preset) -> Vec<Point> {
    let (open, search) = (args.knobs.open.clone(), args.knobs.search());
    let open_base = preset.open.clone();
    points(&preset.name, &Sweep { open, search, open_base, search_base: preset.search })
}

/// One job for each index that the presets need, if they are to be built.
fn built_jobs(args: &RunBenchArgs, presets: &[Preset]) -> Result<Option<Vec<Job>>> {
    let (Some(data), Some(work)) = (&args.presets.data, &args.presets.work) else { return Ok(None) };
    let workshop = Workshop {
        folder: work.clone(),
        source: VectorFile::open(data)?,
        metric: args.presets.metric,
        memory_budget: args.presets.memory_budget,
        derive: true,
    };
    let recipes = sharing(&presets.iter().map(|preset| preset.recipe).collect::<Vec<_>>());
    let mut jobs: Vec<Job> = Vec::new();
    for (preset, recipe) in presets.iter().zip(&recipes) {
        let index = if args.dry_run { workshop.path(recipe) } else { workshop.index(recipe)? };
        let points = preset_points(args, preset);
        if let Some(job) = jobs.iter_mut().find(|job| job.index == index) {
            job.points.extend(points);
            continue;
        }
        let job = prepare(args, from_flags(&args.knobs).on(index))?;
        jobs.push(Job { points, ..job });
    }
    Ok(Some(jobs))
}

/// Measures jobs in alternating rounds, so that a slow minute of the machine hits all, and prints the medians.
///
/// # Errors
/// Something cannot be measured or written.
fn alternate(jobs: &[Job], rounds: u32) -> Result<Vec<Row>> {
    let mut measured: Vec<Vec<Vec<Row>>> = vec![Vec::new(); jobs.len()];
    for round in 1..=rounds {
        for (job, rows) in jobs.iter().zip(&mut measured) {
            rows.push(measure(&Job { rounds: 1, ..job.clone() }, &mut |row| {
                table::tell_round(round, std::slice::from_ref(row));
                Ok(())
            })?);
        }
    }
    ensure!(rounds > 0, "--rounds 0: expected at least 1");
    let mut medians = Vec::new();
    for (job, rows) in jobs.iter().zip(&measured) {
        println!("{}\n{}", job.index.display(), table::header(job.k));
        for at in 0..job.points.len() {
            let of_point: Vec<Row> = rows.iter().map(|round| round[at].clone()).collect();
            let row = median_row(&of_point).expect("at least one round");
            println!("{}", table::line(&row));
            if let Some(out) = &job.out {
                append_rows(out, std::slice::from_ref(&row))?;
            }
            medians.push(row);
        }
    }
    Ok(medians)
}
