//! What shapes the clusters, and what is refused.

use gleann_graph::BuildParams;

/// How vectors become postings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusterParams {
    /// The most vectors a posting holds, replicas included; what fits its block.
    pub capacity: usize,
    /// The most vectors of a cluster before replication: smaller clusters have more centroids in memory, and fewer
    /// vectors to read for the same recall.
    pub cluster: usize,
    /// The most postings a vector is in (SPANN: 8).
    pub replicas: usize,
    /// ε₁: a vector goes to centroids at most (1 + ε₁) times as far as the nearest, in ordering distances (squared for
    /// L2; SPANN: 10).
    pub closure: f32,
    /// The graph over the centroids. Its seed is that of the clustering too.
    pub graph: BuildParams,
}

/// A parameter outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cluster parameter {field} is {found}; it must be {expected}")]
pub struct ParamsError {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub found: String,
    /// What is accepted.
    pub expected: String,
}

/// The most postings a vector may be in.
const MAX_REPLICAS: usize = 64;

impl ClusterParams {
    /// Checks every field but those of the graph.
    ///
    /// # Errors
    /// The first field outside its range.
    pub fn check(&self) -> Result<(), ParamsError> {
        let error = |field, found: String, expected: String| Err(ParamsError { field, found, expected });
        if self.capacity == 0 {
            return error("capacity", "0".into(), "1 or more".into());
        }
        if !(1..=self.capacity).contains(&self.cluster) {
            let expected = format!("1 to {}, the vectors that a posting holds", self.capacity);
            return error("cluster", self.cluster.to_string(), expected);
        }
        if !(1..=MAX_REPLICAS).contains(&self.replicas) {
            return error("replicas", self.replicas.to_string(), format!("1 to {MAX_REPLICAS}"));
        }
        if !(0.0..=1e6).contains(&self.closure) {
            return error("closure", self.closure.to_string(), "0 to 1000000".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_fields_are_named() {
        let good = ClusterParams {
            capacity: 61,
            cluster: 10,
            replicas: 8,
            closure: 10.0,
            graph: BuildParams::default(),
        };
        assert_eq!(good.check(), Ok(()));
        let field = |params: ClusterParams| params.check().unwrap_err().field;
        assert_eq!(field(ClusterParams { capacity: 0, ..good }), "capacity");
        assert_eq!(field(ClusterParams { cluster: 62, ..good }), "cluster");
        assert_eq!(field(ClusterParams { cluster: 0, ..good }), "cluster");
        assert_eq!(field(ClusterParams { replicas: 65, ..good }), "replicas");
        assert_eq!(field(ClusterParams { closure: f32::NAN, ..good }), "closure");
        assert_eq!(field(ClusterParams { closure: -0.1, ..good }), "closure");
    }
}
