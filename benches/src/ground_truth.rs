//! `ground-truth`: the exact neighbours of queries, and a side-car that ties them to their vectors.

use crate::progress::Console;
use anyhow::{Context, Result};
use gleann_vector::{
    Element, ElementType, Fingerprint, GroundTruth, Metric, Progress, TruthMeta, TruthParams, VectorFile,
    exact_truth, sidecar_path,
};
use half::f16;
use std::path::{Path, PathBuf};

/// Base rows in memory at a time.
const BLOCK_BYTES: usize = 64 << 20;

/// Find the exact neighbours of queries by brute force.
///
/// The base is streamed, so it may be larger than memory. Takes about rows × queries × dimension operations.
#[derive(Debug, clap::Args)]
pub struct TruthArgs {
    /// The vectors: .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy
    #[arg(long, value_name = "FILE")]
    base: PathBuf,
    /// The queries, of the same type and dimension
    #[arg(long, value_name = "FILE")]
    query: PathBuf,
    /// How near two vectors are: l2, ip or cosine
    #[arg(long, default_value = "l2")]
    metric: Metric,
    /// Neighbours a query
    #[arg(long, default_value_t = 100)]
    k: usize,
    /// File to write: ids and distances in the big-ann form, or ids only where it is named .ivecs
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Take the first N base rows only
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// What truth is to be found.
#[derive(Debug)]
pub struct Question<'a> {
    /// Base vectors.
    pub base: &'a VectorFile,
    /// Queries.
    pub query: &'a VectorFile,
    /// The metric.
    pub metric: Metric,
    /// Neighbours a query.
    pub k: usize,
}

/// Runs the verb.
///
/// # Errors
/// The vectors do not fit each other or cannot be read, or the truth cannot be written.
pub fn run(args: TruthArgs) -> Result<()> {
    let mut base = VectorFile::open(&args.base)?;
    if let Some(rows) = args.rows {
        base = base.slice(0, rows).context("--rows")?;
    }
    let query = VectorFile::open(&args.query)?;
    let progress = Console::start(args.quiet);
    let question = Question { base: &base, query: &query, metric: args.metric, k: args.k };
    let written = write_truth(&question, &args.out, &progress);
    progress.end();
    let truth = written?;
    if !args.quiet {
        let (queries, k) = (truth.queries, truth.k);
        println!("{}: {k} neighbours of {queries} queries in {} rows", args.out.display(), base.rows());
        println!("{} tells which vectors they belong to", sidecar_path(&args.out).display());
    }
    Ok(())
}

/// Finds a truth and writes it with its side-car.
///
/// # Errors
/// As [`run`].
pub fn write_truth(question: &Question<'_>, out: &Path, progress: &dyn Progress) -> Result<GroundTruth> {
    match question.base.element_type() {
        ElementType::F32 => write_as::<f32>(question, out, progress),
        ElementType::F16 => write_as::<f16>(question, out, progress),
        ElementType::U8 => write_as::<u8>(question, out, progress),
        ElementType::I8 => write_as::<i8>(question, out, progress),
    }
}

fn write_as<T: Element>(question: &Question<'_>, out: &Path, progress: &dyn Progress) -> Result<GroundTruth> {
    let (base, queries) = (question.base.source::<T>()?, question.query.read_all::<T>()?);
    let params = TruthParams { metric: question.metric, k: question.k, block_bytes: BLOCK_BYTES };
    let truth = exact_truth(&base, &queries, params, progress)?;
    let (base, queries) = (Fingerprint::of(&base)?, Fingerprint::of(&queries)?);
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    }
    truth.write(out)?;
    // A side-car is checked against the truth as it is read: .ivecs keeps no distances.
    let kept = GroundTruth::read(out)?;
    TruthMeta::new(question.metric, base, queries, &kept).write(out)?;
    Ok(truth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::sample;
    use gleann_vector::verify_sidecar;

    #[test]
    fn the_samples_truth_is_found_again() {
        let files = sample("sift-sample").unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["new/gt.bin", "gt.ivecs"] {
            let args = TruthArgs {
                base: files.base.clone(),
                query: files.query.clone(),
                metric: files.metric,
                k: 100,
                out: folder.path().join(name),
                rows: Some(20_000),
                quiet: true,
            };
            let out = args.out.clone();
            run(args).unwrap();
            let (found, expected) =
                (GroundTruth::read(&out).unwrap(), GroundTruth::read(&files.truth).unwrap());
            assert_eq!(found.ids, expected.ids);
            let recorded = TruthMeta::read(&out).unwrap();
            let (base, queries) = (recorded.base, recorded.queries);
            assert_eq!(base, TruthMeta::read(&files.truth).unwrap().base);
            verify_sidecar(&out, &TruthMeta::new(files.metric, base, queries, &found)).unwrap();
        }
    }

    #[test]
    fn vectors_that_do_not_fit_are_refused() {
        let (base, query) = (sample("sift-sample").unwrap().base, sample("glove-sample").unwrap().query);
        let args = TruthArgs {
            base,
            query,
            metric: Metric::L2,
            k: 10,
            out: "/nonexistent/gt.bin".into(),
            rows: None,
            quiet: true,
        };
        assert!(format!("{:#}", run(args).unwrap_err()).contains("f32"));
    }
}
