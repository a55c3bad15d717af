//! The metrics, with the one sign and scale of each.
//!
//! | metric | ordering distance (inside, smaller is nearer) | what users see ([`Metric::user_distance`]) |
//! | --- | --- | --- |
//! | L2 | squared Euclidean distance | the same: squared Euclidean distance, smaller is nearer |
//! | inner product | −(a · b) | a · b, larger is nearer |
//! | cosine | 2 − 2·cos(a, b), the squared L2 distance of the normalised vectors | the same, 0 to 4, smaller is nearer |
//!
//! What users see is the scale of the big-ann ground-truth files, so a result can be laid beside a truth file
//! as it is. The cosine similarity itself is `1 − d / 2`.
//! A zero vector has no direction: its cosine with anything, itself included, counts as 0, so its cosine
//! distance is 2. This holds for stored vectors and for queries alike, on every path.

use serde::{Deserialize, Serialize};

/// How near two vectors are. See the module documentation for signs and scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Squared Euclidean distance.
    L2,
    /// Inner (dot) product, larger is nearer.
    #[serde(rename = "ip")]
    InnerProduct,
    /// Angle between vectors, as the squared L2 distance of the normalised vectors.
    Cosine,
}

impl Metric {
    /// Every metric, in the order of their on-disk codes.
    pub const ALL: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

    /// The name used on the command line and in manifests: `l2`, `ip` or `cosine`.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::L2 => "l2",
            Metric::InnerProduct => "ip",
            Metric::Cosine => "cosine",
        }
    }

    /// Turns an ordering distance into the value users see. It is its own inverse.
    pub fn user_distance(self, ordering: f32) -> f32 {
        match self {
            Metric::L2 | Metric::Cosine => ordering,
            // 0 − x, not −x: no user should meet a negative zero.
            Metric::InnerProduct => 0.0 - ordering,
        }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Metric::ALL
            .into_iter()
            .find(|metric| metric.name() == name)
            .ok_or_else(|| format!("unknown metric `{name}`; expected l2, ip or cosine"))
    }
}
