//! The navigation graph of an index, as searches use it and as a check sees it.

use crate::check::IndexCheck;
use crate::error::OpenError;
use gleann_graph::{Graph, reachable};
use gleann_quant::{Codebook, Codes};
use gleann_search::{MemGraph, Points};
use gleann_storage::{
    GraphFile, IndexDirectory, MemberKind, NodeReader, PointFormat, StorageError, StoredMemGraph,
};
use gleann_vector::{Element, ElementType, Matrix, NodeId, Progress};
use half::f16;

/// Points that are computed anew, at most.
const SAMPLED_POINTS: usize = 10_000;

/// Loads the navigation graph; `None` where the index has none.
///
/// # Errors
/// Its file is missing or damaged, or does not go with the codebook.
pub(crate) fn load_mem_graph<T: Element>(
    directory: &IndexDirectory,
    codebook: Option<&Codebook>,
) -> Result<Option<MemGraph<T>>, OpenError> {
    let Some(stored) = directory.mem_graph()? else { return Ok(None) };
    let graph = graph_of(&stored);
    let points = match (stored.format, codebook) {
        (PointFormat::Vectors, _) => Points::Vectors(vectors_of(&stored.points)),
        (PointFormat::Codes, Some(codebook)) => {
            let codes = Codes::new(stored.points, codebook).map_err(|error| OpenError::Codes {
                path: directory.path().join(MemberKind::MemGraph.file_name()),
                message: error.to_string(),
            })?;
            Points::Codes(codes)
        }
        (PointFormat::Codes, None) => return Err(OpenError::NoCodes(directory.path().to_owned())),
    };
    Ok(Some(MemGraph::new(stored.nodes, points, graph)))
}

fn graph_of(stored: &StoredMemGraph) -> Graph {
    let lists: Vec<&[u32]> = (0..stored.nodes.len()).map(|place| stored.list(place)).collect();
    Graph::from_lists(&lists, stored.degree, stored.entry)
}

/// Bytes as the vectors they are.
fn vectors_of<T: Element>(points: &Matrix<u8>) -> Matrix<T> {
    let mut vectors = Matrix::<T>::zeroed(points.rows(), points.dim() / size_of::<T>());
    bytemuck::cast_slice_mut(vectors.as_mut_slice()).copy_from_slice(points.as_slice());
    vectors
}

/// Checks that every node of the navigation graph can be reached, and that points are those of their nodes.
///
/// # Errors
/// `progress` asked to stop, or the graph cannot be read.
pub(crate) fn check_mem_graph(
    check: &mut IndexCheck,
    index: &IndexDirectory,
    codebook: Option<&Codebook>,
    progress: &dyn Progress,
) -> Result<(), StorageError> {
    let Some(stored) = index.mem_graph()? else { return Ok(()) };
    progress.phase("check navigation graph", 0);
    let name = MemberKind::MemGraph.file_name();
    let Ok(reached) = reachable(&graph_of(&stored), stored.entry);
    for place in reached.unreached() {
        let node = stored.nodes[place as usize];
        check.problem(name, None, format!("node {node} cannot be reached from the graph's entry"));
    }
    let differing = match index.manifest().layout.element() {
        ElementType::F32 => differing_points::<f32>(&index.graph()?, &stored, codebook, progress)?,
        ElementType::F16 => differing_points::<f16>(&index.graph()?, &stored, codebook, progress)?,
        ElementType::U8 => differing_points::<u8>(&index.graph()?, &stored, codebook, progress)?,
        ElementType::I8 => differing_points::<i8>(&index.graph()?, &stored, codebook, progress)?,
    };
    for node in differing {
        check.problem(name, None, format!("the point of node {node} is not that of its vector"));
    }
    Ok(())
}

/// Nodes whose point is not what their vector in the index gives; a sample of them, where there are many.
fn differing_points<T: Element>(
    graph: &GraphFile,
    stored: &StoredMemGraph,
    codebook: Option<&Codebook>,
    progress: &dyn Progress,
) -> Result<Vec<u32>, StorageError> {
    let mut reader = NodeReader::new(graph);
    let mut code = vec![0; codebook.map_or(0, Codebook::chunks)];
    let mut differing = Vec::new();
    let step = stored.nodes.len().div_ceil(SAMPLED_POINTS).max(1);
    for (place, &node) in stored.nodes.iter().enumerate().step_by(step) {
        if progress.cancelled() {
            return Err(StorageError::Cancelled);
        }
        let record = reader.record(NodeId(node))?;
        let vector = record.vector::<T>();
        let expected: &[u8] = match (stored.format, codebook) {
            (PointFormat::Vectors, _) => bytemuck::cast_slice(vector),
            (PointFormat::Codes, Some(codebook)) => {
                codebook.encode_rows(vector, &mut code);
                &code
            }
            (PointFormat::Codes, None) => continue,
        };
        if stored.points.row(place) != expected {
            differing.push(node);
        }
    }
    Ok(differing)
}
