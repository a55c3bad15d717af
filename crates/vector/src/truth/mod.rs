//! Exact ground truth: found by brute force, kept in the big-ann form, tied to its data by a side-car.

mod exact;
mod exact_distance;
mod file;
mod filter;
mod fingerprint;
mod sidecar;

pub use exact::{TruthError, TruthParams, exact_truth};
pub use file::{GroundTruth, NO_ID};
pub use fingerprint::{ContentHash, Fingerprint};
pub use sidecar::{SidecarError, TruthMeta, sidecar_path, verify_sidecar};
