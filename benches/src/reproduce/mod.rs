//! `run-bench reproduce`: the design-space study as commands. Each experiment file names variants, data sets, what is
//! compared, the paper's own numbers, and the claims that are held against what is measured here.

mod claim;
mod command;
mod document;
mod embedded;
mod figures;
mod matched;
mod measure;
mod measured;
mod model;
mod plan;
mod points;
mod report;
mod sets;
mod store;
mod study;
mod verdict;

pub use command::{ReproduceArgs, run};
pub use document::fill;
pub use embedded::choose;
pub use report::rounds;
pub use sets::Set;
pub use store::Store;
pub use verdict::Verdict;
