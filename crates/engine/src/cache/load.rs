//! The records of a cache are chosen and read when an index is opened.

use super::{CachePolicy, CacheSize};
use crate::error::OpenError;
use crate::io::{Direct, MapIo, Mapped, map_file};
use gleann_search::{Cache, Driver, Entry, Query, Records, SearchIndex, SearchOptions, Turn, breadth_first};
use gleann_storage::{BlockReader, GraphFile, NodeReader, VirtualClock};
use gleann_vector::{Element, Matrix, NodeId, VectorFile};
use std::path::Path;
use std::sync::Arc;

/// Searches of the sample run with a pool of this length.
const SAMPLE_LIST: usize = 50;
/// Vectors of the index that stand for queries where there are none.
const OWN_SAMPLE: u64 = 1000;
/// Reads that a search of the sample may have in flight.
const SAMPLE_CAPACITY: usize = 64;

/// Loads what `policy` says for `index`, which must have no cache yet.
///
/// # Errors
/// A record is damaged or cannot be read, or the sample of queries cannot.
pub(crate) fn load_cache<T: Element>(
    index: SearchIndex<T>,
    graph: &GraphFile,
    policy: &CachePolicy,
) -> Result<SearchIndex<T>, OpenError> {
    let bytes_each = index.layout.record_bytes() as u64 + Records::BESIDE;
    let most = |size: &CacheSize| size.records(index.nodes, bytes_each) as usize;
    let mut reader = NodeReader::new(graph);
    let (index, mut nodes) = match policy {
        CachePolicy::None => return Ok(index),
        CachePolicy::Sssp(size) => {
            let navigation = index.entry.mem_graph.iter().flat_map(|graph| graph.nodes());
            let entries = index.entry.medoid.iter().chain(navigation).copied();
            let nodes = breadth_first(entries, most(size), |id, list| {
                list.extend(reader.record(NodeId(id))?.neighbours());
                Ok::<_, OpenError>(())
            })?;
            (index, nodes)
        }
        CachePolicy::Hot { size, queries } => {
            let most = most(size);
            let queries = sample(&index, &mut reader, queries.as_deref())?;
            let (index, mut nodes) = most_wanted(index, graph, &queries)?;
            nodes.truncate(most);
            (index, nodes)
        }
    };
    nodes.sort_unstable();
    let mut records = Matrix::<u8>::zeroed(nodes.len(), index.layout.record_bytes());
    for (row, &node) in nodes.iter().enumerate() {
        records.row_mut(row).copy_from_slice(reader.bytes(NodeId(node))?);
    }
    Ok(SearchIndex { cache: Cache::Held(Records::new(nodes, records)), ..index })
}

/// The queries whose demand decides.
fn sample<T: Element>(
    index: &SearchIndex<T>,
    reader: &mut NodeReader<'_>,
    queries: Option<&Path>,
) -> Result<Matrix<T>, OpenError> {
    let dim = index.layout.dim();
    let Some(path) = queries else {
        let count = OWN_SAMPLE.min(index.nodes.into());
        let mut rows = Matrix::<T>::zeroed(count as usize, dim);
        for row in 0..count {
            let node = (row * u64::from(index.nodes) / count) as u32;
            rows.row_mut(row as usize).copy_from_slice(reader.record(NodeId(node))?.vector());
        }
        return Ok(rows);
    };
    let refused = |message: String| OpenError::CacheSample { path: path.to_owned(), message };
    let file = VectorFile::open(path).map_err(|error| refused(error.to_string()))?;
    if (file.element_type(), file.dim()) != (T::TYPE, dim) {
        return Err(refused(format!(
            "it holds vectors of {} × {}, the index of {dim} × {}",
            file.dim(),
            file.element_type(),
            T::TYPE
        )));
    }
    file.read_all().map_err(|error| refused(error.to_string()))
}

/// The nodes that searches for `queries` want, most wanted first.
fn most_wanted<T: Element>(
    index: SearchIndex<T>,
    graph: &GraphFile,
    queries: &Matrix<T>,
) -> Result<(SearchIndex<T>, Vec<u32>), OpenError> {
    let counting = Arc::new(SearchIndex { cache: Cache::counting(index.nodes), ..index });
    let map = map_file(graph.file()).map_err(|source| OpenError::Graph {
        path: graph.path().to_owned(),
        direct: Direct::Off,
        source,
    })?;
    let reader = BlockReader::new(MapIo::new(Mapped(Arc::new(map)), SAMPLE_CAPACITY), graph.target());
    let entry = if counting.entry.mem_graph.is_some() { Entry::MEM_GRAPH } else { Entry::Medoid };
    let options = SearchOptions { list: SAMPLE_LIST, entry, ..SearchOptions::DEFAULT };
    let mut driver = Driver::new(counting.clone(), reader, VirtualClock::default(), 1);
    for row in 0..queries.rows() {
        let query = Query { vector: queries.row(row), k: 1, options, cancel: None };
        let mut failure = driver.start((), query).err().map(|(_, error)| error);
        while failure.is_none() && driver.turn(&mut |_, outcome| failure = outcome.err()) != Turn::Idle {}
        if let Some(error) = failure {
            return Err(OpenError::CacheSearch(error));
        }
    }
    drop(driver);
    let index = Arc::into_inner(counting).expect("the driver, which shared it, is gone");
    let nodes = if let Cache::Counting(demand) = &index.cache { demand.most_wanted() } else { Vec::new() };
    Ok((index, nodes))
}
