//! From vectors to postings: clusters, their centroids, the graph over them, replication.

use crate::closure::Heads;
use crate::params::ClusterParams;
use crate::partition::Divider;
use crate::placement::{Placement, place};
use gleann_graph::{BuildDistance, Graph, repair};
use gleann_vector::{Cancelled, Element, Matrix, Progress};
use rayon::prelude::*;

/// Postings and what finds them.
#[derive(Debug)]
pub struct Clusters<T: Element> {
    /// The rows in each posting, at least one and at most the capacity; every row is in one or more.
    pub members: Vec<Vec<u32>>,
    /// The centroid of each posting: one of the vectors.
    pub centroids: Matrix<T>,
    /// The graph over the centroids; every one can be reached.
    pub graph: Graph,
}

/// Clusters `vectors`, on the caller's rayon pool. Deterministic in its arguments.
///
/// # Errors
/// `progress` asked to stop.
///
/// # Panics
/// If the parameters do not pass their checks.
pub fn cluster<T: Element>(
    vectors: &Matrix<T>,
    distance: &BuildDistance<T>,
    params: &ClusterParams,
    progress: &dyn Progress,
) -> Result<Clusters<T>, Cancelled> {
    params.check().expect("parameters are checked before a build");
    let (rows, seed) = (vectors.rows() as u64, params.graph.seed);
    let divider = Divider { vectors, metric: distance.metric(), leaf: params.cluster, progress };
    progress.phase("cluster", rows);
    let leaves = divider.leaves((0..vectors.rows() as u32).collect(), seed)?;
    let mut heads: Vec<u32> = leaves.par_iter().map(|leaf| divider.medoid(leaf)).collect();
    drop(leaves);
    let (centroids, graph) = navigation(vectors, distance, &heads, (params, progress))?;
    progress.phase("replicate", rows);
    let claims = Heads { vectors, distance, rows: &heads, graph: &graph }.claims(params, progress)?;
    let room = (heads.len(), params.capacity);
    let Placement { mut members, homeless } = place(&claims, params.replicas, room);
    drop(claims);
    let empty = members.iter().any(Vec::is_empty);
    if homeless.is_empty() && !empty {
        return Ok(Clusters { members, centroids, graph });
    }
    // More vectors in one place than its postings hold: those left over make postings of their own.
    let own = Divider { leaf: params.capacity, ..divider }.leaves(homeless, seed)?;
    heads.extend(own.iter().map(|leaf| divider.medoid(leaf)));
    members.extend(own);
    let used: Vec<bool> = members.iter().map(|members| !members.is_empty()).collect();
    let mut keep = used.iter();
    heads.retain(|_| *keep.next().expect("one a posting"));
    members.retain(|members| !members.is_empty());
    let (centroids, graph) = navigation(vectors, distance, &heads, (params, progress))?;
    Ok(Clusters { members, centroids, graph })
}

/// The rows `heads` and the graph over them.
fn navigation<T: Element>(
    vectors: &Matrix<T>,
    distance: &BuildDistance<T>,
    heads: &[u32],
    (params, progress): (&ClusterParams, &dyn Progress),
) -> Result<(Matrix<T>, Graph), Cancelled> {
    let mut centroids = Matrix::zeroed(heads.len(), vectors.dim());
    for (row, &head) in heads.iter().enumerate() {
        centroids.row_mut(row).copy_from_slice(vectors.row(head as usize));
    }
    let own = BuildDistance::new(distance.metric(), &centroids);
    let mut graph = gleann_graph::build(&centroids, &own, &params.graph, progress)?;
    let entry = graph.entry();
    match repair(&mut graph, entry, |_, _, _| {}) {
        Ok(_) => Ok((centroids, graph)),
    }
}
