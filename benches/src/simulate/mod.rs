//! `run-bench simulate`: updates in the stalls of searches on machines that are not at hand, and how well such
//! predictions hold on one that is.

mod command;
mod derive;
mod line;
mod predict;
mod table;

pub use command::{SimulateArgs, costs_named, reports, run};
pub use predict::derived_costs;
