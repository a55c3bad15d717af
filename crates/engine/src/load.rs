//! What searches of an index share, loaded when it is opened.

use crate::error::OpenError;
use crate::mem_graph::load_mem_graph;
use crate::options::OpenOptions;
use gleann_graph::Graph;
use gleann_quant::{Codebook, Codes};
use gleann_search::{Cache, EntryPoints, Estimates, SearchIndex};
use gleann_spann::PostingIndex;
use gleann_storage::{
    CodeFormat, GraphFile, IndexDirectory, MemberKind, NodeReader, ReadTarget, StorageError,
};
use gleann_vector::{Distance, Element, Matrix, NodeId};
use std::sync::Arc;

/// Loads what traversals share, but for the cache.
///
/// # Errors
/// A member is missing or damaged, or the members contradict each other.
pub(crate) fn load_graph<T: Element>(
    directory: &IndexDirectory,
    graph: &GraphFile,
    options: &OpenOptions,
) -> Result<SearchIndex<T>, OpenError> {
    let manifest = directory.manifest();
    let medoid = manifest.entry.map(|node| node.0);
    let estimates = load_estimates::<T>(directory, graph)?;
    let mem_graph = if options.mem_graph { load_mem_graph(directory, estimates.codebook())? } else { None };
    Ok(SearchIndex {
        layout: manifest.layout,
        nodes: manifest.nodes,
        distance: Distance::new(manifest.metric, manifest.layout.dim()),
        estimates,
        entry: EntryPoints { medoid, mem_graph },
        cache: Cache::Empty,
        changes: None,
    })
}

/// What neighbours are judged by: codes in memory, codes in records, or nothing.
fn load_estimates<T: Element>(directory: &IndexDirectory, graph: &GraphFile) -> Result<Estimates, OpenError> {
    let manifest = directory.manifest();
    if manifest.codes == CodeFormat::None {
        return Ok(Estimates::Off);
    }
    let path = directory.path().to_owned();
    let wrong =
        |error: &dyn std::fmt::Display| OpenError::Codes { path: path.clone(), message: error.to_string() };
    let codebook = load_codebook(directory)?;
    if manifest.layout.code_bytes() > 0 {
        let medoid = manifest.entry.map(|node| code_of::<T>(node, graph, &codebook)).transpose()?;
        return Ok(Estimates::Record { codebook, medoid });
    }
    let Some(codes) = directory.codes()? else { return Err(OpenError::NoCodes(path)) };
    let codes = Codes::new(codes, &codebook).map_err(|error| wrong(&error))?;
    Ok(Estimates::Memory { codebook, codes })
}

/// What the codes of an index mean.
///
/// # Errors
/// The codebook is missing, damaged, or of another index.
pub(crate) fn load_codebook(directory: &IndexDirectory) -> Result<Codebook, OpenError> {
    let (manifest, path) = (directory.manifest(), directory.path().to_owned());
    let Some(codebook) = directory.codebook()? else { return Err(OpenError::NoCodes(path)) };
    let wrong = |message: String| OpenError::Codes { path: path.clone(), message };
    let codebook = Codebook::from_bytes(&codebook).map_err(|error| wrong(error.to_string()))?;
    if (codebook.dim(), codebook.metric()) != (manifest.layout.dim(), manifest.metric) {
        return Err(wrong(format!(
            "the codebook is for {} dimensions under {}, the index has {} under {}",
            codebook.dim(),
            codebook.metric(),
            manifest.layout.dim(),
            manifest.metric
        )));
    }
    if codebook.chunks() != manifest.codes.bytes_per_node() {
        let (found, expected) = (codebook.chunks(), manifest.codes.bytes_per_node());
        return Err(wrong(format!("the codebook has {found} chunks, the index codes of {expected} bytes")));
    }
    Ok(codebook)
}

/// The code of a node whose vector lies in the graph file.
fn code_of<T: Element>(node: NodeId, graph: &GraphFile, codebook: &Codebook) -> Result<Codes, OpenError> {
    let mut reader = NodeReader::new(graph);
    let record = reader.record(node)?;
    let mut code = Matrix::<u8>::zeroed(1, codebook.chunks());
    codebook.encode_rows(record.vector::<T>(), code.as_mut_slice());
    Ok(Codes::new(code, codebook).expect("a codebook makes codes of its own"))
}

/// Loads what probes share.
///
/// # Errors
/// A member is missing or damaged.
pub(crate) fn load_postings<T: Element>(
    directory: &IndexDirectory,
) -> Result<(Arc<PostingIndex<T>>, ReadTarget), OpenError> {
    let manifest = directory.manifest();
    let file = directory.postings()?;
    let centroids = directory.centroids::<T>()?.ok_or_else(|| StorageError::MissingMember {
        path: directory.path().join(MemberKind::Centroids.file_name()),
    })?;
    let entry = manifest.entry.map(|node| node.0);
    let index = PostingIndex {
        layout: *file.layout(),
        nodes: manifest.nodes,
        distance: Distance::new(manifest.metric, manifest.layout.dim()),
        graph: Graph::from_lists(&centroids.lists, manifest.layout.degree(), entry),
        centroids: centroids.vectors,
    };
    Ok((Arc::new(index), file.target()))
}
