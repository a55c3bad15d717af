//! Closure assignment (SPANN §3.2.2): the postings a vector wants to be in. Those of its nearest centroids, as long as
//! they are not much farther than the nearest; and of two centroids that lie in one direction only the nearer, by the
//! rule of the relative neighbourhood graph, because a query that reads the one reads the other too.

use crate::params::ClusterParams;
use gleann_graph::{BuildDistance, Graph, Searcher, Target};
use gleann_vector::{Cancelled, Element, Matrix, Progress};
use rayon::prelude::*;

/// Centroids that are looked at for a vector, for each replica.
const CANDIDATES: usize = 8;
/// Vectors a task takes.
const PIECE: usize = 512;
/// A place of a vector that claims fewer postings.
pub(crate) const NONE: u32 = u32::MAX;

/// A posting that a vector wants to be in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    pub posting: u32,
    /// Distance to its centroid.
    pub distance: f32,
}

/// Vectors and the centroids among them.
pub(crate) struct Heads<'a, T: Element> {
    pub vectors: &'a Matrix<T>,
    pub distance: &'a BuildDistance<T>,
    /// The row that is the centroid of each posting.
    pub rows: &'a [u32],
    /// The graph over them.
    pub graph: &'a Graph,
}

impl<T: Element> Heads<'_, T> {
    /// The claims of every vector, `params.replicas` places each, nearest first; places left over are [`NONE`].
    /// Progress counts vectors.
    ///
    /// # Errors
    /// `progress` asked to stop.
    pub(crate) fn claims(
        &self,
        params: &ClusterParams,
        progress: &dyn Progress,
    ) -> Result<Vec<Claim>, Cancelled> {
        let none = Claim { posting: NONE, distance: f32::INFINITY };
        let mut claims = vec![none; self.vectors.rows() * params.replicas];
        let pieces = claims.par_chunks_mut(PIECE * params.replicas).enumerate();
        pieces.try_for_each_init(Searcher::new, |searcher, (piece, claims)| {
            if progress.cancelled() {
                return Err(Cancelled);
            }
            for (offset, claims) in claims.chunks_exact_mut(params.replicas).enumerate() {
                self.claim((piece * PIECE + offset) as u32, params.closure, searcher, claims);
            }
            progress.advance((claims.len() / params.replicas) as u64);
            Ok(())
        })?;
        Ok(claims)
    }

    fn claim(&self, row: u32, closure: f32, searcher: &mut Searcher, claims: &mut [Claim]) {
        let target = ToHeads { heads: self, row };
        searcher.run(self.graph, &target, self.graph.entry().as_slice(), CANDIDATES * claims.len());
        let limit = searcher.found().first().map_or(0.0, |nearest| nearest.distance * (1.0 + closure));
        let mut chosen = 0;
        for found in searcher.found() {
            if found.distance > limit || chosen == claims.len() {
                return;
            }
            let covered = claims[..chosen].iter().any(|claim| {
                let (a, b) = (self.rows[claim.posting as usize], self.rows[found.id as usize]);
                self.distance.between(self.vectors, a, b) < found.distance
            });
            if !covered {
                claims[chosen] = Claim { posting: found.id, distance: found.distance };
                chosen += 1;
            }
        }
    }
}

/// A vector on its way to its nearest centroids, measured with the distance of the build: the rules above need one that
/// obeys the triangle inequality, which the inner product does not.
struct ToHeads<'a, T: Element> {
    heads: &'a Heads<'a, T>,
    row: u32,
}

/// Rows that are measured by one call.
const GATHER: usize = 64;

impl<T: Element> Target for ToHeads<'_, T> {
    #[inline]
    fn prefetch(&self, id: u32) {
        self.heads.vectors.prefetch(self.heads.rows[id as usize] as usize);
    }

    #[inline]
    fn distances(&self, ids: &[u32], out: &mut [f32]) {
        let mut rows = [0; GATHER];
        for (ids, out) in ids.chunks(GATHER).zip(out.chunks_mut(GATHER)) {
            for (row, &id) in rows.iter_mut().zip(ids) {
                *row = self.heads.rows[id as usize];
            }
            self.heads.distance.to_rows(self.heads.vectors, self.row, &rows[..ids.len()], out);
        }
    }
}
