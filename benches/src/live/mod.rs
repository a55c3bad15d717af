//! Indexes that change while they are measured: the set they should hold, and its exact neighbours.

mod set;
mod truth;

pub use set::LiveSet;
pub use truth::{ChangingTruth, TruthQuestion};
