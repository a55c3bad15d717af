//! The build of an index of postings (SPANN): everything in memory, in one go. A build that was stopped begins anew.

mod options;
mod plan;
mod report;
mod run;

pub use options::SpannOptions;
pub use plan::SpannPlan;
pub use report::SpannReport;
pub(crate) use report::read_spann_report;
pub use run::{build_spann, build_spann_from_rows};
