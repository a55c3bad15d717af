//! A static index over what another one holds, with the parameters of that one.

use crate::live::LiveSet;
use crate::progress::Console;
use anyhow::{Context, Result};
use gleann::{BuildOptions, Element, Index, OpenOptions, build_from_rows};
use gleann_vector::{FileRows, Matrix, RowSource};
use std::path::Path;

/// Builds it in `dir` and opens it.
///
/// # Errors
/// Rows cannot be read, or the build fails.
pub fn build_fresh<T: Element>(
    like: &Index,
    dir: &Path,
    (base, set): (&FileRows<T>, &LiveSet),
    open: OpenOptions,
) -> Result<Index> {
    let info = like.info();
    let mut rows = Matrix::<T>::zeroed(set.live() as usize, base.dim());
    for (at, (_, row)) in set.entries().enumerate() {
        base.read_rows(row.into(), rows.row_mut(at))?;
    }
    let options = BuildOptions {
        metric: info.metric,
        degree: info.layout.degree(),
        build_list: info.parameters.build_list as usize,
        alpha: info.parameters.alpha,
        passes: info.parameters.passes,
        pq_bytes: info.code_bytes.max(1),
        codes: info.codes,
        packing: info.packing,
        page_size: info.layout.page_size(),
        seed: info.parameters.seed,
        keys: Some(set.entries().map(|(tag, _)| tag.into()).collect()),
        ..BuildOptions::default()
    };
    let console = Console::start(false);
    let built = build_from_rows(&rows, dir, &options, &console);
    console.end();
    built.with_context(|| format!("building an index over the same vectors in {}", dir.display()))?;
    Ok(Index::open(dir, open)?)
}
