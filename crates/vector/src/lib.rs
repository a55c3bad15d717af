//! Vectors and what is measured on them: element types, metrics, distance kernels, vector files,
//! exact ground truth and recall.
//!
//! Invariant: this crate knows nothing of graphs, codes, pages or searches. It starts no thread of its own
//! (parallel work runs on the caller's rayon pool) and reads no clock.

mod distance;
mod element;
mod files;
mod finite;
mod id;
mod matrix;
mod metric;
mod pool;
mod progress;
mod recall;
mod source;
mod truth;

pub use distance::{CpuPath, Distance, MAX_DIM, cpu_path, cpu_report};
pub use element::{Element, ElementType};
pub use files::{
    FileError, FileFormat, FileProblem, FileRows, MappedRows, VectorFile, VectorWriter, crop_big_ann,
    read_keys, write_keys,
};
pub use finite::{NotFinite, check_finite};
pub use id::{Key, NodeId};
pub use matrix::{Matrix, prefetch};
pub use metric::Metric;
pub use pool::{Entry, Inserted, Pool};
pub use progress::{Cancelled, Progress, Silent};
pub use recall::{Recall, RecallError, RecallParams};
pub use source::{RowSource, SourceError};
pub use truth::{
    ContentHash, Fingerprint, GroundTruth, NO_ID, SidecarError, TruthError, TruthMeta, TruthParams,
    exact_truth, sidecar_path, verify_sidecar,
};
