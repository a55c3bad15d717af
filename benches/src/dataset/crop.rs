//! Slices of sets: the first rows, under the name big-ann-benchmarks gives them, with a ground truth of their own.

use super::files::SetFiles;
use crate::ground_truth::{Question, write_truth};
use anyhow::{Context, bail};
use gleann_vector::{
    Element, ElementType, Fingerprint, GroundTruth, Progress, TruthMeta, TruthParams, VectorFile, exact_truth,
};
use half::f16;
use std::path::Path;

/// Neighbours a query, as in every published truth.
const K: usize = 100;
/// Base rows in memory while a truth is computed.
const BLOCK_BYTES: usize = 64 << 20;

/// Writes the first `rows` rows of `whole` to `crop`, unless they are there.
///
/// # Errors
/// `whole` cannot be read or has fewer rows, or `crop` cannot be written.
pub fn crop_base(whole: &Path, crop: &Path, rows: u64) -> anyhow::Result<()> {
    let there = crop.exists() && VectorFile::open(crop).is_ok_and(|file| file.rows() == rows);
    if !there {
        let file = VectorFile::open(whole)?;
        file.slice(0, rows)?.copy_to(crop, file.format())?;
    }
    Ok(())
}

/// Finds the exact truth of a set's queries and writes it with its side-car.
///
/// # Errors
/// The vectors do not fit each other or cannot be read, or the truth cannot be written.
pub fn compute_truth(files: &SetFiles, progress: &dyn Progress) -> anyhow::Result<()> {
    let base = VectorFile::open(&files.base)?;
    let query = VectorFile::open(&files.query)?;
    let question = Question { base: &base, query: &query, metric: files.metric, k: K };
    write_truth(&question, &files.truth, progress).map(drop)
}

/// Writes the side-car that ties a set's truth to its vectors, after the truth was found for just these.
///
/// # Errors
/// A file cannot be read, or the side-car cannot be written.
pub fn vouch(files: &SetFiles) -> anyhow::Result<()> {
    let truth = GroundTruth::read(&files.truth)?;
    let (base, query) = (fingerprint(&files.base)?, fingerprint(&files.query)?);
    Ok(TruthMeta::new(files.metric, base, query, &truth).write(&files.truth)?)
}

fn fingerprint(path: &Path) -> anyhow::Result<Fingerprint> {
    let file = VectorFile::open(path)?;
    Ok(match file.element_type() {
        ElementType::F32 => Fingerprint::of(&file.source::<f32>()?),
        ElementType::F16 => Fingerprint::of(&file.source::<f16>()?),
        ElementType::U8 => Fingerprint::of(&file.source::<u8>()?),
        ElementType::I8 => Fingerprint::of(&file.source::<i8>()?),
    }?)
}

/// Finds the truth of a few queries anew and compares; returns how many were compared.
///
/// # Errors
/// The truth is of another shape, names rows that are not there, or differs.
pub fn check_truth(files: &SetFiles, progress: &dyn Progress) -> anyhow::Result<usize> {
    let truth = GroundTruth::read(&files.truth)?;
    let (base, query) = (VectorFile::open(&files.base)?, VectorFile::open(&files.query)?);
    if truth.queries as u64 != query.rows() {
        bail!(
            "{} answers {} queries, {} has {}; they do not belong together",
            files.truth.display(),
            truth.queries,
            files.query.display(),
            query.rows()
        );
    }
    truth.check_ids(&files.truth, base.rows())?;
    let check = match base.element_type() {
        ElementType::F32 => recheck::<f32>,
        ElementType::F16 => recheck::<f16>,
        ElementType::U8 => recheck::<u8>,
        ElementType::I8 => recheck::<i8>,
    };
    check(files, &truth, progress).with_context(|| format!("checking {}", files.truth.display()))
}

/// Queries whose truth is found anew, spread over all.
const RECHECKED: usize = 8;
/// How far a published distance may be off, relative to 1 + its size: publishers round in f32.
const TOLERANCE: f64 = 1e-3;
/// Ids that must agree where no distances are published; ties may be broken otherwise.
const SAME_IDS: f64 = 0.98;

