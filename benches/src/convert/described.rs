//! What an ann-benchmarks or VIBE file says of itself, and what is not converted.

use super::tables::{Table, Tables};
use anyhow::{Result, bail, ensure};
use gleann_vector::{MAX_DIM, Metric};

/// How distances are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Euclidean distance, not squared.
    Euclidean,
    /// 1 − cosine.
    OneLessCosine,
    /// −(a · b).
    NegatedProduct,
}

impl Scale {
    /// What a distance on the scale that users see here is on this one.
    pub fn of_ours(self, distance: f32) -> f64 {
        let distance = f64::from(distance);
        match self {
            Scale::Euclidean => distance.max(0.0).sqrt(),
            Scale::OneLessCosine => distance / 2.0,
            Scale::NegatedProduct => -distance,
        }
    }
}

/// A data set that can be converted.
#[derive(Debug)]
pub struct Described {
    /// The vectors.
    pub base: Table,
    /// The queries.
    pub query: Table,
    /// The metric they are compared by.
    pub metric: Metric,
    /// The scale of the distances in the file.
    pub scale: Scale,
}

/// Reads attributes and shapes, and refuses what has no counterpart.
///
/// # Errors
/// A data set or attribute is missing or of another kind, or vectors are sparse or binary.
pub fn describe(file: &Tables) -> Result<Described> {
    let name = file.name();
    if let Some(kind) = file.text("type").filter(|kind| kind != "dense") {
        bail!("{name}: attribute `type` is `{kind}`; only `dense` vectors are converted");
    }
    if let Some(points) = file.text("point_type").filter(|points| points == "bit" || points == "binary") {
        bail!(
            "{name}: attribute `point_type` is `{points}`: there is no Hamming distance here, and packed bits taken as \
             numbers would give neighbours that are none"
        );
    }
    let Some(distance) = file.text("distance") else {
        bail!(
            "{name}: attribute `distance` is missing; expected euclidean, angular, cosine, normalized or ip"
        );
    };
    let (metric, scale) = match distance.as_str() {
        "euclidean" => (Metric::L2, Scale::Euclidean),
        "angular" | "cosine" | "normalized" => (Metric::Cosine, Scale::OneLessCosine),
        "ip" => (Metric::InnerProduct, Scale::NegatedProduct),
        "hamming" | "jaccard" => bail!("{name}: there is no {distance} distance here"),
        _ => bail!(
            "{name}: attribute `distance` is `{distance}`; expected euclidean, angular, cosine, normalized or ip"
        ),
    };
    let (base, query) = (file.vectors("train")?, file.vectors("test")?);
    ensure!(
        base.columns == query.columns && base.element == query.element,
        "{name}: `train` has {} × {}, `test` {} × {}; expected the same",
        base.columns,
        base.element,
        query.columns,
        query.element
    );
    ensure!(
        (1..=MAX_DIM as u64).contains(&base.columns),
        "{name}: vectors have {} components; expected 1 to {MAX_DIM}",
        base.columns
    );
    if let Some(dim) = file.number("dimension") {
        ensure!(
            dim == base.columns as f64,
            "{name}: attribute `dimension` is {dim}, but `train` has {} columns: packed bits?",
            base.columns
        );
    }
    Ok(Described { base, query, metric, scale })
}
