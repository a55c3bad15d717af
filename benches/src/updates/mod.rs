//! `run-bench updates`: searches and updates at once, as the papers on updates measure them.

mod run;

pub use run::{Amounts, Run};
