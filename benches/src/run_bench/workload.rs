//! Queries and their exact neighbours, held against the index before anything is measured.

use super::command::Job;
use anyhow::{Context, Result, ensure};
use gleann::SearchResult;
use gleann_storage::IndexDirectory;
use gleann_vector::{
    ContentHash, Element, Fingerprint, GroundTruth, Key, Matrix, Metric, Recall, RecallParams, SidecarError,
    TruthMeta, VectorFile, verify_sidecar,
};

/// A distance this much beyond the k-th true one, relatively, still counts in the recall by distances.
const TOLERANCE: f32 = 1e-3;

/// What is asked, and what the right answers are.
#[derive(Debug)]
pub struct Workload<T: Element> {
    /// The queries.
    pub queries: Matrix<T>,
    truth: GroundTruth,
    keys: Option<Vec<Key>>,
    metric: Metric,
    k: usize,
}

/// Recall in the definitions of the field.
#[derive(Debug, Clone, Copy)]
pub struct Recalls {
    /// By ids, ties at rank k counted as found.
    pub official: f64,
    /// By distances.
    pub distance: Option<f64>,
    /// The true nearest among the k found.
    pub first_of_k: f64,
}

impl<T: Element> Workload<T> {
    /// Loads the files of `job` and makes sure that they belong to the index in `directory`.
    ///
    /// # Errors
    /// A file cannot be read, or belongs to other data.
    pub fn load(job: &Job, directory: &IndexDirectory) -> Result<Self> {
        let manifest = directory.manifest();
        let file = VectorFile::open(&job.query)?;
        let queries: Matrix<T> = file.read_all().context("the queries do not fit the index")?;
        let (found, expected) = (queries.dim(), manifest.layout.dim());
        ensure!(
            found == expected,
            "{}: {found} dimensions, the index has {expected}; use the queries of its data",
            job.query.display()
        );
        ensure!(queries.rows() > 0, "{}: no queries; expected at least one", job.query.display());
        let truth = GroundTruth::read(&job.truth)?;
        // What a live index holds by now, its manifest does not know: the truth is taken to name its keys.
        let live = IndexDirectory::is_live(&job.index);
        if !live {
            truth.check_ids(&job.truth, u64::from(manifest.nodes))?;
        }
        ensure!(
            truth.queries == queries.rows(),
            "{}: answers to {} queries, {} has {}; they do not belong together",
            job.truth.display(),
            truth.queries,
            job.query.display(),
            queries.rows()
        );
        let k = job.k as usize;
        ensure!(
            k <= truth.k,
            "{}: {} neighbours a query; expected at least k = {k}",
            job.truth.display(),
            truth.k
        );
        let keys = if live {
            None
        } else {
            vouched(job, directory, (&Fingerprint::of(&file.source::<T>()?)?, &truth))?;
            keys_by_row(directory)?
        };
        let (queries, truth) = first(job.queries, queries, truth);
        Ok(Self { queries, truth, keys, metric: manifest.metric, k })
    }

    /// Recall of answers to the queries, once or several times around.
    ///
    /// # Errors
    /// The truth names rows without a key.
    pub fn recalls(&self, answers: &[SearchResult]) -> Result<Recalls> {
        let found: Vec<Vec<(Key, f32)>> =
            answers.iter().map(|a| a.hits.iter().map(|hit| (hit.key, hit.distance)).collect()).collect();
        let (mut official, mut distance, mut first_of_k) = (0.0, 0.0, 0.0);
        let passes = found.chunks_exact(self.queries.rows());
        let count = passes.len() as f64;
        for pass in passes {
            let recall = self.measure(pass, self.k)?;
            official += recall.official;
            distance += recall.distance.unwrap_or(0.0);
            first_of_k += self.measure(pass, 1)?.k_at_n;
        }
        let distance = self.truth.distances.as_ref().map(|_| distance / count);
        Ok(Recalls { official: official / count, distance, first_of_k: first_of_k / count })
    }

    fn measure(&self, found: &[Vec<(Key, f32)>], k: usize) -> Result<Recall> {
        let (metric, keys) = (self.metric, self.keys.as_deref());
        let params = RecallParams { metric, k, n: self.k, tolerance: TOLERANCE, keys };
        Ok(Recall::measure(&self.truth, found, &params)?)
    }
}

/// The key of every row of the data, in the order of its rows; none where keys are row numbers. The keys of an index are
/// in the order of its internal ids, which is that of the rows unless it was renumbered.
fn keys_by_row(directory: &IndexDirectory) -> Result<Option<Vec<Key>>> {
    let Some(keys) = directory.keys()? else { return Ok(None) };
    if directory.manifest().packing.ids_are_rows() {
        return Ok(Some(keys));
    }
    let mut seen = vec![false; keys.len()];
    for &key in &keys {
        let place = usize::try_from(key).ok().and_then(|row| seen.get_mut(row));
        let row = place.filter(|seen| !**seen).with_context(|| {
            format!(
                "{}: it was renumbered and has keys of its own, so that nobody knows which rows its vectors are and the \
                 truth says nothing about it; expected row numbers as keys: build it without --keys to measure it",
                directory.path().display()
            )
        })?;
        *row = true;
    }
    Ok(None)
}

/// The first `count` queries with their answers; all if they are fewer.
fn first<T: Element>(
    count: Option<u32>,
    queries: Matrix<T>,
    mut truth: GroundTruth,
) -> (Matrix<T>, GroundTruth) {
    let Some(count) = count.map(|count| count as usize).filter(|&count| count < queries.rows()) else {
        return (queries, truth);
    };
    truth.queries = count;
    truth.ids.truncate(count * truth.k);
    if let Some(distances) = &mut truth.distances {
        distances.truncate(count * truth.k);
    }
    (Matrix::from_rows(&queries.as_slice()[..count * queries.dim()], queries.dim()), truth)
}

/// Holds the side-car of the truth against index, queries and truth. Where there is none, a note says so.
fn vouched(
    job: &Job,
    directory: &IndexDirectory,
    (queries, truth): (&Fingerprint, &GroundTruth),
) -> Result<()> {
    let recorded = match TruthMeta::read(&job.truth) {
        Err(SidecarError::Missing { path }) => {
            eprintln!(
                "note: {} is missing: nothing but its shape tells that the truth belongs to this index",
                path.display()
            );
            return Ok(());
        }
        recorded => recorded?,
    };
    let manifest = directory.manifest();
    let base = Fingerprint {
        element: manifest.layout.element(),
        rows: u64::from(manifest.nodes),
        dim: manifest.layout.dim() as u64,
        // Without the build's report the index does not know what its vectors hash to.
        hash: content_hash(directory).unwrap_or(recorded.base.hash),
    };
    Ok(verify_sidecar(&job.truth, &TruthMeta::new(manifest.metric, base, *queries, truth))?)
}

/// Hash of the vectors an index was built over, as its build has noted it.
fn content_hash(directory: &IndexDirectory) -> Option<ContentHash> {
    let report = directory.report().ok()?;
    let content = report.get("parameters")?.get("content")?.as_str()?;
    ContentHash::try_from(content.to_owned()).ok()
}
