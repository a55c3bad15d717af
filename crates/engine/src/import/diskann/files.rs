//! Which files an index consists of. Nothing in them ties them together but their prefix.

use gleann_vector::{ElementType, Metric};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An index of DiskANN's family and what its files do not say of themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskAnnFiles {
    /// What the names of its files begin with: `PREFIX_disk.index`, `PREFIX_pq_pivots.bin`, `PREFIX_pq_compressed.bin`.
    pub prefix: PathBuf,
    /// The metric it was built for; `None`: what `PREFIX_metadata.bin` says, or L2 where there is none.
    pub metric: Option<Metric>,
    /// The element type; `None`: what `PREFIX_metadata.bin` says, or found by looking, and refused where that is not
    /// certain.
    pub element: Option<ElementType>,
    /// Starling's or PipeANN's partition file; `None`: `PREFIX_partition.bin.aligned` or `PREFIX_partition.bin` where
    /// there is one.
    pub partition: Option<PathBuf>,
}

impl DiskAnnFiles {
    /// The index with this prefix, everything else found by looking.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        Self { prefix: prefix.into(), metric: None, element: None, partition: None }
    }

    /// The file whose name is the prefix and `rest`.
    pub(crate) fn file(&self, rest: &str) -> PathBuf {
        with_suffix(&self.prefix, rest)
    }

    /// The file, where there is one.
    pub(crate) fn existing(&self, rest: &str) -> Option<PathBuf> {
        Some(self.file(rest)).filter(|path| path.exists())
    }
}

/// `prefix` with `rest` at its end.
pub(crate) fn with_suffix(prefix: &Path, rest: &str) -> PathBuf {
    let mut name: OsString = prefix.as_os_str().to_owned();
    name.push(rest);
    name.into()
}
