//! `advise`: the decision guide of the study (its Figure 24) made executable, with our own measurements beside it.

mod command;
mod guide;
mod measurements;
mod memory;

pub use command::{AdviseArgs, run};
pub use measurements::{Measurement, Measurements};
