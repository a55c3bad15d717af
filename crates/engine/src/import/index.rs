//! An index of this project as a source: another layout of the same graph.

use super::nodes::Nodes;
use super::order::RowOrder;
use super::source::{GRAPH, SourceParts, are_row_numbers};
use super::{GraphSource, ImportError};
use crate::build::{BuildError, BuildOptions};
use gleann_quant::Codebook;
use gleann_storage::{IndexDirectory, IndexKind, Manifest};
use gleann_vector::Key;
use std::path::Path;

impl GraphSource {
    /// Opens the index in `dir`. Whatever its packing, rows are in the ascending order of keys, so that it makes no
    /// difference through how many layouts a graph has gone.
    ///
    /// # Errors
    /// There is no index, it is damaged, or its keys are not unique.
    pub fn from_index(dir: &Path) -> Result<Self, BuildError> {
        let directory = IndexDirectory::open(dir)?;
        let manifest = directory.manifest();
        if manifest.kind != IndexKind::Graph {
            let what = "it holds postings (SPANN) and no graph to take over; build a graph over its vectors";
            return Err(ImportError::unsupported(dir, what).into());
        }
        let (order, keys) = match directory.keys()? {
            None => (None, None),
            Some(keys) => by_key(dir, &keys)?,
        };
        let row = |node: u32| order.as_ref().map_or(node, |order| order.row(node));
        let parameters = &manifest.parameters;
        let graph = parameters.options.get(GRAPH).cloned();
        let codebook = directory.codebook()?.map(|bytes| {
            Codebook::from_bytes(&bytes)
                .map_err(|source| ImportError::Codebook { path: dir.to_owned(), source })
        });
        let codebook = codebook.transpose()?;
        Ok(Self::new(SourceParts {
            dim: manifest.layout.dim(),
            element: manifest.layout.element(),
            entry: manifest.entry.map(|node| row(node.0)),
            codebook,
            mem_graph: None,
            graph: Some(graph.unwrap_or_else(|| manifest.build_id.to_string())),
            options: options_of(manifest, keys),
            known: true,
            notes: Vec::new(),
            name: dir.display().to_string(),
            nodes: Nodes::Index(directory.graph()?),
            order,
        }))
    }
}

fn options_of(manifest: &Manifest, keys: Option<Vec<Key>>) -> BuildOptions {
    let (layout, parameters) = (&manifest.layout, &manifest.parameters);
    let defaults = BuildOptions::default();
    let code = manifest.codes.bytes_per_node();
    BuildOptions {
        metric: manifest.metric,
        degree: layout.degree(),
        build_list: parameters.build_list as usize,
        alpha: parameters.alpha,
        passes: parameters.passes,
        pq_bytes: if code == 0 { defaults.pq_bytes.min(layout.dim()) } else { code },
        page_size: layout.page_size(),
        seed: parameters.seed,
        keys,
        ..defaults
    }
}

/// The order of nodes by key, and the keys in that order unless they are row numbers.
fn by_key(dir: &Path, keys: &[Key]) -> Result<(Option<RowOrder>, Option<Vec<Key>>), ImportError> {
    let mut nodes: Vec<u32> = (0..keys.len() as u32).collect();
    if !keys.is_sorted() {
        nodes.sort_unstable_by_key(|&node| keys[node as usize]);
    }
    let ascending: Vec<Key> = nodes.iter().map(|&node| keys[node as usize]).collect();
    if let Some(pair) = ascending.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ImportError::field(dir, "a key", format!("{} twice", pair[0]), "different keys"));
    }
    let numbers = are_row_numbers(&ascending);
    Ok((RowOrder::of(nodes), (!numbers).then_some(ascending)))
}
