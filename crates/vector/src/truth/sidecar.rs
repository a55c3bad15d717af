//! The side-car of a ground-truth file: which data and which question its answers belong to.

use super::file::GroundTruth;
use super::fingerprint::{ContentHash, Fingerprint};
use crate::files::{AtomicFile, RawFile};
use crate::{FileError, FileProblem, Metric};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of the side-car written here.
const VERSION: u32 = 1;
/// A side-car is a few hundred bytes; more is something else.
const MAX_BYTES: u64 = 1 << 16;

/// What a ground truth was computed from, kept as JSON beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TruthMeta {
    version: u32,
    /// The metric of the distances.
    pub metric: Metric,
    /// Neighbours a query.
    pub k: u64,
    /// The base vectors.
    pub base: Fingerprint,
    /// The query vectors.
    pub queries: Fingerprint,
    /// Hash of the truth itself.
    pub truth: ContentHash,
}

/// A side-car that cannot vouch for a ground truth.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// It is not there.
    #[error("{}: there is no side-car; compute the ground truth anew to get one", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The ground truth belongs to something else.
    #[error(
        "{}: the ground truth was computed with {field} {recorded}, it is used with {found}; \
         compute it anew or use the data it was made from",
        path.display()
    )]
    Differs {
        /// The side-car.
        path: PathBuf,
        /// What differs.
        field: &'static str,
        /// Its value in the side-car.
        recorded: String,
        /// Its value now.
        found: String,
    },
}

/// `TRUTH.meta.json`, beside the truth.
pub fn sidecar_path(truth: &Path) -> PathBuf {
    let mut name = truth.as_os_str().to_owned();
    name.push(".meta.json");
    PathBuf::from(name)
}

impl TruthMeta {
    /// What ties `truth` to its data.
    pub fn new(metric: Metric, base: Fingerprint, queries: Fingerprint, truth: &GroundTruth) -> Self {
        Self {
            version: VERSION,
            metric,
            k: truth.k as u64,
            base,
            queries,
            truth: ContentHash::of_truth(truth),
        }
    }

    /// Writes the side-car of the ground truth at `truth`.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write(&self, truth: &Path) -> Result<(), SidecarError> {
        let path = sidecar_path(truth);
        let text =
            serde_json::to_string_pretty(self).map_err(|e| FileError::io(&path, "encoding", e.into()))?;
        let mut out = AtomicFile::create(&path)?;
        out.write(text.as_bytes())?;
        out.write(b"\n")?;
        Ok(out.commit(&[])?)
    }

    /// Reads the side-car of the ground truth at `truth`.
    ///
    /// # Errors
    /// It is not there, or no side-car of a version known here.
    pub fn read(truth: &Path) -> Result<Self, SidecarError> {
        let path = sidecar_path(truth);
        if !path.exists() {
            return Err(SidecarError::Missing { path });
        }
        let raw = RawFile::open(&path)?;
        if raw.len > MAX_BYTES {
            let (what, found, limit) = ("the number of bytes of a side-car", raw.len, MAX_BYTES);
            return Err(raw.error(FileProblem::TooLarge { what, found, limit }).into());
        }
        let bytes: Vec<u8> = raw.words(0, raw.len as usize)?;
        let content = |message: String| {
            SidecarError::File(raw.error(FileProblem::Content { place: "side-car".into(), message }))
        };
        let meta: Self = serde_json::from_slice(&bytes).map_err(|e| content(e.to_string()))?;
        if meta.version != VERSION {
            return Err(content(format!("version {} is unknown; expected {VERSION}", meta.version)));
        }
        Ok(meta)
    }

    /// Every field by name and value, in the order in which a difference is reported.
    fn fields(&self) -> [(&'static str, String); 11] {
        [
            ("metric", self.metric.to_string()),
            ("k", self.k.to_string()),
            ("base type", self.base.element.to_string()),
            ("base dimension", self.base.dim.to_string()),
            ("base rows", self.base.rows.to_string()),
            ("base hash", self.base.hash.to_string()),
            ("query type", self.queries.element.to_string()),
            ("query dimension", self.queries.dim.to_string()),
            ("query rows", self.queries.rows.to_string()),
            ("query hash", self.queries.hash.to_string()),
            ("truth hash", self.truth.to_string()),
        ]
    }
}

/// Checks that the ground truth at `truth` is what it is used as: `expected` is built by [`TruthMeta::new`] from
/// the data at hand and the truth as read.
///
/// # Errors
/// There is no side-car, it cannot be read, or something differs: the error names the first that does.
pub fn verify_sidecar(truth: &Path, expected: &TruthMeta) -> Result<(), SidecarError> {
    let recorded = TruthMeta::read(truth)?;
    for ((field, recorded), (_, found)) in recorded.fields().into_iter().zip(expected.fields()) {
        if recorded != found {
            return Err(SidecarError::Differs { path: sidecar_path(truth), field, recorded, found });
        }
    }
    Ok(())
}