fn recheck<T: Element>(
    files: &SetFiles,
    truth: &GroundTruth,
    progress: &dyn Progress,
) -> anyhow::Result<usize> {
    let base = VectorFile::open(&files.base)?.source::<T>()?;
    let query = VectorFile::open(&files.query)?.read_all::<T>()?;
    let count = RECHECKED.min(truth.queries);
    let chosen: Vec<usize> = (0..count).map(|i| i * truth.queries / count).collect();
    let rows: Vec<T> = chosen.iter().flat_map(|&q| query.row(q)).copied().collect();
    let some = gleann_vector::Matrix::from_rows(&rows, query.dim());
    let params = TruthParams { metric: files.metric, k: truth.k, block_bytes: BLOCK_BYTES };
    let found = exact_truth(&base, &some, params, progress)?;
    for (mine, &theirs) in chosen.iter().enumerate() {
        compare(&found, mine, truth, theirs.to_owned())?;
    }
    Ok(count)
}

fn compare(found: &GroundTruth, mine: usize, truth: &GroundTruth, theirs: usize) -> anyhow::Result<()> {
    let Some(given) = truth.distances_of(theirs) else {
        let same = truth.ids_of(theirs).iter().filter(|id| found.ids_of(mine).contains(id)).count();
        if (same as f64) < SAME_IDS * truth.k as f64 {
            bail!(
                "query {theirs}: {same} of {} neighbours are right; the truth belongs to other data",
                truth.k
            );
        }
        return Ok(());
    };
    let exact = found.distances_of(mine).unwrap_or_default();
    for (place, (&given, &exact)) in given.iter().zip(exact).enumerate() {
        let (given, exact) = (f64::from(given), f64::from(exact));
        let near = (given - exact).abs() <= TOLERANCE * (1.0 + exact.abs());
        if given != exact && !near {
            bail!(
                "query {theirs}: neighbour {place} is said to be at {given}, it is at {exact}; the truth belongs to \
                 other data or another metric"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::sample;
    use gleann_vector::{Metric, Silent, verify_sidecar};

    fn slice_of_sample(dir: &Path) -> SetFiles {
        let whole = sample("sift-sample").unwrap();
        let files = SetFiles {
            base: dir.join("base.u8bin.crop_nb_1000"),
            truth: dir.join("gt.bin.crop_nb_1000"),
            ..whole.clone()
        };
        crop_base(&whole.base, &files.base, 1000).unwrap();
        files
    }

    #[test]
    fn a_slice_has_the_first_rows_and_a_truth_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let files = slice_of_sample(dir.path());
        let whole = std::fs::read(sample("sift-sample").unwrap().base).unwrap();
        let crop = std::fs::read(&files.base).unwrap();
        assert_eq!(crop[..4], 1000u32.to_le_bytes());
        assert_eq!(crop[4..], whole[4..8 + 1000 * 128]);
        compute_truth(&files, &Silent).unwrap();
        assert_eq!(check_truth(&files, &Silent).unwrap(), RECHECKED);
        verify(&files);
    }

    #[test]
    fn the_samples_have_side_cars() {
        for name in ["sift-sample", "glove-sample"] {
            verify(&sample(name).unwrap());
        }
    }

    fn verify(files: &SetFiles) {
        let truth = GroundTruth::read(&files.truth).unwrap();
        let (base, query) = (fingerprint(&files.base).unwrap(), fingerprint(&files.query).unwrap());
        verify_sidecar(&files.truth, &TruthMeta::new(Metric::L2, base, query, &truth)).unwrap();
    }

    #[test]
    fn the_truth_of_other_rows_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = slice_of_sample(dir.path());
        files.truth = sample("sift-sample").unwrap().truth;
        assert!(check_truth(&files, &Silent).unwrap_err().to_string().contains("no row of a base"));
        let longer = SetFiles { base: dir.path().join("base.u8bin.crop_nb_20000"), ..files.clone() };
        let mut rows = std::fs::read(sample("sift-sample").unwrap().base).unwrap();
        rows[8..].rotate_left(128);
        std::fs::write(&longer.base, rows).unwrap();
        // The same rows under other ids keep the distances; other rows do not.
        check_truth(&longer, &Silent).unwrap();
        let mut rows = std::fs::read(&longer.base).unwrap();
        rows[8..].rotate_left(1);
        std::fs::write(&longer.base, rows).unwrap();
        let message = format!("{:#}", check_truth(&longer, &Silent).unwrap_err());
        assert!(message.contains("belongs to other data"), "{message}");
    }
}
