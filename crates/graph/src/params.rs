//! What a build can be told, and what is refused.

use serde::{Deserialize, Serialize};

/// Parameters of one RobustPrune.
///
/// **Convention of α.** Ordering distances are squared (see [`crate::BuildDistance`]), and α multiplies them as
/// they are: a candidate c of centre p is occluded by a chosen s when d(p, c) > α · d(s, c) in *squared*
/// distances, as in DiskANN. α = 1.2 here is therefore √1.2 ≈ 1.095 in the plain distances of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PruneParams {
    /// R: the most neighbours a list may have.
    pub degree: usize,
    /// α ≥ 1, on squared distances.
    pub alpha: f32,
    /// C: the pool is cut to so many nearest candidates.
    pub max_candidates: usize,
    /// Fill the list up to R with the nearest candidates that were not selected.
    pub saturate: bool,
}

/// When the lists of a build are filled up to R.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Saturate {
    /// Never: only what RobustPrune selects.
    Off,
    /// In the last sweep, with what has gathered in lists longer than R; costs nothing.
    Last,
    /// In every prune: the fullest lists, at about 1.4 times the time.
    Always,
}

/// Parameters of a Vamana build.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BuildParams {
    /// R: the most neighbours a list of the finished graph has.
    pub degree: usize,
    /// L_build: size of the pool of the searches that find candidates.
    pub list: usize,
    /// α of the last pass, on squared distances (see [`PruneParams`]); an earlier pass runs at 1.
    pub alpha: f32,
    /// C: candidates a prune looks at.
    pub max_candidates: usize,
    /// While it is built, a list may grow to `slack · degree` before it is pruned again.
    pub slack: f32,
    /// Passes over the vectors, 1 or 2.
    pub passes: u32,
    /// When lists are filled up to R.
    pub saturate: Saturate,
    /// Seed of the insertion order.
    pub seed: u64,
}

impl Default for BuildParams {
    fn default() -> Self {
        Self {
            degree: 64,
            list: 100,
            alpha: 1.2,
            max_candidates: 750,
            slack: 1.3,
            passes: 1,
            saturate: Saturate::Last,
            seed: 0,
        }
    }
}

/// The largest degree bound that is accepted.
const MAX_DEGREE: usize = 4096;

impl BuildParams {
    /// The prune of a pass at `alpha`.
    pub(crate) fn prune(&self, alpha: f32) -> PruneParams {
        PruneParams {
            degree: self.degree,
            alpha,
            max_candidates: self.max_candidates,
            saturate: self.saturate == Saturate::Always,
        }
    }

    /// The prune of the last sweep.
    pub(crate) fn last_prune(&self) -> PruneParams {
        PruneParams { saturate: self.saturate != Saturate::Off, ..self.prune(self.alpha) }
    }

    /// Places of a list under construction: `slack · degree`, at least one more than the degree.
    pub(crate) fn capacity(&self) -> usize {
        ((self.degree as f64 * f64::from(self.slack)) as usize).max(self.degree + 1)
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field outside its range.
    pub fn check(&self) -> Result<(), ParamsError> {
        let error = |field, found: String, expected| Err(ParamsError { field, found, expected });
        if !(1..=MAX_DEGREE).contains(&self.degree) {
            return error("degree", self.degree.to_string(), "1 to 4096");
        }
        if !(1..=1 << 20).contains(&self.list) {
            return error("list", self.list.to_string(), "1 to 1048576, best 1 to 2 times the degree");
        }
        if !(1.0..=100.0).contains(&self.alpha) {
            return error("alpha", self.alpha.to_string(), "1 to 100, usually 1.2");
        }
        if !(self.degree..=1 << 20).contains(&self.max_candidates) {
            return error("max_candidates", self.max_candidates.to_string(), "the degree to 1048576");
        }
        if !(1.0..=4.0).contains(&self.slack) {
            return error("slack", self.slack.to_string(), "1 to 4, usually 1.3");
        }
        if !(1..=2).contains(&self.passes) {
            return error("passes", self.passes.to_string(), "1 or 2");
        }
        Ok(())
    }
}

/// A build parameter outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("build parameter {field} is {found}; it must be {expected}")]
pub struct ParamsError {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub found: String,
    /// What is accepted.
    pub expected: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_bad_fields_are_named() {
        let good = BuildParams::default();
        assert_eq!(good.check(), Ok(()));
        let field = |params: BuildParams| params.check().unwrap_err().field;
        assert_eq!(field(BuildParams { degree: 0, ..good }), "degree");
        assert_eq!(field(BuildParams { list: 0, ..good }), "list");
        assert_eq!(field(BuildParams { alpha: f32::NAN, ..good }), "alpha");
        assert_eq!(field(BuildParams { alpha: 0.9, ..good }), "alpha");
        assert_eq!(field(BuildParams { max_candidates: 63, ..good }), "max_candidates");
        assert_eq!(field(BuildParams { slack: f32::INFINITY, ..good }), "slack");
        assert_eq!(field(BuildParams { passes: 3, ..good }), "passes");
        assert_eq!(BuildParams { degree: 64, ..good }.capacity(), 83);
        assert_eq!(BuildParams { degree: 1, ..good }.capacity(), 2);
    }
}
