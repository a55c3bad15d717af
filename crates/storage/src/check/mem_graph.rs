//! Checking `mem.graph`: what a search survives, but a build never makes.

use crate::check::CheckReport;
use crate::manifest::Manifest;
use crate::mem_graph_file::{PointFormat, StoredMemGraph};
use gleann_vector::{Element, ElementType, check_finite};
use half::f16;

/// Lists the problems of a navigation graph that could be loaded: neighbours that are the node itself or stand
/// there twice, points that are no codes of this codebook (`centroids` a chunk, where that is known) or not finite.
pub(crate) fn check_mem_graph(
    graph: &StoredMemGraph,
    manifest: &Manifest,
    centroids: Option<&[u32]>,
    mut problem: impl FnMut(String),
) {
    let mut sorted = Vec::new();
    for (place, &node) in graph.nodes.iter().enumerate() {
        sorted.clear();
        sorted.extend_from_slice(graph.list(place));
        sorted.sort_unstable();
        if sorted.contains(&(place as u32)) {
            problem(format!("node {node}: a neighbour is the node itself"));
        }
        for run in sorted.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
            let other = graph.nodes[run[0] as usize];
            problem(format!("node {node}: neighbour {other} is listed {} times", run.len()));
        }
        if let Some(wrong) = wrong_point(graph, manifest, centroids, place) {
            problem(format!("node {node}: {wrong}"));
        }
    }
}

fn wrong_point(
    graph: &StoredMemGraph,
    manifest: &Manifest,
    centroids: Option<&[u32]>,
    place: usize,
) -> Option<String> {
    let point = graph.points.row(place);
    match graph.format {
        PointFormat::Codes => {
            let centroids = centroids?;
            let chunk = centroids.iter().zip(point).position(|(&n, &c)| u32::from(c) >= n)?;
            Some(format!("chunk {chunk}: code {} of {} centroids", point[chunk], centroids[chunk]))
        }
        PointFormat::Vectors => match manifest.layout.element() {
            ElementType::F32 => not_finite::<f32>(point),
            ElementType::F16 => not_finite::<f16>(point),
            ElementType::U8 | ElementType::I8 => None,
        },
    }
}

fn not_finite<T: Element>(point: &[u8]) -> Option<String> {
    let mut vector = vec![T::zeroed(); point.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut vector).copy_from_slice(point);
    let error = check_finite(&vector, vector.len(), 0).err()?;
    Some(format!("component {} is {}", error.component, error.value))
}

impl CheckReport {
    /// Adds the problems of the navigation graph `graph` in the file `name`.
    pub(crate) fn take_mem_graph(
        &mut self,
        name: &str,
        graph: &StoredMemGraph,
        (manifest, centroids): (&Manifest, Option<&[u32]>),
    ) {
        check_mem_graph(graph, manifest, centroids, |message| self.problem(name, None, message));
    }
}
